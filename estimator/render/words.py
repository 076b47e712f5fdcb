"""The wording that all renderers share, such as the sentence on a metric's main figure.

The sentences are written for readers who do not know confidence intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Context
from typing import Final

from msgspec.structs import replace

from client_sdk.protocol.kinds.kind import word
from client_sdk.protocol.registry.differences import with_and
from client_sdk.protocol.text import CUT
from estimator.render.rounding import NO_UNIT, PERCENT, SENTENCE_FIGURES, Unit, exact_percent, number, percent, unit_of
from estimator.results.estimate import Estimate, Figure
from estimator.results.group import FigureGroup, FigureKey
from estimator.results.metric import (
    AmongAll,
    Central,
    Cluster,
    Composed,
    MetricEstimate,
    MetricFacts,
    Move,
    RangeTest,
    TakingPart,
)
from estimator.results.report import Change, Changes, ChangeVerdict, EstimateReport
from estimator.results.statistic import STATISTICS
from estimator.statistics.confidence import CONFIDENCE, SIGNIFICANT
from estimator.words import EMPTY_TEXT, label_of, plural, shown_of

DIGITS: Final = Context(prec=3, rounding=ROUND_CEILING)
"""The decimal context that rounds privacy losses up to three significant digits."""

LEAST_P: Final = 0.001
"""The smallest p-value that is shown as a number. Smaller p-values would be inaccurate, because the
normal approximation fails in the tails.
"""

AMONG_ALL_NOTE: Final = (
    "Among all installations: the bounds are valid for any answers of the devices that do not participate. "
    "Quantiles, the variance, shares and means within groups, coefficients and strata have no such bounds."
)

MOVED: Final = {
    "coordinate": "coordinate mean",
    "coefficient": "any coefficient",
    "cell_share": "cell share",
    "product_mean": "product mean",
}
"""The labels of quantities, other than single figures, that fabricated reports could shift."""

SHOWN_UNCLEAR = 5
"""The maximum number of texts that the note on contradictory texts names."""

TRIAL = "A trial: these are reports of developers who tried the app, and none is from a real user.\n"

NOTHING = "Nothing to report: no requested window has a tally.\n"

NOTHING_SKIPPED = "Nothing to report: every tally was skipped, for the reasons on stderr.\n"

CENTRAL_FOOTNOTE = """\
central epsilon: limits how much readers can learn about one device's answer, if
only tallies of closed windows are published and all counted reports are honest.
It does not protect against the collector.
"""

PRELIMINARY_FOOTNOTE = "*: preliminary; the window is still open and its figures will change.\n"

NO_REPORTS = "Nobody has reported."

HARDLY_POSSIBLE = "This tally is very unlikely, whatever people answer: do not trust it."

NEAREST = "The nearest possible answer:"

TOO_FEW = "There are too few reports to learn from."

NO_TEXTS = "This question does not discover texts. Name some with --with candidates=FILE."


def titled(report: EstimateReport) -> EstimateReport:
    """Return a report with the titles of paired metrics in place of their names, for sentences."""
    titles = {estimated.metric: estimated.title for estimated in report.metrics}
    highlights = (replace(each, shown=with_titles(each.shown, titles)) for each in report.highlights)
    metrics = tuple(with_titles(each, titles) for each in report.metrics)
    return replace(report, metrics=metrics, highlights=tuple(highlights))


def with_titles(estimated: MetricEstimate, titles: Mapping[str, str]) -> MetricEstimate:
    """Return estimates with the titles of paired metrics in place of their names."""
    if estimated.names is None:
        return estimated
    first, second = (titles.get(name, name) for name in estimated.names)
    return replace(estimated, names=(first, second))


def answer_of(estimated: MetricEstimate, independence: float | None = None) -> str:
    """Return one or two sentences on a metric's main figure in one window.

    For a pair of metrics, ``independence`` is the p-value of the test of independence, corrected
    for all pairs.
    """
    if not estimated.reports:
        return NO_REPORTS
    told = ((group, SENTENCES[group.statistic]) for group in estimated.groups if group.statistic in SENTENCES)
    sentences = [sentence for group, tell in told if (sentence := tell(estimated, group))]
    leading = estimated.leading
    if leading is not None and leading.figures[leading.lead].is_a_point:
        sentences.insert(0, f"{HARDLY_POSSIBLE} {NEAREST}")
    if estimated.texts is not None and not sentences:
        sentences.append(NO_TEXTS)
    if estimated.among_all is not None:
        sentences.append(_of_all(estimated, estimated.among_all))
    if independence is not None and estimated.names is not None:
        sentences.append(_of_independence(estimated.names, independence))
    return " ".join(sentences)


def _of_shares(estimated: MetricEstimate, group: FigureGroup) -> str:
    if group is not estimated.leading:
        return ""
    shares, share = group.figures, group.figures[group.lead]
    if share.value is True:
        return f"{about_figure(group, share).capitalize()} say yes."
    noun = _noun(estimated, group)
    rival = shares[int((-shares.unbiased).argsort(kind="stable")[1])]
    if rival.high >= share.low:
        first, second = (f"“{group.label(each)}”, {about_figure(group, each)}" for each in (share, rival))
        nouns = noun.replace("pair", "pairs") if " " in noun else f"{noun}s"
        return f"The most common {nouns} are {first}, and {second}: too close to call."
    return f"The most common {noun} is “{group.label(share)}”: {about_figure(group, share)}."


def _noun(estimated: MetricEstimate, group: FigureGroup) -> str:
    if estimated.are_sets:
        return "value"
    if estimated.names is None:
        return "answer"
    return "pair of answers" if isinstance(group.figures.labels[0], tuple) else "group"


def _of_days_of_use(_: MetricEstimate, group: FigureGroup) -> str:
    often = group.figures[group.lead]
    return f"{about_figure(group, often).capitalize()} were used on {group.label(often)}."


def threshold_words(estimated: MetricEstimate, group: FigureGroup) -> str:
    """Return a phrase for the share of answers above a threshold: ``answer 50 ms or more``."""
    threshold = group.label(group.figures[group.lead])
    return f"answer {threshold.replace(' ', f' {estimated.unit} ', 1) if estimated.unit else threshold}"


def _of_thresholds(estimated: MetricEstimate, group: FigureGroup) -> str:
    share = group.figures[group.lead]
    return f"{about_figure(group, share).capitalize()} {threshold_words(estimated, group)}."


def _of_found(_: MetricEstimate, group: FigureGroup) -> str:
    if not len(group.figures):
        return "No text was common enough to be found."
    first, others = group.figures[0], len(group.figures) - 1
    more = f"; {plural(others, 'other text')} found" if others else ""
    return f"The most common text found is “{group.label(first)}”: {about_figure(group, first)}{more}."


def _of_approved(_: MetricEstimate, group: FigureGroup) -> str:
    first = group.figures[0]
    return (
        f"Of the texts that may be published, “{group.label(first)}” is the most common: {about_figure(group, first)}."
    )


def _of_named(estimated: MetricEstimate, group: FigureGroup) -> str:
    certain = 0 if estimated.texts is None else estimated.texts.certain
    occurring = "1 certainly occurs" if certain == 1 else f"{certain or 'none'} certainly occur"
    return f"Of {plural(len(group.figures), 'text')} that you named, {occurring}."


def _of_many(which_one: str, name: str) -> Callable[[MetricEstimate, FigureGroup], str]:
    def tell(_: MetricEstimate, group: FigureGroup) -> str:
        lead = group.figures[group.lead]
        if lead.estimate is None:
            return TOO_FEW
        which = f"number {lead.value}" if isinstance(lead.value, int) else f"of {group.label(lead)}"
        return f"The {which_one} of {len(group.figures)} {name}, {which}, is {about_figure(group, lead)}."

    return tell


def _of_mean(_: MetricEstimate, group: FigureGroup) -> str:
    return f"The {group.about.title.lower()} is {about_figure(group, group.figures[0])}."


def _of_position(estimated: MetricEstimate, group: FigureGroup) -> str:
    scale = "" if group.ends is None else f" of {group.ends[1]:g}"
    return f"{_of_mean(estimated, group).removesuffix('.')}{scale}."


def _of_median(estimated: MetricEstimate, group: FigureGroup) -> str:
    median = group.figures[len(group.figures) // 2]
    if estimated.group("share_above") is not None:  # the shares show only between which thresholds the median lies
        return f"The median lies between {median.low:,.12g} and {median.high:,.12g}{unit_of(group).suffix}."
    return "" if median.estimate is None else f"The median is {about_figure(group, median)}."


def _of_group_means(estimated: MetricEstimate, group: FigureGroup) -> str:
    known = sorted((each for each in group.figures if each.estimate is not None), key=lambda each: each.estimate or 0.0)
    if len(known) < 2 or estimated.names is None:  # noqa: PLR2004 a comparison needs two
        return ""
    lowest, highest = (f"for “{group.label(each)}”, {about_figure(group, each)}" for each in (known[0], known[-1]))
    return f"The mean of {estimated.names[1]} looks lowest {lowest}, and highest {highest}."


SENTENCES: Final[dict[str, Callable[[MetricEstimate, FigureGroup], str]]] = {
    "share": _of_shares,
    "share_at_least": _of_days_of_use,
    "share_above": _of_thresholds,
    "found_text": _of_found,
    "named_text": _of_named,
    "approved_text": _of_approved,
    "coordinate": _of_many("largest", "coordinates"),
    "coefficient": _of_many("clearest", "coefficients"),
    "log_odds": _of_many("clearest", "log-odds"),
    "mean": _of_mean,
    "geometric_mean": _of_mean,
    "mean_position": _of_position,
    "mean_size": _of_mean,
    "quantile": _of_median,
    "mean_within": _of_group_means,
}
"""For each statistic, the function that writes the sentence on the main figure."""


def notes_of(estimated: MetricEstimate) -> Iterator[str]:
    """Yield notes that readers need to understand the figures of a metric."""
    if estimated.relation:
        yield estimated.relation
    yield from text_notes(estimated)


def text_notes(estimated: MetricEstimate) -> Iterator[str]:
    """Yield notes on texts that may not have been found, and on texts without a reliable share."""
    texts, found = estimated.texts, estimated.group("found_text")
    if texts is None:
        return
    if found is not None:
        known = [least for least in texts.least if least.share is not None]
        words = [
            f"if at least {f'{100 * (least.share or 0.0):.2g}%'} of devices have it"
            f" and it has {plural(least.letters, 'letter')}"
            for least in known
        ]
        often = f" A text is found 9 times in 10 {'; '.join(words)}." if words else ""
        yield f"The list lacks rare texts.{often} With 95% confidence, every text on the list occurs."
        if any(str(text).endswith(CUT) for text in found.figures.labels):
            yield f"An ellipsis marks a text that is longer than {texts.max_length} letters."
    if texts.unclear:
        shown = shown_of(len(texts.unclear), SHOWN_UNCLEAR)
        listed = ", ".join(f"“{label_of(text) or EMPTY_TEXT}”" for text in texts.unclear[:shown])
        more = "" if len(texts.unclear) == shown else f" and {len(texts.unclear) - shown:,} more"
        yield f"The following texts are unclear, because groups of devices disagree: {listed}{more}."
    if texts.sharing:
        untested = plural(len(texts.sharing), "named text")
        yield f"Changes of {untested} are not tested, because texts with the same hash cannot be told apart."


def made_up_words(made_up: int, reports: int) -> str:
    """Return a phrase on how many fabricated reports would add a text to the found texts."""
    return f"about {made_up:,} fabricated reports, {100 * made_up / reports:.2g}% of all, would put a text on the list"


def _of_independence(names: tuple[str, str], p_value: float) -> str:
    first, second = names
    if p_value <= SIGNIFICANT:
        return f"{first} and {second} are associated (p {p_equals(p_value)})."
    return f"There is no sign that {first} and {second} are associated (p {p_equals(p_value)})."


def _of_all(estimated: MetricEstimate, among_all: AmongAll) -> str:
    whole = f"Of all {among_all.installs:,} installations {taking_part_words(among_all)}"
    bounded = headline_bounds(estimated, among_all)
    if bounded is None:
        return f"{whole}; this figure cannot be bounded for all of them."
    group, bounds = bounded
    label = group.label(bounds)
    named = f"“{label}”" if group.about.is_share else f"the {label}" if group.about.is_compared else label
    return f"{whole}; among all of them {named} is {unit_of(group).rounded(bounds, SENTENCE_FIGURES).interval}."


def headline_bounds(estimated: MetricEstimate, among_all: AmongAll) -> tuple[FigureGroup, Figure] | None:
    """Return the statistic of the main figure, with the figure's bounds for all installations.

    Return None if there are no bounds.
    """
    key = estimated.headline
    group = None if key is None else among_all.group(key.statistic)
    bounds = None if key is None else among_all.figure(key)
    return None if group is None or bounds is None else (group, bounds)


def taking_part_words(among_all: AmongAll) -> str:
    """Return a phrase on the share of installations that participate."""
    share = among_all.taking_part
    if share.low == share.high:
        return f"{exact_percent(share.low)} participate"
    return f"{interval_of(share)} participate"


def interval_of(share: Estimate) -> str:
    """Return the interval of a share, rounded for a sentence."""
    return percent(None, share.low, share.high, figures=SENTENCE_FIGURES).interval


def participation_of(windows: Sequence[MetricEstimate]) -> str:
    """Return sentences on the devices that the figures describe, and on the number of devices.

    ``windows`` are the estimates whose figures are shown.
    """
    described = "Figures describe the participating devices. Devices of users who decline are in no tally."
    reported = [each for each in windows if each.reports]
    largest = _with_most_devices(reported)
    if largest is None:
        is_shared = any(each.relation for each in reported)
        schedule = "the schedule does not determine the share of devices that answer in a window"
        why = (
            "apps of several releases answered, and a device that was updated answers twice" if is_shared else schedule
        )
        return f"{described} The number of participating devices is unknown: {why}." if reported else described
    estimated, taking_part = largest
    noun = "device participates" if taking_part.asked == 1 and estimated.reports == 1 else "devices participate"
    asked = (
        "each device" if taking_part.asked == 1 else f"each of the {exact_percent(taking_part.asked)} that are asked"
    )
    return (
        f"{described} About {_devices(taking_part)} {noun}, according to {plural(estimated.reports, 'report')} of "
        f"{estimated.title} in {estimated.window}. This assumes that {asked} has budget left and answers."
    )


def devices_of(windows: Sequence[MetricEstimate]) -> str | None:
    """Return a phrase with the approximate number of participating devices, or None if unknown.

    ``windows`` are the estimates whose figures are shown.
    """
    largest = _with_most_devices(windows)
    return None if largest is None else f"about {_devices(largest[1])}"


def _with_most_devices(windows: Iterable[MetricEstimate]) -> tuple[MetricEstimate, TakingPart] | None:
    known = [(each, each.taking_part) for each in windows if each.reports and each.taking_part is not None]
    return max(known, key=lambda pair: pair[1].estimate or 0.0, default=None)


def _devices(taking_part: TakingPart) -> str:
    whole = 0 if taking_part.asked == 1 else None
    return number(taking_part.estimate, taking_part.low, taking_part.high, decimals=whole).estimate


def move_unit(estimated: MetricEstimate, move: Move) -> Unit:
    """Return the unit of a quantity that fabricated reports could have shifted."""
    group = estimated.group(move.statistic)
    if group is None or move.statistic in MOVED:
        return NO_UNIT
    return PERCENT if group.about.is_share else Unit(0, group.unit, group.unit)


def move_cells(estimated: MetricEstimate, move: Move) -> tuple[str | tuple[str, ...], str, str]:
    """Return a quantity's label, and how far down and up fabricated reports could move it."""
    unit = move_unit(estimated, move)
    return move_label(estimated, move), unit.size(move.down), unit.size(move.up)


