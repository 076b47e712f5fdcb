"""Describes reports in words, which come from the registries stored in the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from client_sdk.ledger.registries import unpacked
from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry, in_trial
from client_sdk.protocol.sentences import ENGLISH, Sentences, sentences_in
from client_sdk.results import HistoryEntry, PendingReport

Entry = TypeVar("Entry", HistoryEntry, PendingReport)


class Labeler:
    """Searches stored registries for the metric that a report is about.

    A registry is read only if needed.
    """

    def __init__(self, packed: Iterable[bytes], registry: Registry | None = None, app: str = "") -> None:
        """Store the arguments.

        ``packed`` contains the ledger's compressed registries. ``registry`` is searched first.
        """
        self._app = app
        self._unread = iter(packed)
        self._metrics: dict[tuple[str, str], Metric] = {}
        self.latest: Registry | None = None
        if registry is not None:
            self._learn(registry)

    def label(self, entries: Iterable[Entry], say: Sentences) -> list[Entry]:
        """Return the entries with their labels; for unknown metrics, the label is the symbol."""
        return [entry._replace(label=self._label(entry, say)) for entry in entries]

    def sentences(self, language: str = ENGLISH) -> Sentences:
        """Return the sentences of a language; the app's own sentences replace those of the SDK."""
        if self.latest is None:
            self.read()
        return sentences_in(language, {}) if self.latest is None else self.latest.sentences(language)

    def metric(self, entry: HistoryEntry | PendingReport) -> Metric | None:
        """Return the metric that a report is about.

        Returns None if no stored registry defines the metric.
        """
        key = entry.metric, entry.edition
        while key not in self._metrics and self.read():
            pass
        return self._metrics.get(key)

    def read(self) -> bool:
        """Read the next stored registry, starting with the latest; return False if none is left."""
        for packed in self._unread:
            try:
                registry = Registry.parse(unpacked(packed))
            except RegistryError:  # a later version of the SDK wrote it
                continue
            tried = in_trial(registry)
            self._learn(tried if tried.app == self._app else registry)
            return True
        return False

    def _learn(self, registry: Registry) -> None:
        self.latest = self.latest or registry
        for metric in registry.metrics.values():
            for edition in metric.editions:
                self._metrics.setdefault((metric.name, edition), metric)

    def _label(self, entry: HistoryEntry | PendingReport, say: Sentences) -> str:
        metric = self.metric(entry)
        if metric is None:
            return say("reported.symbol", symbol=str(entry.symbol))
        return reported(metric, entry.symbol, say)


def reported(metric: Metric, symbol: int, say: Sentences) -> str:
    """Describe a reported symbol by naming the answers that most likely lead to the symbol."""
    return metric.kind.reported(metric.channel.last_step, symbol, metric.labels, say)
