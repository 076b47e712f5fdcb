"""A true answer after randomization: a symbol, or a permanent answer that yields symbols.

A permanent answer is chosen once, pseudo-randomly from the device's secret. The choice depends on
the question's edition and on the secret; opting out and in again creates a new secret. While
edition, secret and true answer stay the same, the permanent epsilon limits what all reports
together reveal. Over several editions and secrets, the losses add up. They never exceed the
lifetime ceiling, because every report is charged.

Different true answers have independent permanent answers. If a user's answer changes, an observer
can learn over time which windows report the same permanent answer. Only the charged epsilon limits
this loss.

The ledger never receives the true answer, only the permanent one. But its file contains the secret
and the reports: someone who reads both can learn over time which answers occurred.
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
        symbol: the permanent answer.
        generation: the number of the secret that was used.

    """

    symbol: int
    generation: int


class SymbolOfWindow(NamedTuple):
    """A symbol that is valid in one window only: each window has its own rotations of vectors."""

    symbol: int
    window: Window


Randomized = int | SymbolOfWindow | PermanentAnswer
"""A true answer after randomization: a symbol to report, or a permanent answer to perturb."""


def symbol_of_window(
    definition: Metric, encode: Callable[[Coins], Any], coins: Coins, instant_s: float
) -> SymbolOfWindow:
    """Return the symbol of a vector in the window that contains an instant."""
    window = Window.at(definition.window, instant_s)
    return SymbolOfWindow(definition.randomize(encode, coins, window.text), window)


def permanent_answer(
    definition: Metric, channel: Permanent, encode: Callable[[Coins], int], secret: Secret
) -> PermanentAnswer:
    """Return the permanent answer; it depends only on the true answer, the edition and the secret.

    Args:
        definition: the metric.
        channel: the metric's channel.
        encode: returns the answer's input symbol. For an invalid answer, it draws the symbol from
            coins that depend only on the question, its edition and the secret, so that all invalid
            answers of a device get the same symbol.
        secret: the device's secret.

    """
    labels = (definition.name, definition.edition)
    coins_for = partial(prf_coins.PrfCoins, secret.key)
    _, symbol = channel.settle(encode, coins_for, *labels)
    return PermanentAnswer(symbol, secret.generation)


def check_secret(connection: sqlite3.Connection, answer: PermanentAnswer) -> None:
    """Raise `LedgerBusyError` if the secret was replaced after an answer was randomized."""
    if secret_of(connection).generation != answer.generation:
        raise LedgerBusyError("the user opted out and in again meanwhile; record again")


def symbol_of(connection: sqlite3.Connection, definition: Metric, randomized: Randomized, coins: Coins) -> int:
    """Return the symbol to report; perturb a permanent answer again."""
    if isinstance(randomized, int):
        return randomized
    if isinstance(randomized, SymbolOfWindow):
        return randomized.symbol
    check_secret(connection, randomized)
    return definition.channel.last_step.perturb(randomized.symbol, coins)
