"""Queries one server over one connection, for example for its settings or replicas.

On a cluster or with ``--copies``, a replica may replace its master. Data that was read is then
returned only once all replicas that may become master have the data on disk.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from redis.exceptions import RedisError

from collector.errors import ConfigError, plural
from collector.redis_servers.connection import Connection, PackedCommand, TooFewCopiesError
from collector.redis_servers.memory import Memory
from collector.required_settings import SETTINGS, Promise, require_promise

Address: TypeAlias = tuple[str, int] | None
"""The host and port of a server, or None for the server of the URL."""

VALIDITY_FACTOR = "cluster-replica-validity-factor"
"""The setting that determines which replicas a cluster accepts as new masters.

Nodes do not vote for a replica that was disconnected for too long, or was never in sync. If the
setting is 0, nodes vote for any replica.
"""

COPIES_WAITS_MS = tuple(2**power for power in range(2, 11))
"""The durations, in milliseconds, of successive waits until replicas have a write on disk.

All waits together last two seconds. At the beginning of each wait, the replicas are asked for their
progress. Without being asked, replicas report progress only once a second.
"""

REPLICATION = PackedCommand.packed("", "INFO", "replication").command


class Replicas(NamedTuple):
    """The replicas that could replace a server as master.

    Attributes:
        number: the number of these replicas, including failed ones.
        failed: the node ids of the failed replicas, which may recover.
        away: the number of failed replicas that are not connected to the server (see
            VALIDITY_FACTOR).
    """

    number: int
    failed: tuple[str, ...] = ()
    away: int = 0


def ask(connection: Connection, *command: str | int) -> Any:  # noqa: ANN401 the type depends on the command
    """Send one command, and return the response."""
    connection.send(PackedCommand.packed("", *command).command)
    return connection.receive()


def info(connection: Connection, section: str) -> dict[str, str]:
    """Return the names and values of a section of INFO."""
    return parse_info(ask(connection, "INFO", section))


def parse_info(answer: bytes) -> dict[str, str]:
    """Return the names and values in a response to INFO."""
    return dict(line.split(":", 1) for line in answer.decode().splitlines() if ":" in line)


def history(facts: dict[str, str]) -> str:
    """Return the id of a master's replication history, or an empty string for a replica.

    A server that becomes a master begins a new history. If the id has not changed, the server has
    been the master without interruption, and still has all its data.

    ``facts`` is the section ``replication`` of INFO.
    """
    return facts["master_replid"] if facts["role"] == "master" else ""


def memory_of(connection: Connection) -> Memory:
    """Return how much memory the server uses and may use."""
    return Memory.from_info(info(connection, "memory"))


def setting(connection: Connection, name: str) -> str | None:
    """Return the value of a setting, or None if the server does not have the setting."""
    answer = ask(connection, "CONFIG", "GET", name)
    return answer[1].decode() if answer else None


def require_kept(connection: Connection, promise: Promise, *, is_cluster: bool) -> None:
    """Refuse a server that is not durable enough, or that contradicts the option --cluster.

    Raises:
        ConfigError: if the server is refused. The message names the setting or option to change.
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
    """Return the addresses of a master's in-sync replicas; None if the server is a replica."""
    facts = info(connection, "replication")
    if facts["role"] != "master":
        return None
    return [_address(replica) for replica in _attached(facts) if replica["state"] == "online"]


def nodes(connection: Connection, own_host: str, *, by_tls: bool) -> list[Address]:
    """Return the addresses of the cluster's nodes, including replicas but not failed nodes.

    ``own_host`` is the host of the connected node, and is used for nodes that the cluster lists
    without a host.
    """
    port = b"tls-port" if by_tls else b"port"
    described = [_facts(node) for shard in ask(connection, "CLUSTER", "SHARDS") for node in _facts(shard)[b"nodes"]]
    return [
        ((node[b"endpoint"] or b"").decode() or own_host, node[port])
        for node in described
        if node[b"health"] != b"fail"
    ]