def about_figure(group: FigureGroup, figure: Estimate) -> str:
    """Return a figure with its interval, such as ``about 12% (9 to 14%)``.

    An estimate outside the interval is shown as the nearer end.
    """
    return unit_of(group).rounded(figure, SENTENCE_FIGURES).about


def short_loss(loss: float) -> str:
    """Return an epsilon or a delta with three significant digits, rounded up."""
    return f"{float(DIGITS.create_decimal(repr(float(loss)))):.3g}"


def exact_loss(epsilon: float) -> str:
    """Return an epsilon with all of its decimals, at most nine."""
    return f"{epsilon:.9f}".rstrip("0").removesuffix(".")


def window_of(estimated: MetricEstimate) -> str:
    """Return the name of a window. An asterisk marks an open window."""
    return estimated.window + ("" if estimated.closed else "*")


def central_line(estimated: MetricEstimate) -> str:
    """Return a line on the privacy loss from publishing a tally, or "" if no loss was requested."""
    if estimated.central is None:
        return ""
    return f"  {estimated.window}: central {central_words(estimated.central)}, if only tallies are public"


def composed_lines(composed: tuple[Composed, ...]) -> str:
    """Return, for each window, a line on the privacy loss from publishing all its tallies."""
    return "".join(
        f"{window.window}, {plural(window.tallies, 'tally', 'tallies')} together: "
        f"{'no bound at this delta' if window.central is None else f'central {central_words(window.central)}'}\n"
        for window in composed
    )


