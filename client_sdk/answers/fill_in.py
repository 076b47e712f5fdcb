"""The law of filled-in questions, and the step of a transaction that upholds it.

Whatever order of registries a device sees, what it sends for a window is the same whether or not
anything was recorded. *What* means which metric, edition and window, and the instant from which the
report may leave. *Whether or not* compares two devices whose apps run and look at the clock at the
same instants.

The law holds because no answer decides anything. A metric with a slot is paid for when its window
begins, and gets its report, of no answer, in that same transaction. An answer can only replace the
symbol in a report that waits already; registries, clocks and opting out meet the same reports on
every device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from client_sdk.answers.calendar import release_s
from client_sdk.answers.randomized import Randomized, symbol_of
from client_sdk.ledger import queue, slots, stops
from client_sdk.protocol.coins import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Report

if TYPE_CHECKING:
    import sqlite3


def fill_in(
    connection: sqlite3.Connection,
    asked: Callable[[str, str, str], Metric | None],
    coins: Coins,
    randomize: Callable[[Metric, object], Randomized],
) -> None:
    """Give open slots that are filled in their report.

    Args:
        connection: within a write transaction.
        asked: returns the metric of a slot, by its key; None if it is not asked.
        coins: the source of randomness.
        randomize: returns the randomized form of the answer that stands for none.

    """
    for key in slots.open_slots(connection):
        definition = asked(*key)
        if definition is not None and definition.fill is not None and not stops.is_stopped(connection, *key[:2]):
            randomized = randomize(definition, definition.fill.answer)
            symbol = symbol_of(connection, definition, randomized, coins)
            slots.fill_slot(connection, key)
            queue.enqueue(connection, Report(*key, symbol), release_s(Window.parse(key[2]), coins))
