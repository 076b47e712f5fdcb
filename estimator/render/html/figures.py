"""What a question's tallies tell, as groups of figures that go together: shares, the mean, quantiles."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from client_sdk.protocol import Label, Metric
from estimator.render.html.numbers import PERCENT, PLAIN, UNBROKEN, Unit
from estimator.render.text.lines import shown_values
from estimator.results.distribution import Resampled
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.text import mean_word, word

LONGEST_LABEL = 80
"""Characters of a value that are shown; JSON and CSV have all of it."""


SHARES: Final = "Share of people"

LONGEST_PURPOSE = 400
"""Characters of a purpose that are shown."""


@dataclass(frozen=True, slots=True)
class Group:
    """Figures of one kind in one window.

    Attributes:
        title: what they are.
        unit: what they are shown in.
        figures: by their labels; the same ones in every window of a question.

    """

    title: str
    unit: Unit
    figures: tuple[tuple[str, Estimate], ...]


def positions_shown(windows: Sequence[MetricEstimate]) -> tuple[Sequence[int], int]:
    """Return which values a page shows, by the last window with reports, and how many it leaves out."""
    told = [one for one in windows if one.reports]
    return shown_values(told[-1] if told else windows[-1])


def groups_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Group]:
    """Yield the groups of one window; the same ones for every window of a question that has reports."""
    shares = estimated.shares
    if shares is not None:
        yield Group(SHARES, PERCENT, labelled([shares[position] for position in positions]))
    if estimated.answered:
        yield Group("Share of those who answered", PERCENT, labelled(estimated.answered))
    if estimated.mean is not None:
        yield Group(mean_title(estimated.metric), PLAIN, ((mean_word(estimated.metric.kind), estimated.mean),))
    if estimated.distribution is not None:
        found = estimated.distribution.quantiles
        quantiles = tuple(
            (f"{100 * probability:g}{UNBROKEN}% are at most", plain_estimate(one)) for probability, one in found
        )
        yield Group("Quantiles, interval by resampling", PLAIN, quantiles)


def mean_title(metric: Metric) -> str:
    """Return the title of the group that is a mean."""
    return mean_word(metric.kind).capitalize()


def labelled(figures: Sequence[tuple[Label, Estimate]]) -> tuple[tuple[str, Estimate], ...]:
    """Return figures with labels for people."""
    return tuple((label_of(value), one) for value, one in figures)


def label_of(value: Label) -> str:
    """Return a value as a page shows it: a truth value as yes or no."""
    if isinstance(value, tuple):
        return ", ".join(label_of(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(word(value))


def short(text: str, most: int = LONGEST_LABEL) -> str:
    """Return a text that is no longer than a label may be."""
    return text if len(text) <= most else text[: most - 1] + "…"


def short_purpose(text: str) -> str:
    """Return a purpose that leaves room for the answer."""
    return short(text, LONGEST_PURPOSE)


def plain_estimate(one: Resampled) -> Estimate:
    """Return a resampled figure as an estimate without a standard error."""
    return Estimate(one.estimate, None, one.low, one.high, None)