def central_words(central: Central) -> str:
    """Return a phrase with the epsilon and delta of the privacy loss from publishing a tally."""
    return f"epsilon {short_loss(central.epsilon)} at delta {short_loss(central.delta)}"


def has_a_point(estimated: MetricEstimate) -> bool:
    """Return whether any figure in the table has an interval of length 0."""
    shown = (group for group in estimated.groups if group.about.headline or group.about.most_lines)
    return any(group.figures.has_a_point for group in shown if group.figures.unbiased.size)


def mechanism_words(metric: MetricFacts) -> str:
    """Return a phrase on the mechanism of a metric, its epsilon and any delta."""
    delta = f", delta {short_loss(metric.delta)}" if metric.delta else ""
    return f"{metric.mechanism}, epsilon {exact_loss(metric.epsilon)}{delta}"


def cluster_words(cluster: Cluster) -> str:
    """Return the answers that a cluster contains, as text."""
    if cluster.start is not None:
        return f"{cluster.start:.5g} to {cluster.end:.5g}"
    return "; ".join(map(word, cluster.values))


def untested_words(statistics: Sequence[str]) -> str:
    """Return a phrase that names the figures not tested for changes, or "" if there are none."""
    names = dict.fromkeys(STATISTICS[statistic].untested for statistic in statistics)
    return with_and([*filter(None, names)])


