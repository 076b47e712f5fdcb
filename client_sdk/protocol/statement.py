"""A page for users, made from the registry alone, in plain words.

It says what is asked, why, and what it can reveal.

Odds express the privacy loss: they are the odds that anyone who held even odds before can hold
afterwards.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.domain import (
    BYTES,
    Activity,
    Category,
    Count,
    Cross,
    CrossedModel,
    Filled,
    MeanByGroup,
    Model,
    Nearest,
    Subset,
    Text,
    Vector,
)
from client_sdk.protocol.domain.mean_by_group import LEAST_POINTS
from client_sdk.protocol.epsilon import NANOS, nanos_ceiling
from client_sdk.protocol.exact import exp_floor
from client_sdk.protocol.horizon import Horizon, MetricReports, chance_beyond, life_nanos, most_nanos, most_reports
from client_sdk.protocol.metric import Metric, Protects
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import WindowKind

CERTAIN_NANOS: Final = nanos_ceiling(Fraction(10**6))
"""Odds of a million to one are as good as knowing."""

TWO_DIGITS: Final = 10
"""Odds above it are printed without a decimal."""

SPECIAL: Final = re.compile(r"[\\`*_{}\[\]#|~!()$^]")
"""Characters with a meaning within a line of Markdown; ``<``, ``>`` and ``&`` become entities."""

HOW: Final = """\
Every answer is changed at random on your device before it leaves it. Nobody who
receives it can tell whether it is your true answer: only counts over many
devices mean anything. What follows says how much the answers of one device can
reveal all the same, at the very worst, to somebody who sees everything that it
sends. That an answer is sent at all can tell more: each question says what.
"""

BY_PURPOSE: Final = """\
## What you can agree to

You can agree to some purposes and not to others, and change your mind later.
Your device answers only questions whose purposes you have agreed to, all of
them. Of what you withdraw, nothing that waits is sent any more.
"""

READ_AND_ERASE: Final = """\
## Read and erase

Your device keeps a list of everything that left it. `DIR` is the folder in which
the application keeps it. To read it:

    hearsay-client show --data-dir DIR

To erase it (switch it off in the application, too):

    hearsay-client forget --data-dir DIR

