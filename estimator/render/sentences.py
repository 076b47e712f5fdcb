"""The answer to a question in a sentence or two, for readers who know no intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from client_sdk.protocol.kinds.kind import Label, word
from client_sdk.protocol.texts.text import CUT
from estimator.render.rounding import SENTENCE_FIGURES, UNBROKEN, Range, number, percent
from estimator.render.words import at_least_words, coordinate_words, label_of, p_equals, text_label
from estimator.report.conclusions import SIGNIFICANT
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate, Shares
from estimator.results.metric import MetricEstimate
from estimator.results.participation import AmongAll
from estimator.results.texts import TextFindings
from estimator.words import mean_word, plural

OFTEN = 1
"""Which threshold of days of use is told in a sentence: a quarter of them, as once a week."""

SHOWN_UNCLEAR = 5
"""How many unclear texts a sentence names."""

NO_REPORTS = "Nobody has reported."

HARDLY_POSSIBLE = "Hardly any answers make such a tally: do not trust it. What comes nearest:"

TOO_FEW = "There are too few reports to learn from."


def answer_of(estimated: MetricEstimate, independence: float | None = None) -> str:
    """Return the answer that one window gives.

    Args:
        estimated: the figures of the window.
        independence: the p-value of two questions asked together, corrected for all such pairs.
            None for any other question.

    """
    if not estimated.reports:
        return NO_REPORTS
    sentences, unit = [*_of_values(estimated)], estimated.unit
    first = headline(estimated, leader(estimated))
    if first is not None and first.is_a_point:
        sentences.insert(0, HARDLY_POSSIBLE)
    if estimated.coordinates is not None:
        sentences.append(_of_coordinates(estimated, estimated.coordinates))
    if estimated.distribution is not None:
        median = estimated.distribution.quantiles[len(estimated.distribution.quantiles) // 2]
        if median.estimate is not None:
            sentences.append(f"Half are at most {_about_number(median, unit, estimated.mean_range)}.")
    if estimated.mean is not None:
        of = f" of {estimated.mean_range[1]:g}" if estimated.kind == "ordinal" and estimated.mean_range else ""
        sentences.append(
            f"The {mean_word(estimated.kind)} is {_about_number(estimated.mean, unit, estimated.mean_range)}{of}."
        )
    if of_groups := _of_group_means(estimated):
        sentences.append(of_groups)
    if estimated.among_all is not None:
        sentences.append(_of_all(estimated, estimated.among_all))
    if independence is not None and estimated.joint is not None:
        sentences.append(_of_independence(estimated.joint.names, independence))
    return " ".join(sentences)


def _of_values(estimated: MetricEstimate) -> Iterator[str]:
    """Yield the sentence about days of use, values or texts, if the question has any."""
    if estimated.at_least:
        often = estimated.at_least[OFTEN]
        yield f"{about_share(often).capitalize()} were used on {at_least_words(often.value)}."
    elif estimated.estimates is not None:
        yield _of_shares(estimated, estimated.estimates)
    elif estimated.texts is not None:
        yield _of_texts(estimated.texts)


def _of_texts(texts: TextFindings) -> str:
    """Return which of many texts are common."""
    parts = []
    if texts.found is not None:
        parts.append(_of_found(texts.found))
    if texts.named is not None:
        how_many = texts.certain or "none"
        parts.append(f"Of {plural(len(texts.named), 'text')} that you named, {how_many} surely occur.")
    return " ".join(parts) or "No texts are found by this question; name some with --candidates."


def text_notes(texts: TextFindings) -> Iterator[str]:
    """Yield what to know of lists of texts: what they cannot contain, and what is unclear."""
    if texts.found is not None:
        known = [least for least in texts.least if least.share is not None]
        words = [
            f"from {f'{100 * (least.share or 0.0):.2g} %'} on, if it has {plural(least.letters, 'letter')}"
            for least in known
        ]
        often = f" A text is found 9 times in 10 {'; '.join(words)}." if words else ""
        yield f"The list lacks texts that few people have.{often} With 95 % confidence, every text on it occurs."
        if any(str(share.value).endswith(CUT) for share in texts.found):
            yield f"An ellipsis ends a beginning of {texts.max_length} letters: longer texts are cut."
    if texts.unclear:
        listed = ", ".join(f"“{text_label(text)}”" for text in texts.unclear[:SHOWN_UNCLEAR])
        more = "" if len(texts.unclear) <= SHOWN_UNCLEAR else f" and {len(texts.unclear) - SHOWN_UNCLEAR:,} more"
        yield f"Unclear, because groups of devices disagree: {listed}{more}."


def made_up_words(made_up: int, reports: int) -> str:
    """Return how many made-up reports put a text on the list."""
    return f"about {made_up:,} made-up reports, {100 * made_up / reports:.2g} % of all, put a text on the list"


def _of_found(texts: Shares) -> str:
    if not len(texts):
        return "No text was common enough to be found."
    first = texts[0]
    others = f"; {plural(len(texts) - 1, 'other text')} found" if len(texts) > 1 else ""
    return f"The most common text found is “{text_label(first.value)}”: {about_share(first)}{others}."


def known_group_means(estimated: MetricEstimate) -> list[tuple[Label, Estimate]]:
    """Return each group whose number has a mean that can be told, with it."""
    if estimated.joint is None or not estimated.joint.is_of_means:
        return []
    means = [(group.group, group.estimates[0]) for group in estimated.joint.groups]
    return [(group, mean) for group, mean in means if mean.estimate is not None]


def _of_group_means(estimated: MetricEstimate) -> str | None:
    """Return which groups have the lowest and the highest mean; None where too few can be told."""
    means = sorted(known_group_means(estimated), key=lambda pair: pair[1].estimate or 0.0)
    if len(means) < 2 or estimated.joint is None:  # noqa: PLR2004 one has no rival
        return None
    (low, least), *_, (high, most) = means
    ends = [
        f"for “{label_of(group)}”, {_about_number(mean, estimated.unit, estimated.mean_range)}"
        for group, mean in ((low, least), (high, most))
    ]
    return f"The mean of {estimated.joint.names[1]} looks lowest {ends[0]}, and highest {ends[1]}."


def _of_coordinates(estimated: MetricEstimate, coordinates: Shares) -> str:
    if not coordinates.unbiased.size:
        return TOO_FEW
    count, largest = len(coordinates), coordinates[leader(estimated)]
    about = _about_number(largest, estimated.unit, possible_coordinate(estimated))
    if isinstance(largest.value, int):
        return f"The largest of {count} coordinates, number {largest.value}, is {about}."
    what = "log-odds" if estimated.kind == "model-of-crosses" else "coefficients"
    return f"The largest of {count} {what}, of {word(largest.value)}, is {about}."


def leader(estimated: MetricEstimate) -> int:
    """Return the position of the answer's value, or of the largest coordinate.

    The value is yes, or else the most common one.
    """
    if estimated.coordinates is not None:
        sizes = abs(estimated.coordinates.unbiased)
        return int(sizes.argmax()) if sizes.size else 0
    shares = estimated.estimates
    if shares is None or not shares.unbiased.size:
        return 0
    labels = list(shares.labels)
    return labels.index(True) if labels == [False, True] else int(shares.unbiased.argmax())


def headline(estimated: MetricEstimate, position: int) -> Estimate | None:
    """Return the answer's figure: a threshold of days of use, a share, a mean or a coordinate."""
    if estimated.at_least:
        return estimated.at_least[OFTEN]
    if estimated.coordinates is not None:
        return estimated.coordinates[position]
    return estimated.mean if estimated.estimates is None else estimated.estimates[position]


