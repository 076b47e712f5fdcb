"""Tells the host application that the lifetime budget runs out, once for each fraction of it that is reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from client_sdk.answers import participation
from client_sdk.host import forks
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Periods
from client_sdk.ledger.thread import READ, Keeper
from client_sdk.protocol.registry.registry import Registry
from client_sdk.results import BudgetStatus, LedgerError, warn

if TYPE_CHECKING:
    import sqlite3

WARN_AT = (0.8, 0.95)
"""Of the lifetime ceiling: in time for a release that asks less, and just before silence."""

LOOK_DEADLINE_S = 5.0
"""How long a look waits for the ledger; one that comes to nothing is made up for by the next."""

OnBudget = Callable[[float, BudgetStatus], object]
"""Takes the fraction of the lifetime budget that is reached, and what is spent and left."""


class BudgetWatch:
    """Calls back when fractions of the lifetime budget are reached: once a fraction and process."""

    def __init__(self, registry: Registry, on_budget: OnBudget, warn_at: Sequence[float]) -> None:
        """Take whom to call, and when.

        Raises:
            ValueError: if a fraction is not above 0, or above 1.

        """
        if not all(0 < fraction <= 1 for fraction in warn_at):
            raise ValueError("warn_at must hold fractions of the lifetime budget: above 0, at most 1")
        self._budget = registry.budget
        self._once_nanos = participation.window_nanos(registry)
        self._on_budget = on_budget
        self._warn_at = sorted(set(warn_at))
        self._told: set[tuple[tuple[int, int], float]] = set()

    def look(self, keeper: Keeper) -> None:
        """Call back for what is newly reached; in a thread that the host does not wait for."""
        try:
            spent_nanos, status = keeper.run(self._read, LOOK_DEADLINE_S, begin=READ)
        except LedgerError:
            return
        for fraction in self._warn_at:
            key = (forks.this_process(), fraction)
            # As it is written: 0.8 as a float is a little above four fifths.
            if key not in self._told and spent_nanos >= Fraction(repr(fraction)) * self._budget.lifetime_nanos:
                self._told.add(key)
                self._tell(fraction, status)

    def _tell(self, fraction: float, status: BudgetStatus) -> None:
        try:
            self._on_budget(fraction, status)
        except Exception as error:  # noqa: BLE001 the host's code may do anything, and uploads go on
            warn("on_budget failed: %s", type(error).__name__)

    def _read(self, connection: sqlite3.Connection) -> tuple[int, BudgetStatus]:
        periods = Periods.at(self._budget, charges.latest_s(connection))
        status = charges.status(connection, self._budget, periods, self._once_nanos)
        return charges.lifetime_nanos(connection), status
