"""A page in plain words that tells users about the metrics in a registry.

The page says what is collected, why, and what the reports can reveal. The page depends only on the
registry.

The page expresses privacy loss as odds. Suppose that an observer considers two answers equally
likely before seeing the reports. The page states the highest odds that this observer can assign to
one of the two answers after seeing the reports.

A report with a small epsilon is called weak evidence. A report with a large epsilon is as good as
the answer itself, and the page must say so.
"""

from __future__ import annotations

import contextlib
import math
import re
import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from math import ceil, floor
from typing import Final

from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.epsilon import NANOS, PURE, exp_floor, nanos_ceiling
from client_sdk.protocol.errors import LanguageError
from client_sdk.protocol.horizon import (
    IN_YEAR,
    Horizon,
    MetricReports,
    chance_beyond,
    most_nanos,
    yearly_reports,
)
from client_sdk.protocol.kinds.kind import AskedMetric
from client_sdk.protocol.kinds.words import escaped
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.limits import reveals_too_much_a_year, too_revealing
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import ENGLISH, PURPOSE, Sentences
from client_sdk.protocol.window import WindowKind

CERTAIN_NANOS: Final = nanos_ceiling(Fraction(10**6))
"""A privacy loss, in billionths of epsilon, that raises even odds to a million to one."""

TWO_DIGITS: Final = 10
"""Odds above this number to 1 are printed without a decimal."""

TELLS: Final = {"record": "recorded", "count": "counted", "active": "used"}
"""Maps each recording method to a part of a sentence's key. The sentence says what the mere
existence of a report reveals about the device."""

WIDTH: Final = 80
"""The maximum width of a paragraph's lines, in characters."""

COMMANDS: Final = ("hearsay-client show --all --data-dir", "hearsay-client forget --data-dir")
"""The commands that show and erase the device's list of sent reports. A folder follows."""

FOLDER: Final = "DIR"
"""Stands for the app's data folder on a page that is the same for all devices."""


def statement(registry: Registry, language: str = ENGLISH, folder: str = FOLDER) -> str:
    """Return the page as Markdown. ``folder`` is the app's data folder.

    The privacy losses for a year apply to any calendar year in which a device reports.

    Raises:
        LanguageError: if neither the SDK nor the app has sentences in the language.
    """
    say = registry.sentences(language)
    totals = {
        horizon: outcome(most_nanos(registry, horizon), chance_beyond(registry, horizon), say) for horizon in Horizon
    }
    parts = [
        f"# {say('statement.title', app=escaped(registry.app))}\n",
        *_how(registry, totals, say),
        *_purposes(registry, say),
        *(_metric(registry, metric, say) for metric in registry.metrics.values()),
        "\n".join(
            [
                f"## {say('statement.together.title')}\n",
                *_bullets(_together(registry.budget, totals, say)),
                "",
            ]
        ),
        *_read_and_erase(registry.budget, folder, say),
    ]
    return "\n".join(parts)


def changed(old: Registry | None, new: Registry, language: str = ENGLISH) -> str:
    """Return, as a unified diff, how the page changes from one registry to another.

    The result is empty if the page has not changed. ``old`` is None if there was no registry
    before.
    """
    from difflib import unified_diff  # noqa: PLC0415 importing the SDK must stay quick

    after, before = statement(new, language), ""
    with contextlib.suppress(LanguageError):
        before = statement(old, language) if old else ""
    names, lines = ("statement before", "statement after"), after.splitlines()
    diff = unified_diff(before.splitlines(), lines, *names, n=1, lineterm="")
    return "".join(f"{_under_heading(each, lines)}\n" for each in diff)


def _under_heading(line: str, page: Sequence[str]) -> str:
    """Return a line of a diff.

    If the line is the header of a hunk, append the last heading of the page above the hunk.
    """
    hunk = re.match(r"@@ -\S+ \+(\d+)", line)
    headings = [each for each in page[: int(hunk[1])] if each.startswith("#")] if hunk else []
    return " ".join([line, *headings[-1:]])


