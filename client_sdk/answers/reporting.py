"""Makes one report: checks that it is allowed, charges its cost, and queues it.

The charge, the charge's state and the report are written in the caller's transaction. All three
become durable together or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from client_sdk.answers.calendar import has_slots, release_s
from client_sdk.answers.randomized import Randomized, symbol_of
from client_sdk.ledger import charges, queue, registries
from client_sdk.ledger.charges import Periods, Slot, SlotKey
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import Report
from client_sdk.results import Recorded

if TYPE_CHECKING:
    import sqlite3


def report(  # noqa: PLR0911, PLR0913 the parts of a report, and one result for each reason not to make it
    connection: sqlite3.Connection,
    registry: Registry,
    coins: Coins,
    definition: Metric,
    randomized: Randomized,
    *,
    window: Window,
    instant_s: float,
    held: bool = False,
    leaves_s: float = 0.0,
) -> Recorded:
    """Charge and queue a window's report, or put the answer into a waiting "no answer" report.

    ``instant_s`` determines the day and the month of the charge. A report is sent after the
    window's end if ``held`` is true, or if its metric has ``fill_in`` in the registry. Any other
    report is sent at ``leaves_s`` (Unix seconds).
    """
    key = key_of(connection, definition, window)
    slot = charges.slot(connection, key)
    if definition.has_expired(window):  # the ledger's time may be ahead of the device's clock
        return Recorded.EXPIRED
    if registries.is_stopped(connection, *key[:2]):
        return Recorded.STOPPED
    if slot is None and has_slots(registry, definition):
        return Recorded.NOT_ASKED
    if slot in (Slot.REPORTED, Slot.AWAITED):
        return Recorded.ALREADY_RECORDED
    budget = registry.budget
    if slot is None and not charges.charge(connection, key, definition.cost, budget, Periods.at(budget, instant_s)):
        return Recorded.OUT_OF_BUDGET
    symbol = randomized if isinstance(randomized, int) else symbol_of(connection, definition, randomized, coins)
    queued = Report(*key, symbol)
    if slot is Slot.FILLED:
        if not queue.replace_symbol(connection, queued):
            return Recorded.NOT_ASKED
    else:
        queue.enqueue(connection, queued, release_s(window, coins) if held else 0, leaves_s)
    charges.set_slot(connection, key, Slot.REPORTED)
    return Recorded.QUEUED


def key_of(connection: sqlite3.Connection, definition: Metric, window: Window) -> SlotKey:
    """Return the key of a window's charge.

    If the device has paid for this window in another stratum, the key has that stratum's edition.
    """
    own = (definition.name, definition.edition, window.text)
    if not definition.strata or charges.slot(connection, own) is not None:
        return own
    others = ((definition.name, edition, window.text) for edition in definition.editions)
    return next((key for key in others if charges.slot(connection, key) is not None), own)
