"""Stores the registries that the app has used, and the metrics that collectors have stopped.

A stored registry explains the ledger's reports to people who inspect the ledger. The registry ships
inside the app and is the same on every device. Therefore the registry says nothing about a user.
The ledger stores registries compressed, and opting out deletes them.

A collector can stop an edition of a metric, which is one version of the metric's definition. The
edition stays stopped until the user opts out. Collectors cannot restart an edition. A collector can
stop only editions that a stored registry defines. Otherwise, its messages could fill the storage.
The stopped editions reveal neither the user's answers nor whether the user has answered.
"""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.wire.verdict import MetricEdition

MOST_KEPT: Final = 20
"""The maximum number of stored registries, enough for the reports of several years. The registries
take less than 100 kB, or a few MB if a metric of kind ``nearest`` has a thousand vectors."""

_WITH_METRICS: Final = ("queue", "history", "counts", "charges")


def keep(connection: sqlite3.Connection, source: str) -> bool:
    """Store ``source`` as the latest registry; return False if it already is the latest registry.

    If more than `MOST_KEPT` registries are stored, the oldest is deleted. An empty ``source`` is
    not stored.
    """
    digest = hashlib.sha256(source.encode()).hexdigest()
    latest = connection.execute("SELECT digest FROM registries ORDER BY turn DESC LIMIT 1").fetchone()
    if latest is not None and latest[0] == digest:
        return False
    if not source:
        return True
    connection.execute("DELETE FROM registries WHERE digest = ?", (digest,))
    connection.execute("INSERT INTO registries VALUES (NULL, ?, ?)", (digest, zlib.compress(source.encode())))
    connection.execute(
        "DELETE FROM registries WHERE turn NOT IN (SELECT turn FROM registries ORDER BY turn DESC LIMIT ?)",
        (MOST_KEPT,),
    )
    return True


def kept(connection: sqlite3.Connection) -> list[bytes]:
    """Return the stored registries in compressed form, the latest first."""
    return [source for (source,) in connection.execute("SELECT source FROM registries ORDER BY turn DESC")]


def metrics(connection: sqlite3.Connection) -> set[str]:
    """Return the names of all metrics that have reports, counts or charges in the ledger."""
    query = " UNION ".join(f"SELECT metric FROM {table}" for table in _WITH_METRICS)  # noqa: S608 names from above
    return {name for (name,) in connection.execute(query).fetchall()} - {""}  # a sum of charges has no metric


def definitions(connection: sqlite3.Connection, names: Collection[str]) -> dict[str, Metric]:
    """Return each metric's definition in the latest stored registry that contains it."""
    latest: dict[str, Metric] = {}
    for packed in kept(connection):
        if len(latest) == len(names):
            break
        with contextlib.suppress(RegistryError):  # a later version of the SDK wrote it
            metrics = Registry.parse(unpacked(packed)).metrics
            latest = {name: metrics[name] for name in names if name in metrics} | latest
    return latest


def unpacked(source: bytes) -> str:
    """Decompress the text of a stored registry."""
    return zlib.decompress(source).decode()


def name_metrics(connection: sqlite3.Connection, metrics: Iterable[MetricEdition]) -> None:
    """Store the names and editions of a registry's metrics, so that a collector can stop them."""
    connection.executemany("INSERT OR IGNORE INTO editions VALUES (?, ?, 0)", metrics)


def learn_stops(connection: sqlite3.Connection, metrics: Iterable[MetricEdition]) -> None:
    """Mark editions as stopped; ignore editions that no stored registry defines."""
    connection.executemany("UPDATE editions SET stopped = 1 WHERE metric = ? AND edition = ? AND stopped = 0", metrics)


def is_stopped(connection: sqlite3.Connection, metric: str, edition: str) -> bool:
    """Whether a collector has stopped an edition of a metric."""
    query = "SELECT 1 FROM editions WHERE metric = ? AND edition = ? AND stopped = 1"
    return connection.execute(query, (metric, edition)).fetchone() is not None


def stopped(connection: sqlite3.Connection) -> list[MetricEdition]:
    """Return the names and editions of all stopped metrics, sorted by name."""
    query = "SELECT metric, edition FROM editions WHERE stopped = 1 ORDER BY metric, edition"
    return [(metric, edition) for metric, edition in connection.execute(query)]