def _of_shares(estimated: MetricEstimate, shares: Shares) -> str:
    first = leader(estimated)
    share = shares[first]
    about = about_share(share)
    if share.value is True:
        return f"{about.capitalize()} say yes."
    is_set = estimated.kind == "set"
    is_group = estimated.joint is not None and estimated.joint.is_of_means
    what = "group" if is_group else "pair of answers" if estimated.kind == "cross" else "value" if is_set else "answer"
    second = int((-shares.unbiased).argsort(kind="stable")[1])
    rival = shares[second]
    if rival.high >= share.low:
        both = f"“{label_of(share.value)}”, {about}, and “{label_of(rival.value)}”, {about_share(rival)},"
        return f"{both} look most common; which {what} is ahead cannot be told."
    return f"The most common {what} is “{label_of(share.value)}”: {about}{' have it' if is_set else ''}."


def _of_independence(names: tuple[str, str], p_value: float) -> str:
    first, second = names
    if p_value <= SIGNIFICANT:
        return f"{first} and {second} go together: chance would seldom make them look so (p {p_equals(p_value)})."
    return f"There is no sign that {first} and {second} have to do with each other (p {p_equals(p_value)})."


def _of_all(estimated: MetricEstimate, among_all: AmongAll) -> str:
    """Return which share of all installations takes part, and bounds on the answer's figure."""
    whole = f"Of all {among_all.installs:,} installations {taking_part_words(among_all)}"
    bounds = headline_bounds(estimated, among_all)
    if bounds is None:
        return f"{whole}, and nothing bounds this figure among all."
    label, interval = bounds
    return f"{whole}; among all of them {label} is {interval}."


