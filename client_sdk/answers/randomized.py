"""The randomized form of a true answer: a symbol to send, or a permanent answer.

A *permanent answer* is a randomized answer that replaces the true answer in all later windows. Each
report randomizes the permanent answer again. Three things determine the permanent answer: the true
answer, the metric's edition and the device's secret. While all three stay the same, the epsilon of
the permanent answer limits what all reports together reveal. A new edition, or a new secret after
opting out and in again, adds a further privacy loss. The sum of all losses never exceeds the
lifetime ceiling, because every report is charged.

Different true answers have independent permanent answers. If a user's answer changes, an observer
can learn over time which windows report the same permanent answer. Only the epsilon of each report
limits what the observer learns.

The ledger receives only the permanent answer, never the true answer. But the ledger's file contains
the secret and the reports. A reader of the file can learn over time which answers occurred.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from client_sdk.answers import prf_coins
from client_sdk.ledger.device import Secret, secret_of
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.results import LedgerBusyError

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.mechanisms.permanent import Permanent


class PermanentAnswer(NamedTuple):
    """The permanent replacement of a true answer.

    Attributes:
        symbol: the symbol that replaces the true answer.
        generation: the ordinal number of the secret: 1 for the device's first secret. If the user
            opts out and in again, the new secret has the next number.
    """

    symbol: int
    generation: int


class SymbolOfWindow(NamedTuple):
    """A randomized vector, encoded as a symbol that is valid only in ``window``.

    A vector is rotated before it is randomized. Each window uses different rotations.
    """

    symbol: int
    window: Window


Randomized = int | SymbolOfWindow | PermanentAnswer
"""A true answer after randomization: a symbol to report, or a permanent answer to perturb."""


def symbol_of_window(
    definition: Metric, encode: Callable[[Coins], Any], coins: Coins, instant_s: float
) -> SymbolOfWindow:
    """For the window that contains an instant, randomize the vector that ``encode`` returns."""
    window = Window.at(definition.window, instant_s)
    return SymbolOfWindow(definition.randomize(encode, coins, window.text), window)


def permanent_answer(
    definition: Metric, channel: Permanent, encode: Callable[[Coins], int], secret: Secret
) -> PermanentAnswer:
    """Return the permanent answer to a metric.

    ``encode`` returns the channel's input for the true answer. For an invalid answer, ``encode``
    draws an input with the given coins. The coins depend only on the metric, the edition and the
    secret. Therefore all invalid answers to one edition of a metric get the same input.
    """
    labels = (definition.name, definition.edition)
    coins_for = partial(prf_coins.PrfCoins, secret.key)
    _, symbol = channel.settle(encode, coins_for, *labels)
    return PermanentAnswer(symbol, secret.generation)


def check_secret(connection: sqlite3.Connection, answer: PermanentAnswer) -> None:
    """Raise `LedgerBusyError` if the device's secret has changed since an answer was randomized."""
    if secret_of(connection).generation != answer.generation:
        raise LedgerBusyError("the user opted out and in again in the meantime; record the answer again")


def symbol_of(connection: sqlite3.Connection, definition: Metric, randomized: Randomized, coins: Coins) -> int:
    """Return the symbol to report.

    If the true answer was replaced by a permanent answer, the permanent answer is first randomized
    again.
    """
    if isinstance(randomized, int):
        return randomized
    if isinstance(randomized, SymbolOfWindow):
        return randomized.symbol
    check_secret(connection, randomized)
    return definition.channel.last_step.perturb(randomized.symbol, coins)
