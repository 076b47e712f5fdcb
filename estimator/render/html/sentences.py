"""The answer to a question in a sentence or two, for who has never heard of an interval."""

from __future__ import annotations

from client_sdk.protocol import Cross, Ordinal, Subset
from estimator.render.conclusions import SIGNIFICANT
from estimator.render.html.figures import label_of
from estimator.render.html.numbers import PERCENT, PLAIN, Unit
from estimator.render.words import p_equals
from estimator.results.estimate import Estimate, Shares
from estimator.results.metric import MetricEstimate
from estimator.text import mean_word

NO_REPORTS = "Nobody has reported."


def answer_of(estimated: MetricEstimate, independence: float | None = None) -> str:
    """Return what one window tells.

    Args:
        estimated: all of it.
        independence: the p-value of two questions asked together, corrected for all such pairs; or none.

    """
    if not estimated.reports:
        return NO_REPORTS
    sentences = []
    if estimated.shares is not None:
        sentences.append(_of_shares(estimated, estimated.shares))
    if estimated.distribution is not None:
        _, median = estimated.distribution.quantiles[len(estimated.distribution.quantiles) // 2]
        if median.estimate is not None:
            about = PLAIN.about(median.estimate, median.low, median.high)
            sentences.append(f"Half are at most about {about} ({PLAIN.interval(median.low, median.high)}).")
    if estimated.mean is not None:
        of = f" of {len(estimated.metric.domain.labels)}" if isinstance(estimated.metric.domain, Ordinal) else ""
        sentences.append(f"The {mean_word(estimated.metric.kind)} is {_about(estimated.mean, PLAIN)}{of}.")
    if independence is not None:
        sentences.append(_of_independence(estimated, independence))
    return " ".join(sentences)


def leader(estimated: MetricEstimate) -> int:
    """Return the position of the value that a question is about: yes, or what is most common."""
    shares = estimated.shares
    if shares is None or not shares.unbiased.size:
        return 0
    labels = list(shares.labels)
    return labels.index(True) if labels == [False, True] else int(shares.unbiased.argmax())


def _of_shares(estimated: MetricEstimate, shares: Shares) -> str:
    first = leader(estimated)
    label, share = shares[first]
    about = _about(share, PERCENT)
    if label is True:
        return f"{about.capitalize()} say yes."
    is_set = isinstance(estimated.metric.domain, Subset)
    what = "pair of answers" if isinstance(estimated.metric.domain, Cross) else "value" if is_set else "answer"
    second = int((-shares.unbiased).argsort(kind="stable")[1])
    other, rival = shares[second]
    if rival.high >= share.low:
        both = f"“{label_of(label)}”, {about}, and “{label_of(other)}”, {_about(rival, PERCENT)},"
        return f"{both} look most common; which {what} is ahead cannot be told."
    return f"The most common {what} is “{label_of(label)}”: {about}{' have it' if is_set else ''}."


def _of_independence(estimated: MetricEstimate, p_value: float) -> str:
    domain = estimated.metric.domain
    assert isinstance(domain, Cross)  # noqa: S101 others are not joint
    first, second = domain.names
    if p_value <= SIGNIFICANT:
        return f"{first} and {second} go together: chance would seldom make them look so (p {p_equals(p_value)})."
    return f"There is no sign that {first} and {second} have to do with each other (p {p_equals(p_value)})."


def _about(one: Estimate, unit: Unit) -> str:
    """Return an estimate with its interval."""
    if one.unbiased is None:
        return f"unknown ({unit.interval(one.low, one.high)})"
    possible = min(one.high, max(one.low, one.unbiased))  # a sentence names nothing impossible; the table does
    return f"about {unit.about(possible, one.low, one.high)} ({unit.interval(one.low, one.high)})"
