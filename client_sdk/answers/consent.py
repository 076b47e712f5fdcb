"""The user's consent, which covers all metrics, no metrics, or the metrics of certain purposes.

A set of purposes covers a metric if the set contains all purposes of the metric. A metric that has
no purpose is covered only by full consent.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from client_sdk.ledger import registries
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.results import Consent, Decision, Suppression

if TYPE_CHECKING:
    import sqlite3


def consent_of(value: object) -> Consent:
    """Convert the value that the app has passed as ``consent`` to a `Consent`.

    Raises:
        TypeError: if ``value`` is neither a bool, nor a set of strings, nor a `Decision`. A single
            string is refused, too, because the string would be read as a set of letters.
    """
    if isinstance(value, Decision):
        return value.consent
    if isinstance(value, bool | Suppression):
        return value
    if isinstance(value, AbstractSet) and all(isinstance(purpose, str) for purpose in value):
        return frozenset(value) or False
    raise TypeError('consent must be what the user has agreed to: True, False or a set of purposes such as {"usage"}')


def covers(consent: Consent, metric: Metric | None) -> bool:
    """Whether a consent covers a metric. ``metric`` is None if no registry defines its name."""
    if not isinstance(consent, frozenset):
        return bool(consent)
    return metric is not None and bool(metric.consent) and metric.consent <= consent


def groups_of(metrics: Mapping[str, Metric]) -> dict[str, str]:
    """Map the name of each metric that has purposes to a string that lists the purposes."""
    return {name: " ".join(sorted(metric.consent)) for name, metric in metrics.items() if metric.consent}


class Agreement:
    """The user's consent, and the purposes of each metric that has data in the ledger.

    ``groups`` maps the name of each metric that has purposes to a string that lists the metric's
    purposes. Two reports may share an upload only if their metrics have the same purposes. The SDK
    records nothing new for ``withheld`` metrics, and deletes the waiting reports and counts of
    ``declined`` metrics.
    """

    def __init__(self, registry: Registry) -> None:
        """Read the metrics and their purposes from the registry."""
        self.consent: Consent = True
        self.withheld = self.declined = frozenset[str]()
        self.groups = groups_of(registry.metrics)
        self._registry = registry
        self._former: dict[str, Metric | None] = {}

    def take(self, decided: object) -> None:
        """Store the consent that the app has passed, after `consent_of` has checked it."""
        self.consent = consent_of(decided)
        self.withheld = decided.withheld if isinstance(decided, Decision) else frozenset()
        self.declined = decided.declined if isinstance(decided, Decision) else frozenset()

    def is_covered(self, name: str, consent: Consent | None = None) -> bool:
        """Whether a consent covers a metric. If ``consent`` is None, check the current consent."""
        definition = self._registry.metrics.get(name) or self._former.get(name)
        return name not in self.declined and covers(self.consent if consent is None else consent, definition)

    def takes(self, name: str) -> bool:
        """Whether new answers to a metric may be recorded."""
        return name not in self.withheld and self.is_covered(name)

    def asked(self, name: str, edition: str, window: str) -> Metric | None:
        """Return the metric of a charge or report; None if the device no longer answers the metric.

        The device may have been in another stratum when the window began. In this case, ``edition``
        is the metric's edition for the other stratum.
        """
        definition = self._registry.metrics.get(name)
        if definition is None or edition not in definition.editions or definition.has_expired(Window.parse(window)):
            return None
        return definition if self.takes(name) else None

    def learn_former(self, connection: sqlite3.Connection) -> None:
        """Look up the purposes of metrics that only earlier registries define."""
        unknown = registries.metrics(connection) - self._registry.metrics.keys() - self._former.keys()
        if unknown:
            definitions = registries.definitions(connection, unknown)
            self._former |= {name: definitions.get(name) for name in unknown}
            self.groups |= groups_of(definitions)
