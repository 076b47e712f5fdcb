"""A rehearsal, which draws reports for known answers and compares estimates with the truth.

Reports are drawn from the exact distributions of the metrics' mechanisms. The result is a document
like an analyst's report that also contains the true value of each figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

import numpy as np
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from client_sdk.protocol.window import Window, WindowKind
from estimator.analyses.analysis import Draws
from estimator.analyses.clips import Clip
from estimator.analyses.metric import analysis_of, estimate
from estimator.rehearsal.ground_truth import GroundTruth
from estimator.rehearsal.population import (
    BAND,
    TRUTHS,
    Coverage,
    Population,
    Truths,
    coverages_of,
    held,
    holds,
    truths_of,
)
from estimator.report.conclusions import corrected_differences
from estimator.results.estimate import COLUMN_OF, Figure, FigureLabel, Figures, Record, says
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate, TextFindings
from estimator.results.report import POPULATION, SCHEMA, Request, Skipped
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies import Tally

UNIX_EPOCH_S = 0.0
"""The Unix time that determines a rehearsal's window. This time is fixed, because the same seed
must always give the same output.
"""

LONGEST_WINDOW_S = 31 * 86_400


class RehearsedFigure(Figure, frozen=True, kw_only=True):
    """A figure and its true value."""

    truth: Annotated[float | None, says("the true value in the population. None if there are no devices.")]
    holds: Annotated[bool | None, says("whether the interval contains the true value.")]


class RehearsedFigures(Figures):
    """The figures of a statistic, each with its true value. An unknown true value is None."""

    __slots__ = ("truths",)

    def __init__(self, figures: Figures, truths: Sequence[float | None]) -> None:
        """Store the figures and their true values."""
        super().__init__(figures.labels, *(getattr(figures, column) for column in COLUMN_OF.values()))
        self.truths = truths

    def __iter__(self) -> Iterator[RehearsedFigure]:
        for figure, truth in zip(super().__iter__(), self.truths, strict=True):
            yield RehearsedFigure(**asdict(figure), truth=truth, holds=None if truth is None else holds(figure, truth))

    def part(self, labels: Sequence[FigureLabel], positions: slice | list[int]) -> RehearsedFigures:
        """Return the figures at the given positions, with new labels."""
        truths = self.truths
        chosen = truths[positions] if isinstance(positions, slice) else [truths[each] for each in positions]
        return RehearsedFigures(super().part(labels, positions), chosen)


class MissedText(Record, frozen=True):
    """A text that a rehearsal did not find."""

    value: Annotated[str, says("the text.")]
    truth: Annotated[float, says("the share of devices that have the text.")]


class RehearsedTexts(TextFindings, frozen=True, kw_only=True):
    """The texts that a rehearsal found, and the texts that it missed."""

    false: Annotated[tuple[str, ...], says("the texts that were found although no device has them.")]
    missed: Annotated[
        tuple[MissedText, ...],
        says(
            "the texts that were not found, although they are at least as common as a text that was found. They are "
            "sorted by share, in descending order."
        ),
    ]
    commonest: Annotated[
        MissedText | None, says("the most common text that was not found. None if every text was found.")
    ] = None


class Rehearsed(MetricEstimate, frozen=True, kw_only=True):
    """The results for one metric in a rehearsal."""

    window: Annotated[None, says("empty, because a rehearsal has no windows.")]  # type: ignore[assignment]
    texts: Annotated[
        RehearsedTexts | None, says("how texts were discovered. None if the question does not discover texts.")
    ] = None
    coverage: Annotated[
        dict[str, Coverage],
        says(
            "how often the intervals of each statistic contained the true value. The key ``band`` counts how often "
            "all points of ``at_most`` did so together. Empty without rounds."
        ),
    ]
    clips: Annotated[
        tuple[Clip, ...],
        says(
            "ranges for clipping that bring the mean closer to the mean of the unclipped numbers. Omitted if there "
            "is no mean or no such range."
        ),
    ] = ()
    band_holds: Annotated[
        bool | UnsetType,
        says(
            "whether the band of the distribution function contains the true value at each of its points. Omitted "
            "if there is no band."
        ),
    ] = UNSET

    @classmethod
    def beside(
        cls,
        truths: Truths,
        estimated: MetricEstimate,
        coverage: Mapping[str, Coverage],
        texts: RehearsedTexts | None = None,
    ) -> Rehearsed:
        """Return the results of a metric, with the true value of each figure.

        ``coverage`` contains the coverage of each statistic's intervals. ``texts`` is None if the
        metric does not discover texts.
        """
        fields = {name: getattr(estimated, name) for name in estimated.__struct_fields__}
        rehearsed = cls(
            **fields
            | {
                "window": None,
                "groups": tuple(_beside(truths, group) for group in estimated.groups),
                "texts": texts,
                "coverage": dict(coverage),
            }
        )
        held = [figure.holds for figure in rehearsed.figures(BAND) if isinstance(figure, RehearsedFigure)]
        known = [each for each in held if each is not None]
        return replace(rehearsed, band_holds=all(known)) if known else rehearsed


def _beside(truths: Truths, group: FigureGroup) -> FigureGroup:
    if group.statistic not in TRUTHS:
        return group
    return replace(group, figures=RehearsedFigures(group.figures, [truths.get(key) for key in group.keys]))


class NotRehearsed(Skipped, frozen=True):
    """A metric that was not rehearsed, and the reason."""

    window: Annotated[None, says("empty, because a rehearsal has no windows.")]  # type: ignore[assignment]


class Rehearsal(Record, frozen=True, tag_field="population", tag=POPULATION):
    """The result of a rehearsal. Figures describe the participating devices."""

    schema_number: ClassVar[int | None] = SCHEMA

    seed: Annotated[int, says("the seed of all randomness.")]
    confidence: Annotated[float, says("the confidence level of every interval.")]
    metrics: Annotated[tuple[Rehearsed, ...], says("the metrics, in the registry's order.")]
    skipped: Annotated[tuple[NotRehearsed, ...], says("the metrics that were not rehearsed.")]
    simultaneous: Annotated[
        bool, says("whether the confidence level applies to all intervals of a metric together. Always false.")
    ]


def _same_window(kind: WindowKind) -> Window:
    """Return the window that contains 1970-01-01, whatever the date of the rehearsal."""
    return Window.at(kind, UNIX_EPOCH_S)


def rehearse(  # noqa: PLR0913 the inputs of a rehearsal
    truth: GroundTruth,
    *,
    seed: int,
    rounds: int = 0,
    ranges: Sequence[tuple[str, float, float]] = (),
    after_round: Callable[[], object] = lambda: None,
    window_of: Callable[[WindowKind], Window] = _same_window,
    keep: Callable[[Tally], object] = lambda _: None,
) -> Rehearsal:
    """Draw a report from every device, estimate the metrics, and measure coverage.

    The *coverage* is the fraction of intervals that contain the true value.

    Args:
        truth: the true answers.
        seed: the seed of all randomness. The same seed gives the same result with the same version
            of numpy.
        rounds: the number of times that reports are drawn again, to measure the coverage.
        ranges: ranges of numbers. The share of answers in each range is estimated. Each entry
            consists of a metric's name, and the start and end of the range.
        after_round: a function that is called after each round of each metric.
        window_of: a function that returns the window of a device's reports.
        keep: a function that is called with each metric's tally before the estimation.

    """
    generators = np.random.default_rng(seed).spawn(
        len(truth.populations)
    )  # one for each metric, so that the number of rounds does not change estimates
    metrics = tuple(
        _rehearse(population, rounds, tuple(ranges), after_round, generator, window_of(population.metric.window), keep)
        for population, generator in zip(truth.populations, generators, strict=True)
    )
    corrected = corrected_differences(metrics)
    skipped = (NotRehearsed(metric.name, metric.edition, None, reason) for metric, reason in truth.missing)
    return Rehearsal(
        seed=seed,
        confidence=CONFIDENCE,
        metrics=corrected,
        skipped=tuple(skipped),
        simultaneous=False,
    )


def _rehearse(  # noqa: PLR0913, PLR0917 the inputs of a rehearsal
    population: Population,
    rounds: int,
    ranges: tuple[tuple[str, float, float], ...],
    after_round: Callable[[], object],
    generator: np.random.Generator,
    window: Window,
    keep: Callable[[Tally], object],
) -> Rehearsed:
    sampler = population.draws()
    at_hand = population.draw(generator) if population.at_hand is None else population.at_hand
    tally = _tally(population, at_hand, window, sampler, generator)
    keep(tally)
    estimated = estimate(population.metric, tally, Request(ranges=ranges))
    if population.devices == 0:
        return Rehearsed.beside({}, estimated, {})
    truths, truths_at_hand = (truths_of(population, weights, estimated) for weights in (population.shares, at_hand))
    has_means = analysis_of(population.metric).compares_groups
    request = Request(joint=has_means, ranges=ranges)  # a round estimates only figures with known true values

    def held_by(counts: Counts, weights: Floats | Counts, truths: Truths, number: int) -> dict[str, float]:
        later = Window.at(window.kind, window.starts_at + number * LONGEST_WINDOW_S)  # rotations differ between windows
        drawn = estimate(population.metric, _tally(population, counts, later, sampler, generator), request)
        if drawn.texts is not None:  # each round finds different texts
            truths = truths_of(population, weights, drawn)
        return held(drawn, truths)

    of_population, of_devices = [], []
    for number in range(1, rounds + 1):
        of_population.append(held_by(population.draw(generator), population.shares, truths, number))
        of_devices.append(held_by(at_hand, at_hand, truths_at_hand, number))
        after_round()
    texts = None if estimated.texts is None else _texts(estimated, estimated.texts, population)
    rehearsed = Rehearsed.beside(truths, estimated, coverages_of(of_population, of_devices), texts)
    return replace(rehearsed, clips=population.clips)


def _texts(estimated: MetricEstimate, findings: TextFindings, population: Population) -> RehearsedTexts:
    found = set(map(str, estimated.figures("found_text").labels))
    truth = {str(text): share for text, share in population.shares_of(population.shares).items()}
    least = min((truth[text] for text in found & truth.keys()), default=1.0)
    others = sorted(
        (MissedText(text, share) for text, share in truth.items() if text not in found), key=lambda each: -each.truth
    )
    return RehearsedTexts(
        **asdict(findings),
        false=tuple(sorted(found - truth.keys())),
        missed=tuple(each for each in others if each.truth >= least),
        commonest=next(iter(others), None),
    )


def _tally(
    population: Population, counts: Counts, window: Window, sampler: Draws, generator: np.random.Generator
) -> Tally:
    drawn = tuple(sampler(counts, window, generator).tolist())
    return Tally(
        population.metric.name, population.metric.edition, window, closed=True, reports=population.devices, counts=drawn
    )
