"""Permanent answers: drawn once for all by a PRF of the device's secret, and charged where that is what is promised.

Different answers have independent permanent ones. So all reports tell two histories apart by the permanent epsilon
times the different answers at most if both have one *pattern*: where two windows have equal answers in the one, they
have in the other, and each permanent answer speaks in the same windows of both. Other histories are told apart by more
and more, for in which windows one permanent answer speaks can be found out in time; also those that change at the same
times, such as a, b, a, b and a, b, c, b.

A true answer becomes a permanent one before the ledger is asked. Of each answer that was charged the ledger's file
holds a tag, which without the secret says nothing, and beside it the permanent symbol in the clear, which says of the
answer what its permanent epsilon allows. The secret is in the same file: whoever reads both can find out which answers
occurred.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers import coins
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Cost, Periods
from client_sdk.protocol.budget import Budget
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric, Protects
from client_sdk.results import LedgerBusyError, LedgerError

if TYPE_CHECKING:
    import sqlite3


class Secret(NamedTuple):
    """The device's secret, and how many it has had: opting out and in again makes a new one."""

    key: bytes
    generation: int


class PermanentAnswer(NamedTuple):
    """What stands for a true answer for good.

    Attributes:
        symbol: the permanent answer.
        tag: which answer it stands for, to those who know the secret.
        generation: of the secret.

    """

    symbol: int
    tag: bytes
    generation: int


def secret_of(connection: sqlite3.Connection) -> Secret:
    """Return the device's secret.

    Raises:
        LedgerError: if it was wiped while this program ran.

    """
    key, generation = connection.execute("SELECT secret, generation FROM device").fetchone()
    if key is None:
        raise LedgerError("the user opted out in another process; nothing is recorded until this program starts again")
    return Secret(key, generation)


def permanent_answer(definition: Metric, channel: Permanent, answer: object, secret: Secret) -> PermanentAnswer:
    """Return the permanent answer of a true one; the same for the same, as long as the secret is.

    Raises:
        OutsideDomainError: without the answer, if it is outside the domain.

    """
    labels = (definition.name, definition.edition)
    value, symbol = channel.settle(partial(definition.encode, answer), partial(coins.PrfCoins, secret.key), *labels)
    return PermanentAnswer(symbol, coins.derive(secret.key, coins.TAG, *labels, str(value)), secret.generation)


def admit(
    connection: sqlite3.Connection, definition: Metric, answer: PermanentAnswer, budget: Budget, periods: Periods
) -> int | None:
    """Return the permanent answer to report from, or none if the ceilings do not allow any.

    Where different answers are what is charged, so many as are declared are paid for with the first one; when there
    are more, the last one that was paid for answers for all others, so that silence never depends on an answer. Which
    one speaks depends on the pattern alone; where one is paid for it is the first, whatever the history.

    Raises:
        LedgerBusyError: if the secret was replaced since the answer was made; record again.

    """
    if secret_of(connection).generation != answer.generation:
        raise LedgerBusyError("the user opted out and in again meanwhile; record again")
    if definition.protects is not Protects.PATTERN:
        return answer.symbol
    reserve = (definition.name, definition.edition, f"generation {answer.generation}, {definition.max_values} values")
    if charges.slot(connection, reserve) is None:
        paid = charges.paid_nanos(connection, definition.name, definition.edition, f"generation {answer.generation}, ")
        cost = Cost(max(0, definition.reserve_nanos - paid))  # more values may have been declared meanwhile
        if not charges.charge(connection, reserve, cost, budget, periods):
            return None
        charges.close_slot(connection, reserve)
    return _charged(connection, definition, answer)


def _charged(connection: sqlite3.Connection, definition: Metric, answer: PermanentAnswer) -> int:
    rows = connection.execute(
        "SELECT tag, symbol FROM permanents WHERE metric = ? AND edition = ? ORDER BY id",
        (definition.name, definition.edition),
    ).fetchall()
    known: dict[bytes, int] = dict(rows)
    if answer.tag in known:
        return known[answer.tag]
    if len(known) >= definition.max_values:
        return int(rows[-1][1])
    connection.execute(
        "INSERT INTO permanents (metric, edition, tag, symbol) VALUES (?, ?, ?, ?)",
        (definition.name, definition.edition, answer.tag, answer.symbol),
    )
    return answer.symbol
