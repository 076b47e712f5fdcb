"""The shared parts of collector tests: a registry, uploads for it, and instants."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable
from typing import Final

from client_sdk.protocol import GRACE_S, Registry, Report, Upload, Window, WindowKind
from collector.access import digest_of
from collector.judge import Judgement, judge

REGISTRY_TEXT: Final = """
schema = 1
[app]
name = "acme-notes"
[budget]
per_window = 9
lifetime = 99
accept = "It exists in tests only."
[metric.dark_mode]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = "ln 3"
[metric.os]
purpose = "Which systems must we test on?"
kind = "category"
values = ["linux", "macos", "windows", "other"]
epsilon = 1
[metric.plan]
purpose = "Which plan?"
kind = "category"
values = ["free", "paid"]
epsilon = 1
window = "week"
[metric.old]
purpose = "Is it still asked?"
kind = "boolean"
epsilon = 1
expires = 2026-11-10
"""

REGISTRY: Final = Registry.parse(REGISTRY_TEXT)

NOON: Final = Window.parse("2026-11-20").starts_at + 43_200.0
"""Friday 2026-11-20, 12:00 UTC, in ISO week 47."""

TODAY: Final = "2026-11-20"


def today() -> str:
    """Return today's date, for collectors that run by the machine's clock."""
    return Window.at(WindowKind.DAY, time.time()).text


def report(metric: str = "dark_mode", symbol: int = 1, window: str = TODAY, edition: str | None = None) -> Report:
    """Return a report, by default of the metric's present edition."""
    return Report(metric, edition or REGISTRY.metric(metric).edition, window, symbol)


def upload(*reports: Report, upload_id: str | None = None) -> Upload:
    """Return an upload, by default with a new id."""
    return Upload(upload_id or secrets.token_hex(16), reports or (report(),))


def of_shard(shard: int, window: str = TODAY) -> Upload:
    """Return an upload of one report that belongs to a shard, however many shards there are."""
    return upload(report("os", 2, window), upload_id=f"{secrets.token_hex(12)}{shard:08x}")


LONG_S: Final = 100 * 366 * 86_400
"""A century: a real store forgets ids by its own clock, which may be long after NOON."""


def judged(sent: Upload, now_s: float = NOON, grace_s: int = GRACE_S, registry: Registry = REGISTRY) -> Judgement:
    """Return the judgement of an upload whose id is remembered for a long time."""
    judgement = judge(sent, registry, now_s=now_s, grace_s=grace_s)
    return judgement._replace(remember_until=judgement.remember_until and judgement.remember_until + LONG_S)


OPEN: Final = 'uploads = "open"\n'
"""The first line of an access file that lets anybody report."""


def key_entry(name: str, role: str, secret: str, *scope: str) -> str:
    """Return a key's entry in an access file."""
    fields = (f'name = "{name}"', f'role = "{role}"', f'sha256 = "{digest_of(secret).hex()}"')
    return "\n".join(("[[key]]", *fields, *scope, ""))


def tallies_of(lines: Iterable[str]) -> dict[tuple[str, str], list[int]]:
    """Return counts by metric and window from NDJSON."""
    rows = [json.loads(line) for line in lines if line]
    return {(row["metric"], row["window"]): row["counts"] for row in rows}
