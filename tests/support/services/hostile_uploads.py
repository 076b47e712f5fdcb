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


def _every_other_counted(_: int) -> Upload:
    return _with(*(report("os", index % 4) if index % 2 else _refused(index) for index in range(MAX_REPORTS)))


HONEST: Final = Kind(lambda _: _with(report(), report("os", 3), report("os", 1), report("plan", 1, "2026-W47")), 4)

HOSTILE: Final[Mapping[str, Kind]] = {
    "an unknown metric of now and of a far-off window": Kind(
        lambda number: _with(_unknown(TODAY), _unknown(_day(30_000 + number))), 0
    ),
    "an unknown metric of this month": Kind(lambda _: _with(_unknown("2026-11")), 0),
    "256 reports, refused for reasons in turn": Kind(lambda _: _with(*map(_refused, range(MAX_REPORTS))), 0),
    "256 closed windows": Kind(lambda number: _with(*(_closed(number % 99 + i) for i in range(256))), 0),
    "one counted, beside a far-off window": Kind(lambda number: _with(report(), _unknown(_day(30_000 + number))), 1),
    "one counted, beside an unknown metric of this month": Kind(lambda _: _with(report(), _unknown("2026-11")), 1),
    "one counted of 256, the last": Kind(lambda _: _with(*map(_refused, range(MAX_REPORTS - 1)), report()), 1),
    "every other counted of 256": Kind(_every_other_counted, MAX_REPORTS // 2),
    "one counted, beside 255 closed windows": Kind(
        lambda number: _with(*(_closed(number % 99 + i) for i in range(255)), report()), 1
    ),
    "ids that begin alike": Kind(lambda number: Upload(f"{'5' * 24}{number:08x}", (report(),)), 1),
    "ids that leave buckets nearly empty": Kind(
        lambda number: Upload(f"{number % 0o7777777 << 3:06x}{number:026x}", (report(),)), 1
    ),
    "every window that takes reports": Kind(
        lambda _: _with(*(report(window=f"2026-11-{day}") for day in range(17, 21)), report("plan", 1, "2026-W47")), 5
    ),
    "one upload again and again": Kind(lambda _: Upload("a" * 32, (report(),)), 1),
}