def tested_words(changes: Changes) -> str:
    """Return a phrase that names the figures that are tested for changes."""
    names = dict.fromkeys(
        "shares of named texts"
        if group.about.are_named_texts
        else "shares within groups"
        if group.about.is_share and group.about.members
        else "shares"
        if group.about.is_share
        else "coordinates"
        if group.about.in_ball
        else "means"
        if group.about.members
        else "quantiles"
        if group.about.is_followed_by_counts
        else "the mean"
        for group in changes.groups
    )
    return " or ".join(names)


def outcome_words(changes: Changes) -> str:
    """Return a sentence, without a period, on the changes between the closed windows."""
    verdict, between = changes.verdict, f"between {changes.first} and {changes.last}"
    if verdict is ChangeVerdict.TOO_FEW:
        return f"Too few reports to see a change {between}"
    if verdict is ChangeVerdict.NO_CHANGE:
        since = between if changes.since is None else f"since {changes.since}"
        return f"No change in {tested_words(changes)} detected {since}"
    first, *others = changes.found
    told = change_words(first, changes)
    p_value = first.p_value if first.p_value_corrected is None else first.p_value_corrected
    chance = f"p {p_equals(1.0 if p_value is None else p_value)}, corrected for everything compared"
    new = "; new, and not yet confirmed by another window" if first.is_new else ""
    more = sum(change.verdict.is_change for change in others)
    also = f"; {plural(more, 'other figure')} also changed" if more else ""
    return f"{told}; {chance}{new}{also}"


