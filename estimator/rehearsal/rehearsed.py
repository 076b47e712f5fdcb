"""The document of a rehearsal: a report whose figures have their truths beside them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType
from msgspec.structs import asdict, replace

from estimator.rehearsal.truths import BAND, TRUTHS, Coverage, Truths, holds
from estimator.results.estimate import COLUMN_OF, Figure, FigureLabel, Figures
from estimator.results.extras import TextFindings
from estimator.results.group import FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.record import Record, says
from estimator.results.report import POPULATION, SCHEMA, Skipped


class RehearsedFigure(Figure, frozen=True, kw_only=True):
    """A figure beside its truth."""

    truth: Annotated[float | None, says("what is true of the population. None without any device.")]
    holds: Annotated[bool | None, says("whether the interval holds the truth.")]


class RehearsedFigures(Figures):
    """Figures of a statistic that has truths, each beside its truth.

    Attributes:
        truths: of each figure; None where there is none.

    """

    __slots__ = ("truths",)

    def __init__(self, figures: Figures, truths: Sequence[float | None]) -> None:
        """Take the figures and a truth for each."""
        super().__init__(figures.labels, *(getattr(figures, column) for column in COLUMN_OF.values()))
        self.truths = truths

    def __iter__(self) -> Iterator[RehearsedFigure]:
        """Yield every figure."""
        for figure, truth in zip(super().__iter__(), self.truths, strict=True):
            yield RehearsedFigure(**asdict(figure), truth=truth, holds=None if truth is None else holds(figure, truth))

    def part(self, labels: Sequence[FigureLabel], positions: slice | list[int]) -> RehearsedFigures:
        """Return the figures at some positions, with their labels."""
        truths = self.truths
        chosen = truths[positions] if isinstance(positions, slice) else [truths[each] for each in positions]
        return RehearsedFigures(super().part(labels, positions), chosen)


class MissedText(Record, frozen=True):
    """A text that was not found."""

    value: Annotated[str, says("the text.")]
    truth: Annotated[float, says("the share of devices that have it.")]


class RehearsedTexts(TextFindings, frozen=True, kw_only=True):
    """How the texts of a rehearsal were found, and which were not."""

    false: Annotated[tuple[str, ...], says("the texts that were found though nobody has them.")]
    missed: Annotated[
        tuple[MissedText, ...],
        says("the texts that were not found, though at least as common as one that was; the most common first."),
    ]
    commonest: Annotated[
        MissedText | None, says("the most common text that was not found. None if every text was.")
    ] = None


class Rehearsed(MetricEstimate, frozen=True, kw_only=True):
    """One metric of a rehearsal."""

    window: Annotated[None, says("a rehearsal has none.")]  # type: ignore[assignment]
    texts: Annotated[
        RehearsedTexts | None, says("of texts that nobody listed, how they were found. None for other kinds.")
    ] = None
    coverage: Annotated[
        dict[str, Coverage],
        says(
            "of a rehearsal with rounds, how often intervals held the truth, by statistic; ``band`` is that of "
            "``at_most`` at all its points together."
        ),
    ]
    band_holds: Annotated[
        bool | UnsetType,
        says("whether the band of the distribution function holds the truth at all its points. Left out without one."),
    ] = UNSET

    @classmethod
    def beside(
        cls,
        truths: Truths,
        estimated: MetricEstimate,
        coverage: Mapping[str, Coverage],
        texts: RehearsedTexts | None = None,
    ) -> Rehearsed:
        """Return the figures of a metric beside their truths."""
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
    """A metric that was not rehearsed."""

    window: Annotated[None, says("a rehearsal has none.")]  # type: ignore[assignment]


class Rehearsal(Record, frozen=True, tag_field="population", tag=POPULATION):
    """The outcome of a rehearsal. Figures describe the devices that take part."""

    schema_number: ClassVar[int | None] = SCHEMA

    seed: Annotated[int, says("of all randomness.")]
    confidence: Annotated[float, says("of every interval.")]
    metrics: Annotated[tuple[Rehearsed, ...], says("in the registry's order.")]
    skipped: Annotated[tuple[NotRehearsed, ...], says("metrics that were not rehearsed.")]
    simultaneous: Annotated[
        bool, says("whether the confidence covers all intervals of a metric together: it never does.")
    ]