def odds(nanos: float, say: Sentences) -> str:
    """Return in words the odds, such as "3 to 1", to which a privacy loss can raise even odds."""
    if nanos >= CERTAIN_NANOS:
        return say("statement.certain")
    return say("statement.odds", ratio=say.number(_printed(nanos), 1))


def outcome(nanos: float, chance: Fraction, say: Sentences) -> str:
    """Return in words the odds for a privacy loss, and how often reports exceed these odds."""
    if 2 * chance > 1 and nanos < CERTAIN_NANOS:
        return say("statement.unbounded")
    return say("statement.outcome", odds=odds(nanos, say), but=_but(nanos, chance, say))


def one_report(metric: Metric, say: Sentences) -> tuple[str, str]:
    """Return in words the odds for one report, and how often a report exceeds these odds."""
    nanos = metric.epsilon_nanos
    return odds(nanos, say), _but(nanos, metric.channel.chance_beyond(_printed(nanos)), say)


def _printed(nanos: float) -> Fraction:
    """Return the printed odds for a privacy loss. A result of 3 means 3 to 1."""
    # charges are rounded up by up to a billionth, but the page must show ln 3 as 3 to 1
    ratio = exp_floor(Fraction(nanos) / NANOS) * (1 - Fraction(1, 10**8))
    return Fraction(math.ceil(ratio)) if ratio > TWO_DIGITS else Fraction(math.ceil(ratio * 10), 10)


def _but(nanos: float, chance: Fraction, say: Sentences) -> str:
    """Return in words how often the printed odds are exceeded; empty if this is impossible."""
    return "" if nanos >= CERTAIN_NANOS else but_rarely(chance, say)


def _paragraph(*sentences: str) -> str:
    return textwrap.fill(" ".join(sentences), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"* {line}" for line in lines]


def _how(registry: Registry, totals: dict[Horizon, str], say: Sentences) -> Iterator[str]:
    """Yield the first paragraphs of the page, about randomization and protection.

    For browsers, the first paragraph states the limit that applies even after users delete the
    app's storage, because no other limit is certain.
    """
    budget = registry.budget
    if budget.may_be_wiped:
        key, windows = f"statement.web.{budget.window}", IN_YEAR[budget.window]
        yield _paragraph(say(key, windows=windows, outcome=totals[Horizon.YEAR]))
    yield _paragraph(say("statement.how"), evidence(registry.metrics.values(), say, escaped))
    yield _paragraph(say("statement.worst"))
    if budget.accept:
        places = [escaped(say.code("title", metric.name)) for metric in too_revealing(registry)]
        places += [say("statement.accept_year")] if reveals_too_much_a_year(registry) else []
        yield _paragraph(
            say(
                "statement.accept",
                excesses=", ".join(places) or say("statement.accept_nothing"),
                reason=escaped(budget.accept),
            )
        )


def _purposes(registry: Registry, say: Sentences) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for name, metric in registry.metrics.items():
        names.setdefault(_agreed(sorted(map(escaped, metric.consent)), say), []).append(
            escaped(say.code("title", name))
        )
    if any(metric.consent for metric in registry.metrics.values()):
        lines = _bullets(f"{purposes}: {', '.join(metrics)}" for purposes, metrics in sorted(names.items()))
        yield f"## {say('statement.agree.title')}\n"
        yield "\n".join([_paragraph(say("statement.agree.how")), *lines, ""])


def _agreed(purposes: list[str], say: Sentences) -> str:
    """Join purposes in one string.

    If there are no purposes, return a phrase about agreeing to everything.
    """
    if not purposes:
        return say("statement.agree.everything")
    return reduce(lambda first, last: say("statement.agree.and", purposes=first, purpose=last), purposes)


