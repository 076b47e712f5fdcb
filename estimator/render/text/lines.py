"""The lines of a table on one tally: the figures, and what stands beneath the shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from client_sdk.protocol.kinds.kind import Label, word
from estimator.render.rounding import size_of
from estimator.render.sentences import taking_part_words, text_notes
from estimator.render.text import poisoning
from estimator.render.text.style import TABLE_FIGURES, VALUE_WIDTH, Style
from estimator.render.text.widths import columns_of, wrapped
from estimator.render.words import (
    ANY_COEFFICIENT,
    at_least_words,
    cluster_words,
    coordinate_words,
    p_equals,
    range_words,
    text_label,
)
from estimator.report.conclusions import Conclusion, clearest_first, conclusion
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate
from estimator.results.highlight import SHOWN_VALUES
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.results.participation import AmongAll
from estimator.results.poisoning import Move
from estimator.words import in_unit, mean_word, parts

SHARE_DECIMALS: Final = 4
"""The digits behind the point of a share. The error of a number decides its digits."""

ABOVE_A_ROUNDING = 1.0001
"""A bar of coefficients, which have no bounds, is longer than the farthest end by this factor: that
end may be rounded up.
"""

TOO_FEW = "too few to tell"
"""Stands for a share within a group that has hardly any members, or none."""

SHOWN_DIFFERENCES = 3
"""How many differences between groups are shown, the clearest first."""

SHARES = (0.0, 1.0)
"""The ends of the bar of a share."""


class FigureLine(NamedTuple):
    """A figure that has a line of its own.

    Attributes:
        label: its name.
        figure: its estimate.
        decimals: the digits behind the point. None for those that the error decides.
        ends: the ends of its bar, which no possible number is rounded past. None where it has no
            bar.

    """

    label: str | tuple[str, ...]
    figure: Estimate | Figure
    decimals: int | None
    ends: tuple[float, float] | None


def lines_of(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[FigureLine]:
    """Yield every figure that has a line of its own. Bins and points of the band have none.

    Args:
        estimated: the figures of one window.
        positions: which values are shown.

    """
    if estimated.estimates is not None:
        for position in positions:
            share = estimated.estimates[position]
            yield FigureLine(parts(share.value), share, SHARE_DECIMALS, SHARES)
    yield from _coordinates(estimated, positions)
    if estimated.mean is not None:
        label = _labelled(mean_word(estimated.kind), estimated.unit)
        yield FigureLine(label, estimated.mean, None, estimated.mean_range)
    for share in estimated.at_least:
        yield FigureLine(at_least_words(share.value), share, SHARE_DECIMALS, SHARES)
    if estimated.distribution is not None:
        squared = f"{estimated.unit}\N{SUPERSCRIPT TWO}" if estimated.unit else ""
        yield FigureLine(_labelled("variance", squared), estimated.distribution.variance, None, None)
        for quantile in estimated.distribution.quantiles:
            label = _labelled(f"{quantile.quantile:.0%} are at most", estimated.unit)
            yield FigureLine(label, quantile, None, estimated.mean_range)
        for range_share in estimated.distribution.ranges:
            yield FigureLine(range_words(range_share), range_share, SHARE_DECIMALS, SHARES)


def _coordinates(estimated: MetricEstimate, positions: Sequence[int]) -> Iterator[FigureLine]:
    """Yield coordinates of vectors, or coefficients of a model and how well it predicts."""
    if estimated.coordinates is not None and estimated.norm is not None:
        most = estimated.norm * (1.0 if estimated.kind == "vector" else ABOVE_A_ROUNDING)
        for position in positions:
            coordinate = estimated.coordinates[position]
            yield FigureLine(coordinate_words(coordinate.value), coordinate, None, (-most, most))
    if estimated.learned is not None and estimated.learned.auc is not None:
        yield FigureLine("AUC", estimated.learned.auc, SHARE_DECIMALS, SHARES)


def _labelled(label: str, unit: str) -> str:
    """Return a label with its unit where both fit; the question's title names the unit anyway."""
    whole = in_unit(label, unit)
    return whole if columns_of(whole) <= VALUE_WIDTH else label