Counts in which an answer of yours is already contained cannot be told apart any
more, and stay. So does what was spent, without any answer: as a sum, and for
each question only of the day, week or month that had not ended when it last ran.
"""


IN_A_BROWSER: Final = """\
In a browser, the page keeps that list, and can show it with a button that erases
it. A browser may delete what a page has stored, the list and the sum with it.
What is made anew reports nothing in the day, week or month in which it was made.
Another browser, profile or private window is another device.
"""


def statement(registry: Registry) -> str:
    """Return the page as Markdown.

    It is the same on every day: its year is any year, also of a device that has been reporting.
    """
    by_horizon = {horizon: most_nanos(registry, horizon) for horizon in Horizon}
    by_horizon[Horizon.LIFE] = life_nanos(registry)
    totals = {horizon: outcome(nanos, chance_beyond(registry, horizon)) for horizon, nanos in by_horizon.items()}
    yearly = {
        name: MetricReports(metric, most_reports(registry, metric, Horizon.YEAR))
        for name, metric in registry.metrics.items()
    }
    paid_once = [name for name, metric in registry.metrics.items() if metric.protects is Protects.PATTERN]
    parts = [
        f"# What {escaped(registry.app)} asks, and what it can learn\n",
        HOW,
        *_purposes(registry),
        *(_question(metric, yearly[name], by_horizon) for name, metric in registry.metrics.items()),
        "\n".join(["## Everything together\n", *_together(registry.budget, totals, paid_once), ""]),
        READ_AND_ERASE,
        *([IN_A_BROWSER] if registry.budget.may_be_wiped else []),
    ]
    return "\n".join(parts)


def escaped(text: str) -> str:
    """Return a text that Markdown and HTML show literally."""
    marked = SPECIAL.sub(r"\\\g<0>", text)
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def odds(nanos: float) -> str:
    """Return in words what a privacy loss makes of even odds.

    Args:
        nanos: the loss in billionths of epsilon.

    """
    if nanos >= CERTAIN_NANOS:
        return "more than a million to 1, which is as good as knowing"
    ratio = _printed(nanos)
    return f"at most {int(ratio):,} to 1" if ratio.denominator == 1 else f"at most {float(ratio):.1f} to 1"


def outcome(nanos: float | None, chance: Fraction) -> str:
    """Return in words what reports make of even odds, and how often that may be exceeded.

    Args:
        nanos: the loss in billionths of epsilon; None if there is no bound.
        chance: the most likely chance of a larger loss.

    """
    if nanos is None or (2 * chance > 1 and nanos < CERTAIN_NANOS):
        return "there is no bound"
    return f"even odds become {odds(nanos)}{_but(nanos, chance)}"


def one_report(metric: Metric, when: str = "") -> str:
    """Return in words what one report makes of even odds, and how often that is exceeded."""
    nanos = metric.epsilon_nanos
    return f"{odds(nanos)}{when}{_but(nanos, metric.chance_beyond(_printed(nanos)))}"


def _printed(nanos: float) -> Fraction:
    """Return the odds to one that stand on the page."""
    # the charge is rounded up by a billionth; ln 3 is 3 to 1
    ratio = exp_floor(Fraction(nanos) / NANOS) * (1 - Fraction(1, 10**8))
    return Fraction(math.ceil(ratio)) if ratio > TWO_DIGITS else Fraction(math.ceil(ratio * 10), 10)


def _but(nanos: float, chance: Fraction) -> str:
    """Return how often the odds are exceeded. Nothing exceeds odds that are as good as knowing."""
    if not chance or nanos >= CERTAIN_NANOS:
        return ""
    return f", except with a chance of 1 in {math.floor(1 / chance):,}"


def _purposes(registry: Registry) -> Iterator[str]:
    """Yield what users can agree to, and the questions of each purpose, if any question has one."""
    names: dict[str, list[str]] = {}
    for name, metric in registry.metrics.items():
        names.setdefault(" and ".join(sorted(metric.consent)) or "everything", []).append(name)
    if any(metric.consent for metric in registry.metrics.values()):
        lines = [
            f"* {escaped(purposes)}: {escaped(', '.join(questions))}" for purposes, questions in sorted(names.items())
        ]
        yield "\n".join([BY_PURPOSE, *lines, ""])


def _question(metric: Metric, year: MetricReports, by_horizon: dict[Horizon, int | None]) -> str:
    afterwards = one_report(metric, " afterwards")
    lines = [
        f"## {escaped(metric.name)}\n",
        f"* Why it is asked: {escaped(metric.purpose)}",
        f"* Who answers for it: {escaped(metric.owner) if metric.owner else 'nobody is named'}",
        f"* How often: at most once a {metric.window}, {_until(metric)}",
        *_others(metric),
        *_public(metric),
        *_kept(metric),
        *_answered(metric),
        *_sent(metric),
        *_on_disk(metric),
        f"* One answer: whoever held even odds on it before holds {afterwards}",
        *_yearly(metric, year, by_horizon[Horizon.YEAR]),
    ]
    return "".join(f"{line}\n" for line in lines)


def _until(metric: Metric) -> str:
    if metric.expires is None:
        return "without an end"
    if metric.window is WindowKind.DAY:
        return f"until {metric.expires}"
    return f"until the end of the {metric.window} that holds {metric.expires}"


def _others(metric: Metric) -> Iterator[str]:
    domain = metric.domain.answered if isinstance(metric.domain, Filled) else metric.domain
    for part in (domain.first, domain.second) if isinstance(domain, Cross | MeanByGroup) else (domain,):
        if isinstance(part, Category | Subset) and part.other is not None:
            counted = f"counts as “{escaped(part.other)}”"
            yield f"* An answer that is not on the list {counted}, and its text stays on your device"
        if isinstance(part, Text) and part.other is not None:
            yield f"* A letter other than {escaped(part.letters)} counts as “{escaped(part.other)}”"


def _public(metric: Metric) -> Iterator[str]:
    if metric.strata:
        names = "; ".join(escaped(name) for name in metric.strata)
        yield f"* What is sent with it openly and unchanged: which of these holds for your device: {names}; or none"


def _kept(metric: Metric) -> Iterator[str]:
    if metric.retention_days is not None:
        days = "one day" if metric.retention_days == 1 else f"{metric.retention_days:,} days"
        yield f"* How long the counts are kept: {days} after no more answers are taken for a {metric.window}"


def _answered(metric: Metric) -> Iterator[str]:
    domain = metric.domain.answered if isinstance(metric.domain, Filled) else metric.domain
    if isinstance(domain, Nearest):
        nearest = f"which of {domain.size} labels is nearest to something of yours"
        yield f"* What is answered: {nearest}, which stays on the device"
    if isinstance(domain, Model | CrossedModel):
        features = ", ".join(map(escaped, domain.observation.names[:-1]))
        yield f"* What it is about: {features}; and what they are to predict"
    if isinstance(domain, CrossedModel):
        drawn = "one of these, drawn by chance, together with what is to be predicted"
        yield f"* What is answered: {drawn}; the others stay on the device"
    elif isinstance(domain, Vector):
        direction = f"one direction, drawn by chance, in which a list of {domain.length} numbers rather points than not"
        yield f"* What is answered: {direction}; the numbers stay on the device"
    if isinstance(domain, Text):
        yield from _of_text(metric, domain)
    if isinstance(domain, MeanByGroup):
        group, number = map(escaped, domain.names)
        points = "the ends of its range" if domain.points == LEAST_POINTS else f"{domain.points} points of its range"
        yield f"* What is answered: {group} and {number} together; {number} is first rounded by chance to {points}"
    if isinstance(metric.domain, Activity):
        last = f"the {metric.domain.high} days that end with a {metric.window}"
        yield f"* What is answered: on how many of {last} the application was used"


def _sent(metric: Metric) -> Iterator[str]:
    """Yield what the existence of a report reveals, whatever its symbol is."""
    window = metric.window
    if metric.fill is not None:
        what = f"that the application ran in that {window}, and nothing else"
    elif isinstance(metric.domain, Activity):
        what = f"that the application was used in that {window}"
    elif isinstance(metric.domain, Count):
        what = f"that something was counted in that {window}. Where nothing is counted, nothing is sent"
    else:
        what = f"that the application recorded something for it in that {window}, which may depend on what you did"
    yield f"* What an answer tells by being sent: {what}"


def _on_disk(metric: Metric) -> Iterator[str]:
    """Yield what of the true answers stands on the disk of the device."""
    kept = "* What your device keeps for that"
    if isinstance(metric.domain, Activity):
        yield f"{kept}: the days themselves, until they are counted no more or you opt out"
    elif metric.persist:
        first = f"the application first runs after the {metric.window}"
        yield f"{kept}: the count itself, until {first}, or you opt out"
    if metric.permanent_nanos:
        yield f"{kept}: what shows to whoever reads it which answers you gave, until you opt out"


def _of_text(metric: Metric, domain: Text) -> Iterator[str]:
    """Yield what of a text is answered, and what stands in a report in the clear."""
    unit = "bytes" if domain.letters == BYTES else "letters"
    cells, beginning = metric.channel.inputs, f"the first {domain.max_length} {unit} of a text"
    which = beginning if domain.max_items == 1 else f"{beginning}, drawn by chance from at most {domain.max_items}"
    yield f"* What is answered: {which}; the text itself stays on the device"
    yield f"* What leaves it: a number that other texts can have, too; it is one of {cells:,}, and changed at random"
    groups = len(domain.groups(cells))
    yield f"* What is sent with it openly: which of {groups} ways to number texts was drawn. That says nothing of yours"
    thought_of = "how common a text is that somebody thinks of"
    if domain.discover:
        yield f"* What can be found: texts that many people have in common, and {thought_of}"
        yield "* A text of one person alone can be found by mere chance only, like a text that nobody has"
    else:
        yield f"* What can be found: {thought_of}. No text is read from the answers"


def _yearly(metric: Metric, year: MetricReports, everything: int | None) -> Iterator[str]:
    if metric.charge_nanos and everything is not None:  # the ceilings allow no more
        paid_for = everything // metric.charge_nanos
        year = MetricReports(metric, paid_for if year.reports is None else min(year.reports, paid_for))
    reports = "" if year.reports is None else f" (at most {year.reports})"
    what = "whatever your answers were" if metric.permanent_nanos else "taken together"
    yield f"* A year of answers{reports}, {what}: {outcome(year.any_nanos, year.chance_beyond)}"
    if year.pattern_nanos < year.any_nanos:
        equal = f"which {metric.window}s had the same answer"
        yield f"* A year of answers, for somebody who knew before {equal}: even odds become {odds(year.pattern_nanos)}"
        yield f"* {equal.capitalize()} is not protected: it can be found out in time"
    if metric.reserve_nanos:
        again = "you opt out and in again, or another version of the application asks in another way"
        yield f"* Your device draws its answers anew when {again}: what a year reveals then counts again"


def _together(budget: Budget, totals: dict[Horizon, str], paid_once: Sequence[str]) -> Iterator[str]:
    storage = "one storage of the browser lasts" if budget.may_be_wiped else "the device reports"
    words = {
        Horizon.WINDOW: f"A {budget.window}",
        Horizon.MONTH: "A month",
        Horizon.YEAR: "A year",
        Horizon.LIFE: f"As long as {storage}",
    }
    for horizon, word in words.items():
        yield f"* {word}, all answers to all questions: {totals[horizon]}"
    if budget.may_be_wiped:
        periods = f"{budget.window.capitalize()}, month and year"
        yield f"* {periods} are those of a browser that deletes its storage all the time"
    if budget.strategy is Strategy.SAMPLE:
        yield f"* In each {budget.window} at most {budget.answers} of the questions are answered, drawn by chance"
    if budget.strategy is Strategy.PACE:
        yield f"* Not every {budget.window} is answered, so that what is allowed lasts until the last question ends"
    if paid_once:
        named = ", ".join(map(escaped, paid_once))
        yield f"* For {named} the device adds up one sum with the first answer, and nothing for later ones"
        yield "* When it draws these answers anew, it adds up another sum, which the first three lines do not count"
    yield "* The device itself adds up what it has given away, and stays silent when its limit is reached"
