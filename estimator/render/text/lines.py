"""The lines of a table on one tally: what has a line, and what stands beneath the shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from client_sdk.protocol import Cross
from estimator.render.conclusions import CONCLUSIONS, DIFFER, MAY_DIFFER, clearest_first, conclusion
from estimator.render.text import poisoning
from estimator.render.text.style import Style
from estimator.render.words import cluster_words, p_equals
from estimator.results.distribution import Resampled
from estimator.results.estimate import Estimate
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.text import mean_word, parts, word

SHOWN_VALUES = 50
"""Of a large category only so many, those with the largest shares in its last window; a table is for the eye."""

SHARE_DIGITS, NUMBER_DIGITS = ".4f", ".5g"

TOO_FEW = "too few to tell"
"""Stands for a share within a group that nobody, or hardly anybody, may be in."""

SHOWN_DIFFERENCES = 3
"""Between groups, the clearest ones."""

SHARES = (0.0, 1.0)
"""Between which ends a bar of a share lies."""


class Line(NamedTuple):
    """One thing that has a line: its name, its figures, their digits, and the ends of its bar, if it has one."""

    label: str | tuple[str, ...]
    figure: Estimate | Resampled
    digits: str
    ends: tuple[float, float] | None


def shown_values(estimated: MetricEstimate) -> tuple[Sequence[int], int]:
    """Return the positions of the values that a table shows, in the domain's order, and how many it leaves out."""
    shares = estimated.shares
    if shares is None:
        return (), 0
    if len(shares) <= SHOWN_VALUES:
        return range(len(shares)), 0
    sizes = shares.shrunken if shares.shrunken.size else shares.highs
    largest = np.argsort(-sizes, kind="stable")[:SHOWN_VALUES]
    return sorted(largest.tolist()), len(shares) - SHOWN_VALUES


def lines_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[Line]:
    """Yield each thing that has a line; bins have none."""
    if estimated.shares is not None:
        for position in positions:
            value, share = estimated.shares[position]
            yield Line(parts(value), share, SHARE_DIGITS, SHARES)
    if estimated.mean is not None:
        yield Line(mean_word(estimated.metric.kind), estimated.mean, NUMBER_DIGITS, estimated.mean_range)
    if estimated.distribution is not None:
        yield Line("variance ~", estimated.distribution.variance, NUMBER_DIGITS, None)
        for probability, one in estimated.distribution.quantiles:
            yield Line(f"{probability:.0%} are at most ~", one, NUMBER_DIGITS, estimated.mean_range)


def answered_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the shares among those who answered, where windows without an answer are reported, too."""
    if estimated.answered:
        yield f"  among those who answered, {window_of(estimated)}"
    for value, one in estimated.answered[:SHOWN_VALUES]:
        yield style.row(parts(value), "", one, SHARE_DIGITS, SHARES, TOO_FEW)


def joint_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the shares within groups, the clearest differences, and whether the two questions depend."""
    domain, joint = estimated.metric.domain, estimated.joint
    if joint is None or not isinstance(domain, Cross):
        return
    groups, outcomes = domain.names
    yield f"  {style.cut(outcomes)} within each group of {style.cut(groups)}, {window_of(estimated)}"
    for group in joint.groups:
        for value, one in group.outcomes:
            yield style.row(parts((group.label, value)), "", one, SHARE_DIGITS, SHARES, TOO_FEW)
    yield from _differences(joint, style)
    if joint.independence is not None:
        test = joint.independence
        yield f"  if {style.cut(groups)} and {style.cut(outcomes)} had nothing to do with each other:"
        yield f"  p {p_equals(test.p_value)} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def cluster_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the clusters of the answers, where there is more than one, and how sure their number is."""
    found = estimated.clusters
    if found is None:
        return
    number = len(found.clusters)
    counted = "1 cluster" if number == 1 else f"{number} clusters"
    yield f"  {counted} ~, {window_of(estimated)}: so many in {found.numbers[number - 1]:.0%} of resampled tallies"
    for one in found.clusters if number > 1 else ():
        stable = f"stable {one.stability:.2f}"
        yield style.row(cluster_words(one), stable, one.share, SHARE_DIGITS, SHARES)


def fakes_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield how far made-up reports could have moved each value that is shown, and what the test says."""
    found = estimated.fakes
    if found is None:
        return
    yield f"  if {found.fraction:.3g} of the reports were made up, {window_of(estimated)}: down, up"
    moves = []
    if found.shares is not None:
        positions, _ = shown_values(estimated)
        moves += [(parts(label), move) for label, move in (found.shares[position] for position in positions)]
    if found.mean is not None:
        moves.append((mean_word(estimated.metric.kind), found.mean))
    for label, move in moves:
        yield f"  {style.cut(label):{style.value_width}} {'':11} {move.down:9.4g}  {move.up:9.4g}"
    yield f"  {poisoning.verdict_of(found.test)}"


def _differences(joint: Joint, style: Style) -> Iterator[str]:
    """Yield of how many comparisons what can be said, then those that differ or may, or else the clearest one."""
    clearest = clearest_first(joint)
    counts = Counter(map(conclusion, clearest))
    told = ", ".join(f"{counts[one]:,} {one}" for one in CONCLUSIONS if counts[one])
    yield f"  differences between groups, of {len(clearest):,}: {told}"
    differing = [one for one in clearest[:SHOWN_DIFFERENCES] if conclusion(one) in (DIFFER, MAY_DIFFER)]
    for one in differing or clearest[:1]:
        if one.p_value is None or one.corrected is None:
            return
        value, first, second = (style.cut(word(label)) for label in (one.label, *one.groups))
        yield f"  {value}, {first} less {second}"
        found = conclusion(one)
        p_value = f"{p_equals(one.p_value)} alone" if found == MAY_DIFFER else p_equals(one.corrected)
        yield style.row(f"{found}, p {p_value}", "", one.estimate, SHARE_DIGITS)


def window_of(estimated: MetricEstimate) -> str:
    """Return the name of a window, with a mark where it is still open."""
    return estimated.window.text + ("" if estimated.closed else "*")
