"""The analysis of metrics with short texts as answers.

A rehearsal draws the tally of each group of devices from the tally's exact distribution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, cast

import numpy as np

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.mechanisms.grouped_geometry import CONFIRMING, GroupedGeometry
from client_sdk.protocol.text import Text
from client_sdk.protocol.window import Window
from estimator.analyses.analysis import Analysis, Draws, InputLaw
from estimator.decoders.grouped_geometry import cell_support, group_sampler
from estimator.discovery.power import Power, made_up_reports
from estimator.discovery.prefix_search import SURVIVORS, GroupTables
from estimator.discovery.tails import TextTails
from estimator.discovery.texts import confirm, discover
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import Fakes, MetricEstimate, RangeTest, TextFindings
from estimator.results.report import Request
from estimator.statistics.arrays import Counts
from estimator.statistics.confidence import chi_square_tail
from estimator.tallies import Tally


def sampled_texts(
    kind: Text, channel: GroupedGeometry, devices: Mapping[tuple[int, ...], int], generator: np.random.Generator
) -> Counts:
    """Return a random tally, shape (symbols,).

    ``devices`` contains the number of devices with each answer. A key contains the integers that
    encode the texts of an answer.
    """
    weights, draw = np.array(channel.weights), group_sampler(channel)
    cells = np.array([kind.encoded(numbers, channel.inputs) for numbers in devices], dtype=np.int64)
    counts = np.array(list(devices.values()), dtype=np.int64)
    of_groups = generator.multinomial(counts, weights / weights.sum()).reshape(len(counts), len(weights))
    by_group = np.moveaxis(cells.reshape(*of_groups.shape, *cells.shape[2:]), 1, 0)
    return np.concatenate([draw(*group, generator) for group in zip(by_group, of_groups.T, strict=True)])


MADE_UP: Final = 1e-6
"""The p-value below which the sizes of the groups count as impossible.

Real devices draw their groups with the channel's weights. Below this p-value, the tally must
contain fabricated reports.
"""


class UnlistedTexts(Analysis[Text]):
    """Metrics about short texts.

    Each device draws a group, and hashes its text to one of the group's cells (see the module
    `grouped_geometry`).
    """

    takes_candidates = True

    @property
    def channel(self) -> GroupedGeometry:
        """The metric's channel."""
        return cast("GroupedGeometry", self.metric.channel)

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the shares of found texts and of requested texts, for each tally."""
        for tally in tallies:
            self.check(tally)
            yield self._estimate(tally, request)

    def fitting(self, texts: Sequence[str]) -> list[str]:
        """Return the given texts that are valid answers."""

        def fits(text: str) -> bool:
            try:
                self.kind.number_of(text)
            except DomainError:
                return False
            return True

        return [text for text in texts if fits(text)]

    def share_limit(self, request: Request) -> int:
        """Return the maximum number of shares of a tally, for found and for requested texts."""
        return SURVIVORS + len(request.candidates)

    def _estimate(self, tally: Tally, request: Request) -> MetricEstimate:
        tables = GroupTables.from_counts(self.channel, tally.dense(self.channel.symbols))
        finds = self.kind.discover and request.finds_texts
        found = discover(self.kind, tables, simultaneous=request.simultaneous) if finds else None
        texts = self.fitting(request.candidates)
        named = confirm(self.kind, tables, texts, simultaneous=request.simultaneous) if texts else None
        parts = {"found_text": found, "named_text": named}
        has_power, is_faked = finds and tally.reports > 0, request.fakes is not None
        return self._estimated(
            tally,
            groups=tuple(
                FigureGroup(name, part.shares, "", SHARES) for name, part in parts.items() if part is not None
            ),
            texts=TextFindings(
                candidates=found.candidates if found else 0,
                certain=named.certain if named else 0,
                unclear=tuple(dict.fromkeys(text for part in parts.values() if part for text in part.unclear)),
                sharing=named.sharing if named else (),
                least=self.power.least_shares(tally.reports) if has_power else (),
                max_length=self.kind.max_length,
                made_up=made_up_reports(self.kind, tables) if has_power and is_faked else None,
            ),
            fakes=None
            if request.fakes is None or not tally.reports
            else Fakes(fraction=request.fakes, test=self._groups_as_drawn(tables)),
        )

    def _groups_as_drawn(self, tables: GroupTables) -> RangeTest:
        """Test whether the sizes of the groups fit the groups' probabilities."""
        weights = np.array(self.channel.weights)
        expected = tables.reports.sum() * weights / weights.sum()
        statistic = float(((tables.reports - expected) ** 2 / expected).sum())
        p_value = float(chi_square_tail(statistic, weights.size - 1))
        return RangeTest(statistic, p_value, 0, impossible=p_value < MADE_UP)

    @property
    def text_tails(self) -> TextTails:
        """The probabilities of extreme errors in texts' shares."""
        return TextTails.from_channel(self.channel)

    @property
    def power(self) -> Power:
        """The probabilities that the search finds unlisted texts."""
        return Power(self.kind, self.channel)

    @property
    def report_variance(self) -> float | None:
        """The largest possible variance of a requested text's share, estimated from one report.

        The variance is largest for texts of maximum length, because only the last groups, which
        confirm found texts, report such texts whole.
        """
        weights = self.channel.weights
        of_cell = cell_support(self.channel).support.squares(self.channel.inputs).worst
        return of_cell * sum(weights) / sum(weights[-CONFIRMING:])

    def law(self, answer: object) -> Mapping[Any, Any]:
        """Return the integers that encode an answer's texts, as an input with probability 1."""
        return {tuple(self.kind.numbers(answer)): Fraction(1)}

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies."""

        def drawn(counts: Counts, _: Window, generator: np.random.Generator) -> Counts:
            devices: dict[tuple[int, ...], int] = {}
            for ((numbers, _chance),), count in zip(laws, counts.tolist(), strict=True):
                devices[numbers] = devices.get(numbers, 0) + count
            return sampled_texts(self.kind, self.channel, devices, generator)

        return drawn

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 an answer
        """Return all texts of an answer."""
        return value if isinstance(value, tuple) else (value,)