def compared_words(changes: Changes) -> str:
    """Return a phrase that names the compared windows."""
    if changes.since is None:
        return f"{changes.last} compared with {changes.first}"
    return f"since {changes.since}, compared with before"


def changed_label(group: FigureGroup, change: Figure) -> str:
    """Return the name of a figure that is tested for changes, such as ``yes within linux``."""
    return " within ".join(_changed_parts(group, change))


def _changed_parts(group: FigureGroup, change: Figure) -> Sequence[str]:
    value = change.value
    if group.about.is_share and group.about.members and isinstance(value, tuple):
        return label_of(value[1]), label_of(value[0])
    return (group.label(change),)


def change_words(change: Change, changes: Changes, *, is_brief: bool = False) -> str:
    """Return a sentence, without a period, on the size and the time of a figure's change.

    The brief form omits the interval, and the first and the last window.
    """
    group = changes.group_of(change)
    label, unit = group.label(change), unit_of(group)
    if group.about.is_share:
        named = " within ".join(f"“{each}”" for each in _changed_parts(group, change))
    else:
        named = f"the mean of “{label}”" if group.about.members else f"the {label}"
    falls = (change.estimate or 0.0) < 0
    moved = unit.rounded(_turned(change) if falls else change, SENTENCE_FIGURES)
    size = f"{moved.estimate}{unit.of_difference if group.about.is_share else moved.suffix}"
    if change.verdict in {ChangeVerdict.RISING, ChangeVerdict.FALLING}:
        words = f"is {change.verdict}, by {size}" + ("" if is_brief else f" between {changes.first} and {changes.last}")
    else:
        since, perhaps = change.since or changes.since, "" if change.verdict.is_change else "perhaps "
        than = "" if is_brief else f" in {changes.last} than in {changes.first}"
        words = f"is {perhaps}{size} {'lower' if falls else 'higher'}{f' than before {since}' if since else than}"
    if is_brief:
        return f"{named} {words}"
    interval = f"{moved.low} to {moved.high}" if group.about.is_share else moved.interval
    if group.about.is_followed_by_counts:
        interval += f", with at least {CONFIDENCE:.0%} confidence"
    return f"{named[0].upper()}{named[1:]} {words} ({interval})"


