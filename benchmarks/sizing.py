"""The hardware for a number of devices, computed from RESULTS.md for the store's page."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

from benchmarks.load import request, uploads
from benchmarks.results import table
from client_sdk.protocol import GRACE_S, Registry
from collector.config import DAY_S
from collector.judge import IDS_OUTLIVE_S
from collector.maintenance import REWRITE_INTERVAL_S

ROOT: Final = Path(__file__).parents[1]
RESULTS: Final = Path(__file__).parent / "RESULTS.md"

DEVICES: Final = (10**4, 10**6, 10**8, 10**9)
PEAK: Final = 3
"""The load at the busiest time, divided by the mean load of a day. Devices send at random times
while they are in use.
"""

LOAD: Final = 0.7
"""The fraction of a core's time that is planned for work.

Latency is measured at this load. The rest of the time is a reserve for the failure of another
server.
"""

GATHER_S: Final = 5
"""The default maximum time in seconds that a relay holds an upload."""

REMEMBERED_DAYS: Final = {
    "day": 1 + (GRACE_S + IDS_OUTLIVE_S) // DAY_S,
    "week": 7 + (GRACE_S + IDS_OUTLIVE_S) // DAY_S,
    "month": 31 + (GRACE_S + IDS_OUTLIVE_S) // DAY_S,
}
"""The number of days for which the store keeps an upload id from the beginning of a window.

The days are the window, the grace period after it, and one more day.
"""


class Source(NamedTuple):
    """The position of a figure in RESULTS.md: a heading, the beginning of a row, and a column."""

    section: str
    row: str
    column: int


@dataclass(frozen=True)
class Figures:
    """The measured figures.

    Attributes:
        worker_us: the processor time of a worker, in microseconds per upload of 4 reports.
        bulk_reports: the reports that a worker counts per second of processor time, for batches of
            uploads of 4 reports.
        relay_us: the processor time of a relay, in microseconds per upload.
        relay_kib: the memory of a relay, in KiB per upload that it holds.
        store_us: the processor time of a store, in microseconds per upload, if each write is on the
            disk before it is acknowledged (`fsync`).
        file_bytes: the number of bytes that an upload appends to the store's append-only file.
        id_bytes: the memory of an upload id, in bytes.

    """

    worker_us: float
    bulk_reports: float
    relay_us: float
    relay_kib: float
    store_us: float
    file_bytes: float
    id_bytes: float


SOURCES: Final = {
    "worker_us": Source("Workers", "with `--metrics-bind`", 1),
    "bulk_reports": Source("Bulk", "4", 2),
    "relay_us": Source("Relay", "CPU", 1),
    "relay_kib": Source("Relay", "KiB", 1),
    "store_us": Source("Stores", "`fsync`, one server", 3),
    "file_bytes": Source("Stores", "`fsync`, one server", 4),
    "id_bytes": Source("What a store holds", "1,000,000", 3),
}


def measured(results: str) -> Figures:
    """Read the figures from the text of RESULTS.md.

    Raise `LookupError` if a row is missing.
    """
    return Figures(**{name: _figure(results, source) for name, source in SOURCES.items()})


def _figure(results: str, source: Source) -> float:
    _, heading, rest = results.partition(f"\n## {source.section}\n")
    section = rest.partition("\n## ")[0]
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if heading and cells and cells[0].startswith(source.row):
            return float(cells[source.column].split()[0].replace(",", ""))
    raise LookupError(f"the results have no row {source.row!r} in the section {source.section!r}: run make bench")


def needs() -> str:
    return needs_by(measured(RESULTS.read_text(encoding="utf-8")))


def needs_by(figures: Figures) -> str:
    """Return two tables from measured figures: hardware by number of devices, and the figures."""
    heading = ("", *(f"{devices:,} devices" for devices in DEVICES))
    columns = [_needs(devices, figures) for devices in DEVICES]
    rows = [[name, *(column[name] for column in columns)] for name in columns[0]]
    given = [[f"`{name}`", f"{getattr(figures, name):,g}"] for name in SOURCES]
    return table(heading, rows) + "\n" + table(("figure", "measured"), given)


def _needs(devices: int, figures: Figures) -> dict[str, str]:
    """Return the hardware for devices that each send one upload of 4 reports a day."""
    peak = devices / DAY_S * PEAK
    ids = {kind: devices * days * figures.id_bytes for kind, days in REMEMBERED_DAYS.items()}
    return {
        "uploads/s, mean and peak": f"{devices / DAY_S:,.1f}, {peak:,.1f}",
        "workers, without relays": _cores(peak * figures.worker_us / 1e6),
        "workers, behind relays": _cores(peak * 4 / figures.bulk_reports),
        "relays": _cores(peak * figures.relay_us / 1e6),
        "memory of all relays": _bytes(peak * GATHER_S * figures.relay_kib * 1024),
        "store masters": _cores(peak * figures.store_us / 1e6),
        **{f"memory for ids, windows of a {kind}": _bytes(held) for kind, held in ids.items()},
        "network to the collectors": f"{_bytes(peak * request_bytes())}/s",
        "files grow between rewrites by": _bytes(peak * REWRITE_INTERVAL_S * figures.file_bytes),
    }


def request_bytes() -> int:
    """Return the size in bytes of a request with 4 reports and only the necessary headers."""
    (body,) = uploads(Registry.load(ROOT / "examples" / "health" / "metrics.toml"), 1)
    return len(request("/v1/reports", body))


def _cores(busy: float) -> str:
    return f"{ceil(busy / LOAD):,}"


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"
