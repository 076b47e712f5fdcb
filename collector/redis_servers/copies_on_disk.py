"""The wait until writes are on the disks of a server and of its replicas.

With ``--copies`` no write is acknowledged before that. Nor is what was read given out, if replicas
may take over: with ``--copies``, and on a cluster.
"""

from __future__ import annotations

from redis.exceptions import RedisError

from collector.plural import plural
from collector.redis_servers.command import PackedCommand
from collector.redis_servers.connection import Connection
from collector.redis_servers.failure import TooFewCopiesError
from collector.redis_servers.server import Replicas, history, parse_info

COPIES_WAITS_MS = tuple(2**power for power in range(2, 11))
"""Milliseconds of the successive waits for copies, two seconds in all.

A wait asks the replicas once how far they are. What they write to disk after that, they report by
themselves only once a second. So ask again, soon at first.
"""

REPLICATION = PackedCommand.of("", "INFO", "replication").command


def require_copies(connection: Connection, replicas: Replicas) -> None:
    """Wait until what this connection wrote is on disk here and on as many replicas as there are.

    Raises:
        RedisError: if it is not, in two seconds.

    """
    if are_on_disk(connection, replicas.number):
        return
    message = f"what was read is not yet on the disks of {plural(replicas.number, 'replica')}"
    if replicas.failed:
        names = " and ".join(replicas.failed)
        message += (
            f", of which {plural(len(replicas.failed), 'has', 'have')} failed: bring back {names}, or have every other "
            "node of the cluster forget it (CLUSTER FORGET)"
        )
    raise TooFewCopiesError(message)


def are_on_disk(connection: Connection, copies: int) -> bool:
    """Wait until this connection's writes are on disk here and on enough replicas.

    Return whether they are, after two seconds at most.

    Raises:
        TooFewCopiesError: if the server was a replica since the connection was opened. Then it has
            taken over the data of another, perhaps without those writes, and continues from an
            earlier place: the replicas may have come to the place of those writes without them.

    """
    for wait_ms in COPIES_WAITS_MS:
        wait = PackedCommand.of("", "WAITAOF", 1, copies, wait_ms).command
        connection.send(wait + REPLICATION)
        answer, facts = connection.receive_any(), connection.receive_any()
        if isinstance(answer, RedisError) or isinstance(facts, RedisError):
            return False
        if history(parse_info(facts)) != connection.history:
            raise TooFewCopiesError("a server of the store was a replica meanwhile: what it had may be lost; ask again")
        here, on_replicas = answer
        if here >= 1 and on_replicas >= copies:
            return True
    return False
