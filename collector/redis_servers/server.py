"""Questions to one server over one connection: its settings, its replicas, its cluster."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from collector.errors import ConfigError
from collector.redis_servers.command import PackedCommand
from collector.redis_servers.connection import Connection
from collector.redis_servers.memory import Memory
from collector.required_settings import SETTINGS, Promise, require_promise

Address: TypeAlias = tuple[str, int] | None
"""Host and port of a server; None is the server of the URL."""

VALIDITY_FACTOR = "cluster-replica-validity-factor"
"""With this setting a cluster votes for no replica that was long without its master, or was never
in step; but with 0 it votes for any.
"""


class Replicas(NamedTuple):
    """The replicas of a server that could take over from it with the data that they have.

    Attributes:
        number: how many there are.
        failed: the names in the cluster of those that have failed, each of which may come back.

    """

    number: int
    failed: tuple[str, ...] = ()


def ask(connection: Connection, *command: str | int) -> Any:  # noqa: ANN401 the server decides
    """Send one command and return the answer."""
    connection.send(PackedCommand.of("", *command).command)
    return connection.receive()


def info(connection: Connection, section: str) -> dict[str, str]:
    """Return the names and values of a section of INFO."""
    lines = ask(connection, "INFO", section).decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def memory_of(connection: Connection) -> Memory:
    """Return how much memory the server uses and may use."""
    return Memory.of(info(connection, "memory"))


def setting(connection: Connection, name: str) -> str | None:
    """Return the value of a setting, or None if the server does not have it."""
    answer = ask(connection, "CONFIG", "GET", name)
    return answer[1].decode() if answer else None


def require_kept(connection: Connection, promise: Promise, *, is_cluster: bool) -> None:
    """Refuse a server that would not keep a promise, or is a cluster node when it should not be.

    Raises:
        ConfigError: if so; it names the setting to change.

    """
    version = info(connection, "server")["redis_version"]
    if (info(connection, "cluster").get("cluster_enabled") == "1") is not is_cluster:
        raise ConfigError(
            "the store is not a node of a cluster: omit --cluster"
            if is_cluster
            else "the store is a node of a cluster: add --cluster"
        )
    settings = {name: setting(connection, name) for name in SETTINGS}
    require_promise(version, settings, promise, is_cluster=is_cluster)


def replicas(connection: Connection) -> list[Address] | None:
    """Return the addresses of the replicas in step, or None if the server is itself a replica."""
    facts = info(connection, "replication")
    if facts["role"] != "master":
        return None
    described = [value for name, value in facts.items() if name.startswith("slave") and name[5:].isdecimal()]
    parts = [dict(part.split("=", 1) for part in value.split(",")) for value in described]
    return [(part["ip"], int(part["port"])) for part in parts if part["state"] == "online"]


def nodes(connection: Connection, own_host: str, *, by_tls: bool) -> list[Address]:
    """Return the addresses of the cluster's nodes, replicas included, but not failed ones."""
    port = b"tls-port" if by_tls else b"port"
    described = [_facts(node) for shard in ask(connection, "CLUSTER", "SHARDS") for node in _facts(shard)[b"nodes"]]
    return [
        ((node[b"endpoint"] or b"").decode() or own_host, node[port])
        for node in described
        if node[b"health"] != b"fail"
    ]


def replicas_of_slot(connection: Connection, slot: int) -> Replicas:
    """Return the replicas of the master that is asked, and that has the slot.

    A replica that has failed is one of them: it may only have been cut off, come back, and take
    over. A failed master that this one replaced is not: when it comes back, nobody votes for it
    before it is in step, unless the validity factor is 0.
    """
    takes_over_in_any_state = setting(connection, VALIDITY_FACTOR) == "0"
    for shard in map(_facts, ask(connection, "CLUSTER", "SHARDS")):
        bounds = shard[b"slots"]
        if any(first <= slot <= last for first, last in zip(bounds[::2], bounds[1::2], strict=True)):
            members = list(map(_facts, shard[b"nodes"]))
            able = [
                node
                for node in members
                if node[b"role"] == b"replica" or node[b"health"] != b"fail" or takes_over_in_any_state
            ]
            failed = tuple(node[b"id"].decode() for node in able if node[b"health"] == b"fail")
            return Replicas(len(able) - 1, failed)  # one of them is the master itself
    return Replicas(0)


def _facts(flat: list[Any]) -> dict[bytes, Any]:
    """Return a dictionary from a list in which names and values alternate."""
    return dict(zip(flat[::2], flat[1::2], strict=True))
