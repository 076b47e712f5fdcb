"""Faults planted into the product, each of which breaks one promise that the oracle knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final, NamedTuple
from unittest import mock

from client_sdk.answers.consent import Agreement
from client_sdk.ledger import erase, outbox, queue, registries
from client_sdk.protocol import Report, Upload
from client_sdk.protocol.budget import Budget, Ceiling, Cost, Spent
from tests.support.simulation.store_script import StoreScript


class Fault(NamedTuple):
    """A wrong function or value in place of the right one.

    Attributes:
        owner: the module or class.
        name: of its attribute.
        wrong: what stands there instead, made of what is right.
        breaks: words of the oracle.

    """

    owner: object
    name: str
    wrong: Callable[[Any], Any]
    breaks: str

    def planted(self) -> mock._patch[Any]:
        """Return a context within which the product is wrong."""
        return mock.patch.object(self.owner, self.name, self.wrong(getattr(self.owner, self.name)))


def _new_id(right: Callable[..., outbox.Parcel | None]) -> Callable[..., outbox.Parcel | None]:
    def parcel_to_resend(connection: sqlite3.Connection, *arguments: Any) -> outbox.Parcel | None:
        parcel = right(connection, *arguments)
        if parcel is None:
            return None
        number = connection.execute("SELECT MAX(turn) FROM uploads").fetchone()[0]  # it changes with each attempt
        upload = Upload(f"{number:032x}", parcel.reports)
        return outbox.Parcel(parcel.id, upload.encode(), parcel.reports)

    return parcel_to_resend


def _without(*overlooked: Ceiling) -> Callable[[Any], Any]:
    def wrong(right: Callable[[Budget, Spent, Cost], list[Ceiling]]) -> Callable[..., list[Ceiling]]:
        return lambda budget, spent, cost: [each for each in right(budget, spent, cost) if each not in overlooked]

    return wrong


def _renewing(right: Callable[[sqlite3.Connection], None]) -> Callable[[sqlite3.Connection], None]:
    def wipe(connection: sqlite3.Connection) -> None:
        right(connection)
        connection.execute("DELETE FROM charges")

    return wipe


def _telling(right: Callable[[sqlite3.Connection, Report], bool]) -> Callable[[sqlite3.Connection, Report], bool]:
    def replace_symbol(connection: sqlite3.Connection, report: Report) -> bool:
        connection.execute("UPDATE queue SET release = 1 WHERE metric = ? AND edition = ? AND window = ?", report[:3])
        return right(connection, report)

    return replace_symbol


DOUBLE_COUNT: Final = "a retry under a new id"
OVERSPEND: Final = "a ceiling of a day that is not looked at"

FAULTS: Final = {
    DOUBLE_COUNT: Fault(outbox, "parcel_to_resend", _new_id, "counted in two uploads"),
    "a store that forgets ids": Fault(StoreScript, "_remember", lambda _: lambda *_: None, "counted too often"),
    OVERSPEND: Fault(Budget, "exceeded", _without(Ceiling.PER_WINDOW), "exceeds per_window"),
    "a ceiling of a month that is not looked at": Fault(
        Budget, "exceeded", _without(Ceiling.PER_MONTH), "exceeds per_month"
    ),
    "a ceiling of a life that is not looked at": Fault(
        Budget, "exceeded", _without(Ceiling.LIFETIME, Ceiling.PER_MONTH), "exceeds"
    ),
    "opting out that renews the budget": Fault(erase, "wipe", _renewing, "more than it was charged"),
    "purposes that are not looked at": Fault(Agreement, "is_covered", lambda _: lambda *_, **__: True, "agrees to"),
    "stops that are not obeyed": Fault(registries, "is_stopped", lambda _: lambda *_: False, "to be stopped"),
    "an answer that sends its report early": Fault(queue, "replace_symbol", _telling, "tells what was recorded"),
}
