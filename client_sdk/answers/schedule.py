"""Records answers in the ledger, after doing the work that the calendar has made due."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from client_sdk.answers import calendar, reporting
from client_sdk.answers.consent import Agreement
from client_sdk.answers.dues import Dues
from client_sdk.answers.randomized import Randomized, SymbolOfWindow, permanent_answer, symbol_of_window
from client_sdk.ledger import charges, device, erase, outbox, queue, registries
from client_sdk.ledger.device import Secret, secret_of
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.results import Consent, LedgerError, Recorded

if TYPE_CHECKING:
    import sqlite3

    from client_sdk.protocol.mechanisms.permanent import Permanent

_LEFT_BY_EARLIER = """SELECT EXISTS (SELECT 1 FROM queue WHERE release > 0)
    OR EXISTS (SELECT 1 FROM charges WHERE reported = 0) OR EXISTS (SELECT 1 FROM counts)"""
"""A query that returns whether the ledger contains held reports, unreported charges or counts, even
from earlier registries."""


class Schedule:
    """Records answers if the user has agreed, within a transaction of the ledger."""

    def __init__(self, registry: Registry, coins: Coins) -> None:
        """Read the metrics and the ceilings from the registry."""
        self.agreement = Agreement(registry)
        self.dues = Dues(registry, self.agreement, self._randomize_now)
        self._registry = registry
        self._coins = coins
        self._secret: Secret | None = None
        self._latest_s = 0.0

    def agree(self, connection: sqlite3.Connection, consent: Consent) -> None:
        """Store whether the user agrees, and delete the data that ``consent`` does not cover."""
        if device.note_agreement(connection, agrees=bool(consent)) and consent:
            self._name(connection)
        if consent is False:
            erase.wipe_counts(connection)
        else:
            self.withdraw(connection, consent)

    def withdraw(self, connection: sqlite3.Connection, consent: Consent | None = None) -> None:
        """Delete the data of all metrics that the user does not agree to.

        If ``consent`` is None, the current consent applies. The purposes of metrics from earlier
        registries are looked up, too, because two reports may share an upload only if their metrics
        have the same purposes.
        """
        self.agreement.learn_former(connection)
        agreed = self.agreement.consent if consent is None else consent
        if isinstance(agreed, frozenset) or self.agreement.declined:
            is_covered = partial(self.agreement.is_covered, consent=agreed)
            self.dues.counts.keep(is_covered)
            self.dues.has_leftovers |= erase.withdraw(connection, is_covered)

    def _name(self, connection: sqlite3.Connection) -> None:
        """Store the registry and the editions of its metrics.

        On this device, a collector can stop only metrics whose editions are stored.
        """
        if registries.keep(connection, self._registry.source):
            metrics = self._registry.metrics.values()
            registries.name_metrics(
                connection, ((metric.name, edition) for metric in metrics for edition in metric.editions)
            )

    def randomize(
        self,
        definition: Metric,
        encode: Callable[[Coins], Any],
        read_secret: Callable[[], Secret],
        clock: Callable[[], float] = lambda: 0.0,
    ) -> Randomized:
        """Return the randomized form of a true answer; ``encode`` returns the channel's input.

        ``read_secret`` is called only for a permanent answer, and only if this process does not
        know the device's secret yet. ``read_secret`` may raise a `LedgerError`. A vector is
        randomized for the window that contains the later of two times: the time of ``clock``, and
        the ledger's last known time.
        """
        if definition.channel.turns:
            return symbol_of_window(definition, encode, self._coins, max(clock(), self._latest_s))
        if definition.channel.permanent_nanos:
            channel = cast("Permanent", definition.channel)  # no other channel has permanent answers
            return permanent_answer(definition, channel, encode, self._secret or read_secret())
        return definition.randomize(encode, self._coins)

    def record(
        self,
        connection: sqlite3.Connection,
        clock_s: float,
        definition: Metric,
        randomized: Randomized,
        leaves_s: float = 0.0,
    ) -> Recorded:
        """Do all due work, then charge a report and queue it to be sent at ``leaves_s``."""
        instant_s = self.catch_up(connection, clock_s)
        window = Window.at(definition.window, instant_s)
        if isinstance(randomized, SymbolOfWindow) and randomized.window != window:
            return Recorded.BUSY  # the vector was randomized for another window; it must be randomized again
        return reporting.report(
            connection,
            self._registry,
            self._coins,
            definition,
            randomized,
            window=window,
            instant_s=instant_s,
            leaves_s=leaves_s,
        )

    def count(self, connection: sqlite3.Connection, clock_s: float, definition: Metric, by: int) -> Recorded:
        """Do all due work, then add to the window's count, or store a day of use."""
        return self.dues.counting.add(connection, definition, by, self.catch_up(connection, clock_s))

    def catch_up(self, connection: sqlite3.Connection, clock_s: float) -> float:
        """Do all due work; return the ledger's time, in Unix seconds.

        Raises:
            LedgerError: if the clock was set back too far, or the user has opted out in another
                process. In both cases, the ledger stays unchanged.
        """
        secret = self.learn_secret(connection)
        self._name(connection)
        instant_s = self._latest_s = charges.instant(connection, clock_s)
        if self._registry.stopped:  # an app may ship its collector's list of stopped questions
            registries.name_metrics(connection, self._registry.stopped)
            registries.learn_stops(connection, self._registry.stopped)
            outbox.drop_stopped(connection)
        if self.dues.looks_ahead or self.dues.adds_up or connection.execute(_LEFT_BY_EARLIER).fetchone()[0]:
            self.dues.carry_out(connection, self._coins, instant_s, secret.key)
        return instant_s

    def learn_secret(self, connection: sqlite3.Connection) -> Secret:
        """Read the device's secret and remember it for later answers."""
        try:
            secret = secret_of(connection)
        except LedgerError:
            self.forget()
            raise
        if self._secret is not None and self._secret.generation != secret.generation:
            self.dues.counts.clear()  # the user opted out and in again, which discarded all counts
        self._secret = secret
        return secret

    def forget(self) -> None:
        """Forget the secret and the counts after the user has opted out."""
        self.dues.counts.clear()
        self._secret = None

    def next_s(self, connection: sqlite3.Connection, clock_s: float) -> float | None:
        """Return the Unix time at which work is due next; None if no work will be due."""
        return calendar.due(self._registry, clock_s, queue.next_release_s(connection, clock_s)).next_s

    def _randomize_now(self, connection: sqlite3.Connection, definition: Metric, answer: object) -> Randomized:
        return self.randomize(definition, partial(definition.encode, answer), partial(self.learn_secret, connection))
