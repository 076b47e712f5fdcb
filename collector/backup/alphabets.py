"""Whether all tallies of a question in a backup have the same symbols. Pure.

An edition fixes the alphabet, and strata share that of their question. A store in which they
differed could not be read.
"""

from __future__ import annotations

from client_sdk.protocol.registry.registry import Registry
from collector.backup.lines import BackupError, TallyLine
from collector.store.store_protocol import OwnEditions

MADE_UP = "the file was changed, or is of another store: take the backup again, or import another. Nothing was written"


class Alphabets:
    """The alphabet of each edition, as lines of a backup name it."""

    def __init__(self, registry: Registry | None = None) -> None:
        """Take the registry, if there is one; an edition that it does not define is not known."""
        metrics = {} if registry is None else registry.metrics
        self._defined = {
            (name, edition): metric.channel.symbols for name, metric in metrics.items() for edition in metric.editions
        }
        self._named: dict[tuple[str, str], tuple[int, int]] = {}
        self._lines: dict[str, int] = {}

    def add(self, number: int, tally: TallyLine) -> None:
        """Take a tally, by the number of its line.

        Raises:
            BackupError: if it is there twice, or the registry defines another alphabet.

        """
        before = self._lines.setdefault(tally.name, number)
        if before != number:
            raise BackupError(f"line {number} repeats the tally of line {before}: {MADE_UP}")
        edition = tally.metric, tally.edition
        defined = self._defined.get(edition, tally.symbols)
        if tally.symbols != defined:
            raise BackupError(
                f"line {number}: a tally of metric.{tally.metric} has {tally.symbols:,} symbols, and by the registry "
                f"{defined:,}: {MADE_UP}"
            )
        self._require_same(edition, number, tally.symbols)

    def require_same_in_strata(self, own: OwnEditions) -> None:
        """Refuse strata of one question whose alphabets differ.

        Args:
            own: what the backup says of all editions.

        Raises:
            BackupError: if so.

        """
        for (metric, edition), (number, symbols) in list(self._named.items()):
            self._require_same((metric, own.get(f"{metric}:{edition}", edition)), number, symbols)

    def _require_same(self, edition: tuple[str, str], number: int, symbols: int) -> None:
        before, expected = self._named.setdefault(edition, (number, symbols))
        if symbols != expected:
            raise BackupError(
                f"line {number}: a tally of metric.{edition[0]} has {symbols:,} symbols, and {expected:,} in line "
                f"{before}, under the same question: {MADE_UP}"
            )