def headline_bounds(estimated: MetricEstimate, among_all: AmongAll) -> tuple[str, str] | None:
    """Return the label of the answer's figure and its bounds among all; None if it has none."""
    if among_all.at_least:
        often = among_all.at_least[OFTEN]
        return f"“{at_least_words(often.value)}”", interval_of(often)
    shares = among_all.found or among_all.estimates
    if shares:
        share = shares[0 if among_all.found else leader(estimated)]
        return f"“{text_label(share.value)}”", interval_of(share)
    if among_all.coordinates is not None:
        coordinate = among_all.coordinates[leader(estimated)]
        rounded = number(None, coordinate.low, coordinate.high, possible=possible_coordinate(estimated))
        return coordinate_words(coordinate.value), rounded.interval
    if among_all.mean is not None:
        mean = among_all.mean
        rounded = number(None, mean.low, mean.high, None, estimated.unit, SENTENCE_FIGURES, estimated.mean_range)
        return f"the {mean_word(estimated.kind)}", rounded.interval
    return None


def taking_part_words(among_all: AmongAll) -> str:
    """Return which share of all installations takes part, as an interval unless it is known."""
    share = among_all.taking_part
    if share.low == share.high:
        return f"{100 * share.low:.3g}{UNBROKEN}% take part"
    return f"{interval_of(share)} take part"


def interval_of(share: Figure | Estimate) -> str:
    """Return the interval of a share for a sentence."""
    return percent(None, share.low, share.high, figures=SENTENCE_FIGURES).interval


def participation_of(windows: Sequence[MetricEstimate]) -> str:
    """Return whom figures describe: the devices that take part, and about how many they are.

    Args:
        windows: those whose figures are shown.

    """
    described = "Figures describe the devices that take part; those whose users decline are in no tally."
    reported = [each for each in windows if each.reports]
    known = [(each.taking_part.estimate or 0.0, each) for each in reported if each.taking_part is not None]
    if not known:
        why = "the schedule does not say what share of them is asked in a window"
        return f"{described} How many take part is unknown: {why}." if reported else described
    _, largest = max(known, key=lambda pair: pair[0])
    taking_part = largest.taking_part
    assert taking_part is not None  # noqa: S101 of the known ones
    whole = 0 if taking_part.asked == 1 else None
    devices = number(taking_part.estimate, taking_part.low, taking_part.high, decimals=whole)
    asked = "" if taking_part.asked == 1 else f" of the {100 * taking_part.asked:.3g}{UNBROKEN}% that are asked"
    return (
        f"{described} About {devices.estimate} devices take part: {plural(largest.reports, 'report')} of "
        f"{largest.metric} in {largest.window}, one a device{asked}, if each has budget left and answers."
    )


def about_share(share: Estimate | Figure) -> str:
    """Return a share with its interval, such as ``about 12 % (9 to 14 %)``.

    Unlike a table, it has nothing impossible.
    """
    return percent(share.estimate, share.low, share.high, error_of(share), SENTENCE_FIGURES).about


def error_of(figure: Estimate | Figure) -> float | None:
    """Return the standard error of a figure, or None where it has none."""
    return figure.standard_error if isinstance(figure, Estimate) else None


def possible_coordinate(estimated: MetricEstimate) -> Range | None:
    """Return the least and the greatest coordinate of a vector; None for unbounded coefficients."""
    return None if estimated.kind != "vector" or estimated.norm is None else (-estimated.norm, estimated.norm)


def _about_number(figure: Estimate | Figure, unit: str, possible: Range | None) -> str:
    return number(figure.estimate, figure.low, figure.high, error_of(figure), unit, SENTENCE_FIGURES, possible).about
