"""Permanent answers: drawn once by a PRF of the device's secret, and charged if so promised.

Each edition of a question draws its own, and so does each secret: opting out and in again makes a
new one. Every bound below holds for one edition and one secret. What several of them reveal adds
up, within the lifetime ceiling, because each report or each edition's answers are charged.

Different answers have independent permanent answers. Two histories have one *pattern* if any two
windows with equal answers in one history have equal answers in the other; each permanent answer
then speaks in the same windows of both. All reports together distinguish two histories of one
pattern by at most the permanent epsilon times the number of different answers. Other histories are
distinguished more and more, because one can find out in time in which windows one permanent answer
speaks. That includes histories that change at the same times, such as a, b, a, b and a, b, c, b.

A true answer becomes a permanent one before the ledger sees it. For each answer that was charged,
the ledger's file holds a tag, which says nothing without the secret. Beside it stands the permanent
symbol in the clear, which reveals as much of the answer as its permanent epsilon allows. The secret
is in the same file: whoever reads both can find out which answers occurred.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from client_sdk.answers import coin_sources
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Periods
from client_sdk.protocol.budget import Budget, Cost
from client_sdk.protocol.coins import Coins
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric, Protects
from client_sdk.results import LedgerBusyError, LedgerError

if TYPE_CHECKING:
    import sqlite3


class Secret(NamedTuple):
    """The device's secret and its number: opting out and in again makes a new one."""

    key: bytes
    generation: int


class PermanentAnswer(NamedTuple):
    """What stands for a true answer for good.

    Attributes:
        symbol: the permanent answer.
        tag: identifies the true answer to those who know the secret.
        generation: the number of the secret.

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


def permanent_answer(
    definition: Metric, channel: Permanent, encode: Callable[[Coins], int], secret: Secret
) -> PermanentAnswer:
    """Return the permanent answer of a true one: equal for equal answers of one edition and secret.

    Args:
        definition: the metric.
        channel: its channel.
        encode: from coins to the input symbol of the answer. Of an invalid answer it is drawn with
            these coins. One input therefore stands for all invalid answers of a device.
        secret: the device's.

    """
    labels = (definition.name, definition.edition)
    coins_for = partial(coin_sources.PrfCoins, secret.key)
    value, symbol = channel.settle(encode, coins_for, *labels)
    tag = coin_sources.derive(secret.key, coin_sources.TAG, *labels, str(value))
    return PermanentAnswer(symbol, tag, secret.generation)


def admit(
    connection: sqlite3.Connection, definition: Metric, answer: PermanentAnswer, budget: Budget, periods: Periods
) -> int | None:
    """Return the permanent answer to report from; None if the ceilings allow none.

    Where different answers are charged, the declared number of them is paid for with the first
    answer. When more occur, the last paid answer stands in for all others, so that silence never
    depends on an answer. Which permanent answer speaks depends on the pattern alone. If only one is
    paid for, it is the first, whatever the history.

    Raises:
        LedgerBusyError: if the secret was replaced after the answer was randomised; record again.

    """
    if secret_of(connection).generation != answer.generation:
        raise LedgerBusyError("the user opted out and in again meanwhile; record again")
    if definition.protects is not Protects.PATTERN:
        return answer.symbol
    reserve = (definition.name, definition.edition, f"generation {answer.generation}, {definition.max_values} values")
    if charges.slot(connection, reserve) is None:
        paid = charges.paid_nanos(connection, definition.name, definition.edition, f"generation {answer.generation}, ")
        # a newer registry may declare more values
        cost = Cost(max(0, definition.reserve_nanos - paid))
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
