"""How much a single report says about its sender, in words that fit its epsilon.

A report of a small epsilon is weak evidence. One of a large epsilon is as good as the answer, and
nobody may be told otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from math import floor
from typing import Final

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import Sentences

WEAK: Final = 4
"""Up to these odds, a report is weak evidence: even odds can become four to one."""

STRONG: Final = 99
"""Up to these odds it is strong evidence; beyond them, the answer is as good as known."""

PAIR: Final = 2
"""Of two answers, as many reports say the truth as the odds say; of more answers, fewer do."""

BETS: Final = 10
REPORTS: Final = 100
"""Of how many bets or reports a share is said, unless that would round too much away."""

ROUNDED_AWAY: Final = Fraction(1, 25)
"""The most by which a share of `BETS` may differ from the exact one."""


def evidence(metrics: Iterable[Metric], say: Sentences, written: Callable[[str], str] = str) -> str:
    """Return what a single report says, of the question whose reports reveal the most.

    Args:
        metrics: the questions, at least one.
        say: the sentences of a language.
        written: how the name of a question is written.

    """
    metric = max(metrics, key=lambda metric: metric.epsilon_nanos)
    ratio = metric.channel.worst_ratio
    strength = "weak" if ratio <= WEAK else "strong" if ratio <= STRONG else "known"
    is_pair = metric.channel.inputs <= PAIR and not metric.channel.permanent_nanos
    share = truth_in_words(metric, say) if is_pair else None
    if share is not None:
        return say(f"evidence.{strength}.truth", question=written(metric.name), share=share)
    but = but_rarely(metric.channel.chance_beyond(ratio), say)
    return say(f"evidence.{strength}.odds", question=written(metric.name), share=bet_in_words(ratio, say), but=but)


def truth_in_words(metric: Metric, say: Sentences) -> str | None:
    """Return how many reports say the truth, such as "73 of 100"; None if none says one answer."""
    chance = truth(metric)
    return None if chance is None else _share(chance, REPORTS, "share.reports", say)


def truth(metric: Metric) -> Fraction | None:
    """Return the exact chance that a report names the answer; None if reports do not name one.

    It is the same for every answer. Reports of numbers, of sets and of block designs speak for
    ranges, members or groups of answers.
    """
    if not metric.kind.is_named or not metric.channel.last_step.says_truth:
        return None
    return metric.channel.probability(0, 0)


def bet_in_words(ratio: Fraction, say: Sentences) -> str:
    """Return the chance that odds of a ratio to one express, such as "7 in 10"."""
    return _share(ratio / (1 + ratio), BETS, "share.bets", say)


def but_rarely(chance: Fraction, say: Sentences) -> str:
    """Return how often odds are exceeded; empty if they never are."""
    return say("statement.but", often=floor(1 / chance)) if chance else ""


def _share(chance: Fraction, least: int, key: str, say: Sentences) -> str:
    """Return a chance, rounded, of the least power of ten that keeps it from being none or all."""
    whole = least
    while True:
        part = floor(chance * whole + Fraction(1, 2))
        is_close = whole > BETS or abs(Fraction(part, whole) - chance) <= ROUNDED_AWAY
        if 0 < part < whole and is_close:
            return say(key, part=part, all=whole)
        whole *= 10