def _turned(change: Change) -> Estimate:
    """Return the size of a change, without a sign. The sentence states the direction in words."""
    turned = change.times(-1.0)
    return Estimate(turned.estimate, change.standard_error, turned.high, turned.low)


def shown_moves(estimated: MetricEstimate, positions: Sequence[int]) -> list[Move]:
    """Return how far fabricated reports could have moved each of the shown figures."""
    moves = () if estimated.fakes is None else estimated.fakes.moves
    hidden = {key for group in estimated.compared if group.about.by_value for key in group.keys}
    shown = {key for group in estimated.compared for key in _keys_at(group, positions)}
    return [move for move in moves if (key := FigureKey(move.statistic, move.value)) in shown or key not in hidden]


def _keys_at(group: FigureGroup, positions: Sequence[int]) -> set[FigureKey]:
    return {FigureKey(group.statistic, group.figures.labels[at]) for at in positions if at < len(group.figures)}


def move_label(estimated: MetricEstimate, move: Move) -> str | tuple[str, ...]:
    """Return the label of a quantity that fabricated reports could have moved."""
    group = estimated.group(move.statistic)
    return MOVED[move.statistic] if group is None or move.statistic in MOVED else group.about.parts(move.value)


def p_words(p_value: float) -> str:
    """Return a p-value with two digits."""
    return f"< {LEAST_P}" if p_value < LEAST_P else f"{p_value:.2g}"


def p_equals(p_value: float) -> str:
    """Return the text that follows the letter p: ``= 0.03`` or ``< 0.001``."""
    words = p_words(p_value)
    return words if words.startswith("<") else f"= {words}"


def made_up_test(test: RangeTest) -> str:
    """Return a phrase on the result of the test for fabricated reports."""
    if test.impossible:
        return f"such a tally is very unlikely for any population (p {p_equals(test.p_value)}): do not trust it"
    return f"no sign of fabrication (p {p_equals(test.p_value)}), which does not rule it out"