def _metric(registry: Registry, metric: Metric, say: Sentences) -> str:
    lines = [
        *([say("statement.sensitive")] if metric.is_sensitive else []),
        say("statement.why", purpose=escaped(say(f"{PURPOSE}{metric.name}"))),
        say("statement.owner", owner=escaped(metric.owner) if metric.owner else say("statement.nobody")),
        say(f"statement.often.{metric.window}", until=_until(metric, say)),
        *metric.kind.statement(AskedMetric(metric.unit, metric.window, metric.channel.inputs), say),
        *_public(metric, say),
        *_kept(metric, say),
        say(f"statement.sent.{_tells(metric)}.{metric.window}"),
        *_on_disk(metric, say),
        *_one(metric, say),
        *_yearly(registry, metric, say),
    ]
    return "".join(f"{line}\n" for line in [f"## {escaped(say.code('title', metric.name))}\n", *_bullets(lines)])


def _until(metric: Metric, say: Sentences) -> str:
    if metric.expires is None:
        return say("statement.until.never")
    return say(f"statement.until.{metric.window}", day=say.date(metric.expires))


def _public(metric: Metric, say: Sentences) -> Iterator[str]:
    if metric.strata:
        yield say("statement.public", strata="; ".join(map(escaped, metric.strata)))


def _kept(metric: Metric, say: Sentences) -> Iterator[str]:
    if metric.retention_days is not None:
        number = "one" if metric.retention_days == 1 else "other"
        days = say(f"statement.days.{number}", days=metric.retention_days)
        yield say(f"statement.kept.{metric.window}", days=days)


def _tells(metric: Metric) -> str:
    return "ran" if metric.fill is not None else TELLS[metric.kind.call]


def _on_disk(metric: Metric, say: Sentences) -> Iterator[str]:
    if metric.kind.always_persists:
        yield say("statement.disk.days")
    elif metric.persist:
        yield say(f"statement.disk.count.{metric.window}")
    if metric.channel.permanent_nanos:
        yield say("statement.disk.permanent")


def _one(metric: Metric, say: Sentences) -> Iterator[str]:
    share = truth_in_words(metric, say)
    if share is not None:
        yield say("statement.truth", share=share)
    ratio, but = one_report(metric, say)
    yield say("statement.answer", odds=ratio, share=bet_in_words(metric.channel.worst_ratio, say), but=but)


def _yearly(registry: Registry, metric: Metric, say: Sentences) -> Iterator[str]:
    reports, alone = (yearly_reports(registry, metric, alone=alone) for alone in (False, True))
    year = MetricReports(metric, reports)
    yield say("statement.year", reports=reports, outcome=outcome(year.any_nanos, year.chance_beyond, say))
    if alone > reports:
        left_out = outcome(MetricReports(metric, alone).any_nanos, PURE, say)
        yield say("statement.left_out", reports=alone, outcome=left_out)


def _together(budget: Budget, totals: dict[Horizon, str], say: Sentences) -> Iterator[str]:
    life = "storage" if budget.may_be_wiped else "life"
    horizons = [each for each in Horizon if each is not Horizon.MONTH or budget.window is not WindowKind.MONTH]
    for horizon in horizons:
        period = {Horizon.WINDOW: budget.window.value, Horizon.LIFE: life}.get(horizon, horizon.value)
        yield say(f"statement.together.{period}", outcome=totals[horizon])
    if budget.may_be_wiped:
        yield say(f"statement.wiped.{budget.window}")
    if budget.strategy is Strategy.SAMPLE:
        yield say(f"statement.sampled.{budget.window}", answers=budget.answers or 0)
    if budget.strategy is Strategy.PACE:
        yield say(f"statement.paced.{budget.window}")
    yield say(f"statement.limit.web.{budget.window}" if budget.may_be_wiped else "statement.limit.device")


