"""An oracle: it sees the wire, the users' decisions and the final tallies, and knows the promises.

From a ledger it reads only the sum of its charges, and whether questions are
stopped.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from client_sdk import Registry
from client_sdk.ledger import charges, queue, registries, retry_times, status
from client_sdk.protocol import Metric, Report, Upload, Verdict, Window, WindowKind
from client_sdk.results import Consent, ReportOutcome
from collector.store.store_protocol import TallyStore
from tests.support.simulation.device import Device
from tests.support.simulation.releases import definition_of


class BrokenPromiseError(BaseException):
    """A promise is broken; the message says which, and where. No handler of errors sees it."""


class ReportKey(NamedTuple):
    """The key of a report that a device sends at most once."""

    device: int
    metric: str
    window: str


class Oracle:
    """Raises `BrokenPromiseError` as soon as a promise is broken."""

    def __init__(self) -> None:
        self._consents: defaultdict[int, Consent] = defaultdict(lambda: True)
        self._charged_nanos: dict[int, int] = {}
        self._ceilings: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._spent: defaultdict[int, Counter[str]] = defaultdict(Counter)
        self._left: dict[tuple[int, str, str, str], Report] = {}
        self._accepted: dict[tuple[int, str, str, str], str] = {}

    def installed(self, device: int, registry: Registry) -> None:
        """Note the ceilings of a registry that a device has from now on."""
        for ceiling, most in registry.budget.ceilings.items():
            self._ceilings[device][ceiling] = max(self._ceilings[device][ceiling], most)
        if registry.budget.per_month_nanos is None:
            self._ceilings[device]["per_month"] = self._ceilings[device]["lifetime"]

    def agreed(self, device: int, consent: Consent) -> None:
        """Note what a user agrees to from now on."""
        self._consents[device] = consent
        self._charged_nanos.pop(device, None)

    def look(self, number: int, device: Device) -> None:
        """Check that nothing is charged without consent."""
        if self._consents[number] is False:
            charged = charges.lifetime_nanos(device.connection)
            if self._charged_nanos.setdefault(number, charged) != charged:
                raise BrokenPromiseError(f"device {number} is charged without consent")

    def departed(self, number: int, device: Device, upload: Upload) -> None:
        """Check an upload: with consent, paid for, below every ceiling, and with one symbol."""
        consent, news = self._consents[number], False
        for report in upload.reports:
            definition = definition_of(report.metric, report.edition)
            if not _covers(consent, definition):
                raise BrokenPromiseError(f"device {number} sends {report} and its user agrees to {consent}")
            before = self._left.get((number, *report[:3]))
            if before is None:
                news = True
                self._left[number, *report[:3]] = report
                self._spend(number, report, definition)
                if report[:2] in registries.stopped(device.connection):
                    raise BrokenPromiseError(f"device {number} sends {report}, which it knows to be stopped")
            elif before != report:
                raise BrokenPromiseError(f"device {number} sends {report} after {before}")
        if news and charges.lifetime_nanos(device.connection) < self._spent[number]["lifetime"]:
            raise BrokenPromiseError(f"device {number} has sent more than it was charged")

    def _spend(self, number: int, report: Report, definition: Metric) -> None:
        """Add up the reports that left, by their windows."""
        spent, ceilings = self._spent[number], self._ceilings[number]
        day, month = _periods(report.window)
        for ceiling, period in (("lifetime", ""), ("per_window", day), ("per_month", month)):
            if period is not None:
                spent[f"{ceiling}{period}"] += definition.cost.nanos
                if spent[f"{ceiling}{period}"] > ceilings[ceiling]:
                    raise BrokenPromiseError(f"device {number} exceeds {ceiling} {period} by {report}")

    def answered(self, number: int, upload: Upload, verdict: Verdict) -> None:
        """Check that no report is counted in two uploads."""
        refused = {index for index, _ in verdict.refused}
        for index, report in enumerate(upload.reports):
            if index not in refused:
                first = self._accepted.setdefault((number, *report[:3]), upload.id)
                if first != upload.id:
                    raise BrokenPromiseError(f"{report} of device {number} is counted in two uploads")

    def conclude(self, devices: Sequence[Device], store: TallyStore, now_s: float) -> None:
        """Check that the tallies contain each accepted report once, and no other."""
        expected = Counter((*key[1:], self._left[key].symbol) for key in self._accepted)
        for window in store.tallied_windows():
            store.close(Window.parse(window))
        counted = Counter(
            {
                (tally.metric, tally.edition, tally.window, symbol): count
                for tally in store.closed_tallies(store.closed_windows())
                for symbol, count in enumerate(tally.counts)
                if count
            }
        )
        if counted != expected:
            raise BrokenPromiseError(f"counted too often: {counted - expected}; too seldom: {expected - counted}")
        for number, device in enumerate(devices):
            self._conclude_device(number, device, now_s)

    def _conclude_device(self, number: int, device: Device, now_s: float) -> None:
        """Check that a device knows what became of its reports, and keeps none that could leave."""
        connection = device.connection
        lost = queue.UNANSWERED in status.dropped(connection)
        for entry in status.history(connection):
            is_counted = (number, entry.metric, entry.edition, entry.window) in self._accepted
            if entry.outcome is ReportOutcome.ACCEPTED and not is_counted:
                raise BrokenPromiseError(f"device {number} takes {entry} for counted")
            is_stopped = (entry.metric, entry.edition) in registries.stopped(connection)
            if entry.outcome is ReportOutcome.UNANSWERED and not (is_stopped or lost):
                raise BrokenPromiseError(f"device {number} does not know what became of {entry}")
        if self._consents[number] is True:
            alone = [retry for retry in retry_times.pending(connection) if retry.wait_s(now_s, hurried=True) == 0]
            if alone or queue.due(connection, now_s, hurried=True):
                raise BrokenPromiseError(f"device {number} keeps reports that may leave")


def _covers(consent: Consent, definition: Metric) -> bool:
    if isinstance(consent, frozenset):
        return bool(definition.consent) and definition.consent <= consent
    return consent is True


@lru_cache(maxsize=4096)
def _periods(window: str) -> tuple[str | None, str | None]:
    """Return the day and the month that surely pay for a report, if the window is within one."""
    parsed = Window.parse(window)
    first, last = (Window.on(WindowKind.MONTH, day).text for day in (parsed.first_day, parsed.last_day))
    day = window if parsed.first_day == parsed.last_day else None
    return day, first if first == last else None