def answered_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the shares among those who answered, where missing answers are reported too."""
    if estimated.answered:
        yield f"  among those who answered, {window_of(estimated)}"
    for share in estimated.answered[:SHOWN_VALUES]:
        yield style.row(parts(share.value), "", share, SHARE_DECIMALS, SHARES, TOO_FEW)


def text_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the texts that were found or named, which differ from window to window."""
    texts = estimated.texts
    if texts is None:
        return
    for title, shares in (("found", texts.found), ("named", texts.named)):
        if shares is None:
            continue
        yield f"  texts {title}, {window_of(estimated)}: {len(shares):,}"
        for position in range(min(len(shares), SHOWN_VALUES)):
            yield style.row(text_label(shares[position].value), "", shares[position], SHARE_DECIMALS, SHARES)
        if len(shares) > SHOWN_VALUES:
            yield f"  … and {len(shares) - SHOWN_VALUES:,} more texts; --format json and csv have all"
    yield from (f"  {line}" for sentence in text_notes(texts) for line in wrapped(sentence, style.width - len("  ")))


def joint_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield the shares within groups, the clearest differences, and the test of independence."""
    joint = estimated.joint
    if joint is None:
        return
    groups, outcomes = joint.names
    if joint.is_of_means:
        yield from _group_mean_lines(estimated, joint, style)
        return
    yield f"  {style.cut(outcomes)} within each group of {style.cut(groups)}, {window_of(estimated)}"
    for group in joint.groups:
        for share in group.estimates:
            yield style.row((word(group.group), word(share.value)), "", share, SHARE_DECIMALS, SHARES, TOO_FEW)
    if joint.auc is not None:
        yield style.row("AUC", "", joint.auc, SHARE_DECIMALS, SHARES)
    yield from _differences(joint, style, SHARE_DECIMALS)
    if joint.independence is not None:
        test = joint.independence
        yield f"  if {style.cut(groups)} and {style.cut(outcomes)} had nothing to do with each other:"
        yield f"  p {p_equals(test.p_value)} (chi-square {test.statistic:.1f}, {test.degrees_of_freedom} d.f.)"


def _group_mean_lines(estimated: MetricEstimate, joint: Joint, style: Style) -> Iterator[str]:
    """Yield the mean of each group, then the clearest differences."""
    groups, number = joint.names
    title = in_unit(f"mean of {style.cut(number)}", estimated.unit)
    yield f"  {title}, in each group of {style.cut(groups)}, {window_of(estimated)}"
    for group in joint.groups:
        yield style.row(word(group.group), "", group.estimates[0], None, estimated.mean_range, TOO_FEW)
    yield from _differences(joint, style, None)


def among_all_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield the bounds on figures of all installations.

    Args:
        estimated: the figures of one window.
        positions: which values are shown.
        style: of the table.

    """
    among_all = estimated.among_all
    if among_all is None:
        return
    whole = f"  among all {among_all.installs:,} installations, {window_of(estimated)}"
    yield style.shown(f"{whole}; {taking_part_words(among_all)}")
    for label, figure, decimals, ends in bound_lines(estimated, among_all, positions):
        yield style.row(label, "", figure, decimals, ends, "bounds")


def bound_lines(
    estimated: MetricEstimate,
    among_all: AmongAll,
    positions: Sequence[int],
    named: Callable[[Label], str | tuple[str, ...]] = parts,
) -> Iterator[FigureLine]:
    """Yield each bound that is shown, as a figure without an estimate.

    Args:
        estimated: the figures of one window.
        among_all: its bounds.
        positions: which values are shown.
        named: returns the label of a value.

    """
    if among_all.estimates is not None:
        for share in map(among_all.estimates.__getitem__, positions):
            yield FigureLine(named(share.value), share, SHARE_DECIMALS, SHARES)
    if among_all.coordinates is not None:
        for coordinate in map(among_all.coordinates.__getitem__, positions):
            yield FigureLine(coordinate_words(coordinate.value), coordinate, None, None)
    if among_all.mean is not None:
        label = _labelled(mean_word(estimated.kind), estimated.unit)
        yield FigureLine(label, among_all.mean, None, estimated.mean_range)
    for share in among_all.at_least:
        yield FigureLine(at_least_words(share.value), share, SHARE_DECIMALS, SHARES)
    for shares in (among_all.found, among_all.named):
        for position in range(min(len(shares or ()), SHOWN_VALUES)):
            share = (shares or ())[position]
            yield FigureLine(text_label(share.value), share, SHARE_DECIMALS, SHARES)
    for range_share in among_all.ranges:
        yield FigureLine(range_words(range_share), range_share, SHARE_DECIMALS, SHARES)