def _read_and_erase(budget: Budget, folder: str, say: Sentences) -> Iterator[str]:
    read, erase = (f"    {command} {shlex.quote(folder)}\n" for command in COMMANDS)
    yield f"## {say('statement.erase.title')}\n"
    yield from (
        _paragraph(say("statement.erase.list", folder=folder)),
        read,
        _paragraph(say("statement.erase.how")),
        erase,
    )
    yield _paragraph(say("statement.erase.stays"))
    if budget.may_be_wiped:
        yield _paragraph(say("statement.erase.browser"))


WEAK: Final = 4
"""A report is called weak evidence if its odds are at most this number to 1."""

STRONG: Final = 99
"""A report is called strong evidence if its odds are above `WEAK` to 1 and at most this number to
1. A report with higher odds is called as good as the answer."""

PAIR: Final = 2
"""With this number of possible answers, odds of x to 1 mean that x of x + 1 reports are true. With
more possible answers, fewer reports are true."""

BETS: Final = 10
REPORTS: Final = 100
"""`BETS` and `REPORTS` are the usual denominators of probabilities in words, as in "7 in 10" bets
and "73 of 100" reports. If rounding to such a fraction would be too coarse, the denominator is
larger."""

ROUNDED_AWAY: Final = Fraction(1, 25)
"""The largest acceptable change of a probability by rounding to a multiple of 1/`BETS`."""


def evidence(metrics: Iterable[Metric], say: Sentences, written: Callable[[str], str] = str) -> str:
    """Return a sentence on how much a report about the metric with the largest epsilon reveals."""
    metric = max(metrics, key=lambda metric: metric.epsilon_nanos)
    ratio, title = metric.channel.worst_ratio, written(say.code("title", metric.name))
    strength = "weak" if ratio <= WEAK else "strong" if ratio <= STRONG else "known"
    is_pair = metric.channel.inputs <= PAIR and not metric.channel.permanent_nanos
    share = truth_in_words(metric, say) if is_pair else None
    if share is not None:
        return say(f"evidence.{strength}.truth", metric=title, share=share)
    but = but_rarely(metric.channel.chance_beyond(ratio), say)
    return say(f"evidence.{strength}.odds", metric=title, share=bet_in_words(ratio, say), but=but)


def truth_in_words(metric: Metric, say: Sentences) -> str | None:
    """Return the share of true reports, such as "73 of 100".

    Returns None if reports do not name answers.
    """
    chance = truth(metric)
    return None if chance is None else _share(chance, REPORTS, "share.reports", say, _nearest)


def truth(metric: Metric) -> Fraction | None:
    """Return the exact probability that a report is true; None if reports do not name answers.

    The probability is the same for every answer. Reports about numbers or sets do not name a single
    answer. Reports of a block design do not name an answer, either.
    """
    if not metric.kind.is_named or not metric.channel.last_step.says_truth:
        return None
    return metric.channel.probability(0, 0)


def bet_in_words(ratio: Fraction, say: Sentences) -> str:
    """Return in words the probability that equals odds of ``ratio`` to 1, such as "7 in 10".

    The probability is rounded up, because it limits what a report reveals.
    """
    return _share(ratio / (1 + ratio), BETS, "share.bets", say, ceil)


def but_rarely(chance: Fraction, say: Sentences) -> str:
    """Return in words how often a report exceeds the stated odds; empty if never."""
    return say("statement.but", often=floor(1 / chance)) if chance else ""


def _nearest(number: Fraction) -> int:
    return floor(number + Fraction(1, 2))


def _share(chance: Fraction, least: int, key: str, say: Sentences, rounded: Callable[[Fraction], int]) -> str:
    """Return a probability in words, as a multiple of 1/10, 1/100 and so on.

    The result is never 0 or 1.
    """
    whole = least
    while True:
        part = rounded(chance * whole)
        is_close = whole > BETS or abs(Fraction(part, whole) - chance) <= ROUNDED_AWAY
        if 0 < part < whole and is_close:
            return say(key, part=part, all=whole)
        whole *= 10
