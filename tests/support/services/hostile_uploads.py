"""Uploads that try to fill a store, by their trick, and an honest one. Their present is NOON."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from datetime import timedelta
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from client_sdk.protocol import MAX_REPORTS, Report, Upload, Window
from tests.support.services.collecting import TODAY, report

Maker: TypeAlias = Callable[[int], Upload]
"""Makes an upload from its number, which starts at 0."""


class Kind(NamedTuple):
    """A kind of upload.

    Attributes:
        make: makes an upload.
        counted: the number of its reports that are counted.

    """

    make: Maker
    counted: int


def _with(*reports: Report) -> Upload:
    return Upload(secrets.token_hex(16), reports)


def _day(days: int) -> str:
    return str(Window.parse("1970-01-02").first_day + timedelta(days=days))


@cache
def _closed(days: int) -> Report:
    return report(window=_day(days))


def _unknown(window: str) -> Report:
    return report("nothing", 0, window, "0" * 12)


REFUSED: Final = (report("os", 4), _unknown(TODAY), report(symbol=0, edition="0" * 12), report(window="2026-10-01"))
"""Reports that are refused for four reasons."""


def _refused(number: int) -> Report:
    return REFUSED[number % len(REFUSED)]


@cache
def _closed_from(days: int, number: int, *more: Report) -> tuple[Report, ...]:
    return (*(_closed(days + i) for i in range(number)), *more)


def _alike(*reports: Report) -> Maker:
    """Return the maker of uploads that differ in their ids only."""
    return lambda _: Upload(secrets.token_hex(16), reports)


HONEST: Final = Kind(_alike(report(), report("os", 3), report("os", 1), report("plan", 1, "2026-W47")), 4)

HOSTILE: Final[Mapping[str, Kind]] = {
    "reports of unknown metrics, in the present and in a distant window": Kind(
        lambda number: _with(_unknown(TODAY), _unknown(_day(30_000 + number))), 0
    ),
    "a report of an unknown metric, in this month": Kind(_alike(_unknown("2026-11")), 0),
    "256 refused reports, for each reason in turn": Kind(_alike(*map(_refused, range(MAX_REPORTS))), 0),
    "256 reports of closed windows": Kind(
        lambda number: Upload(secrets.token_hex(16), _closed_from(number % 99, 256)), 0
    ),
    "a counted report, and a report of a distant window": Kind(
        lambda number: _with(report(), _unknown(_day(30_000 + number))), 1
    ),
    "a counted report, and a report of an unknown metric": Kind(_alike(report(), _unknown("2026-11")), 1),
    "256 reports, of which only the last is counted": Kind(_alike(*map(_refused, range(MAX_REPORTS - 1)), report()), 1),
    "256 reports, of which every other one is counted": Kind(
        _alike(*(report("os", index % 4) if index % 2 else _refused(index) for index in range(MAX_REPORTS))),
        MAX_REPORTS // 2,
    ),
    "a counted report, and 255 reports of closed windows": Kind(
        lambda number: Upload(secrets.token_hex(16), _closed_from(number % 99, 255, report())), 1
    ),
    "ids with the same beginning": Kind(lambda number: Upload(f"{'5' * 24}{number:08x}", (report(),)), 1),
    "ids that leave buckets nearly empty": Kind(
        lambda number: Upload(f"{number % 0o7777777 << 3:06x}{number:026x}", (report(),)), 1
    ),
    "a report for every open window": Kind(
        _alike(*(report(window=f"2026-11-{day}") for day in range(17, 21)), report("plan", 1, "2026-W47")), 5
    ),
    "the same upload, repeatedly": Kind(lambda _: Upload("a" * 32, (report(),)), 1),
}