def cluster_lines(estimated: MetricEstimate, style: Style) -> Iterator[str]:
    """Yield how many clusters there are and how sure that is, then each of several clusters."""
    clusters = estimated.clusters
    if clusters is None:
        return
    number = len(clusters.clusters)
    counted = "1 cluster" if number == 1 else f"{number} clusters"
    how_often = f"{clusters.numbers[number - 1]:.0%} of resampled tallies"
    yield f"  {counted}, {window_of(estimated)}: this number in {how_often}"
    for cluster in clusters.clusters if number > 1 else ():
        stable = f"stable {cluster.stability:.2f}"
        yield style.row(cluster_words(cluster), stable, cluster.share, SHARE_DECIMALS, SHARES)


def fakes_lines(estimated: MetricEstimate, positions: Sequence[int], style: Style) -> Iterator[str]:
    """Yield how far made-up reports could have moved each shown value, and the result of the test.

    Args:
        estimated: the figures of one window.
        positions: which values are shown.
        style: of the table.

    """
    fakes = estimated.fakes
    if fakes is None:
        return
    yield f"  if {fakes.fraction:.3g} of the reports were made up, {window_of(estimated)}: down, up"
    moves: list[tuple[str | tuple[str, ...], Move]] = []
    if fakes.estimates is not None:
        moves += [(parts(move.value), move) for move in (fakes.estimates[position] for position in positions)]
    if fakes.mean is not None:
        moves.append((_labelled(mean_word(estimated.kind), estimated.unit), fakes.mean))
    if fakes.coefficients is not None:
        moves.append((ANY_COEFFICIENT, fakes.coefficients))
    for label, move in moves:
        down, up = (size_of(size, TABLE_FIGURES) for size in (move.down, move.up))
        yield style.shown(f"  {style.filled(label, style.value_width)} {'':11} {down:>9}  {up:>9}")
    yield f"  {poisoning.verdict_of(fakes.test)}"


def _differences(joint: Joint, style: Style, decimals: int | None) -> Iterator[str]:
    """Yield how many comparisons lead to each conclusion, then the clearest comparisons."""
    clearest = clearest_first(joint)
    counts = Counter(map(conclusion, clearest))
    counted = ", ".join(f"{counts[concluded]:,} {concluded}" for concluded in Conclusion if counts[concluded])
    yield f"  differences between groups, of {len(clearest):,}: {counted}"
    may_differ = (Conclusion.DIFFER, Conclusion.MAY_DIFFER)
    differing = [difference for difference in clearest[:SHOWN_DIFFERENCES] if conclusion(difference) in may_differ]
    for difference in differing or clearest[:1]:
        if difference.p_value is None or difference.p_value_corrected is None:
            return
        value, first, second = (style.cut(word(label)) for label in (difference.value, *difference.groups))
        yield f"  {value}, {first} less {second}"
        concluded = conclusion(difference)
        if concluded is Conclusion.MAY_DIFFER:
            p_value = f"{p_equals(difference.p_value)} alone"
        else:
            p_value = p_equals(difference.p_value_corrected)
        yield style.row(f"{concluded}, p {p_value}", "", difference, decimals)


def window_of(estimated: MetricEstimate) -> str:
    """Return the name of a window, with an asterisk where it is still open."""
    return estimated.window + ("" if estimated.closed else "*")