def replicas_of_slot(connection: Connection, slot: int) -> Replicas:
    """Return the replicas that could replace the master that has a slot.

    A failed replica is included, because a disconnected replica may come back and become master.

    A failed master that was replaced may also come back. The failed master then copies the data of
    the current master, and only later appears as a replica. Before the copy, nodes vote for the
    failed master only if the validity factor is 0. After the copy, the failed master may become
    master without the writes that followed the copy. The failed master is included once the copy
    may have begun.
    """
    takes_over_in_any_state = setting(connection, VALIDITY_FACTOR) == "0"
    members = _members_of_shard(connection, slot)
    listed = {address for node in members if node[b"role"] == b"replica" for address in _addresses(node)}
    attached = {_address(replica) for replica in _attached(info(connection, "replication"))}
    failed_master_is_able = takes_over_in_any_state or not attached <= listed
    able = [
        node for node in members if node[b"role"] == b"replica" or node[b"health"] != b"fail" or failed_master_is_able
    ]
    failed = [node for node in able if node[b"health"] == b"fail"]
    away = 0 if takes_over_in_any_state else sum(attached.isdisjoint(_addresses(node)) for node in failed)
    names = tuple(node[b"id"].decode() for node in failed)
    return Replicas(max(0, len(able) - 1), names, away)  # one of them is the master itself


def _members_of_shard(connection: Connection, slot: int) -> list[dict[bytes, Any]]:
    """Return the connected node's description of the master and of the replicas of a slot."""
    for shard in map(_facts, ask(connection, "CLUSTER", "SHARDS")):
        bounds = shard[b"slots"]
        if any(first <= slot <= last for first, last in zip(bounds[::2], bounds[1::2], strict=True)):
            return list(map(_facts, shard[b"nodes"]))
    return []


def _addresses(node: dict[bytes, Any]) -> list[tuple[str, int]]:
    """Return the addresses at which a node listens, for connections without TLS and with TLS."""
    return [(node[b"ip"].decode(), node[port]) for port in (b"port", b"tls-port") if port in node]


def _attached(facts: dict[str, str]) -> list[dict[str, str]]:
    """Return a server's information on each connected replica, in sync or not."""
    described = [value for name, value in facts.items() if name.startswith("slave") and name[5:].isdecimal()]
    return [dict(part.split("=", 1) for part in value.split(",")) for value in described]


def _address(replica: dict[str, str]) -> tuple[str, int]:
    return replica["ip"], int(replica["port"])


def _facts(flat: list[Any]) -> dict[bytes, Any]:
    """Return a dictionary from a list in which names and values alternate."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def require_copies(connection: Connection, replicas: Replicas) -> None:
    """Wait until this connection's writes are on the disks of the server and these replicas.

    Raises:
        RedisError: if the writes are not on these disks within two seconds.
    """
    if are_on_disk(connection, replicas.number):
        return
    message = f"the data that was read is not yet on the disks of {plural(replicas.number, 'replica')}"
    if replicas.failed:
        names = " and ".join(replicas.failed)
        message += (
            f", of which {plural(len(replicas.failed), 'has', 'have')} failed: bring back {names}, or have every other "
            "node of the cluster forget it (CLUSTER FORGET)"
        )
    raise TooFewCopiesError(message)


def are_on_disk(connection: Connection, copies: int) -> bool:
    """Return whether the server and ``copies`` replicas have this connection's writes on disk.

    If the writes are not on disk yet, wait for at most two seconds.

    Raises:
        TooFewCopiesError: if the server has been a replica since the connection was opened. The
            server has then copied the data of another server. This data may lack the writes, and
            the count of replicated bytes would not reveal the gap.
    """
    for wait_ms in COPIES_WAITS_MS:
        wait = PackedCommand.packed("", "WAITAOF", 1, copies, wait_ms).command
        connection.send(wait + REPLICATION)
        answer, facts = connection.receive_any(), connection.receive_any()
        if isinstance(answer, RedisError) or isinstance(facts, RedisError):
            return False
        if history(parse_info(facts)) != connection.history:
            raise TooFewCopiesError("a server of the store was a replica for a while and may lack writes; try again")
        here, on_replicas = answer
        if here >= 1 and on_replicas >= copies:
            return True
    return False
