"""The drawings of the README and of the concepts."""

from __future__ import annotations

import random
from typing import Final, NamedTuple

import estimator
from client_sdk.protocol import GRACE_S, Registry, Window
from client_sdk.testing import SeededCoins
from collector.config import DAY_S
from estimator.render.rounding import percent
from estimator.tallies import Tally
from tools.figures.canvas import COLUMNS, Canvas

ONE_METRIC: Final = """
schema = 1
[app]
name = "picture"
owner = "picture@example.com"
[budget]
per_window = 2
lifetime = 2
[metric.dark_mode]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = "ln 3"
"""
SEED: Final = 1
PEOPLE: Final = 1000
YES: Final = 300
"""The number of people with the true answer yes in the drawing."""

LAST_ROW: Final = range(PEOPLE - COLUMNS, PEOPLE)
"""The people in the last row of the grid. The arrow from one answer starts in this row."""

PERCENT: Final = 4
"""The length of one percent in the drawing of the estimate, in pixels."""


class Asked(NamedTuple):
    """The answers of a thousand people, and the estimated share of yes.

    ``sent`` contains the reported answers, 1 for yes. ``keep`` is the probability of a true report.
    """

    answers: list[int]
    sent: list[int]
    keep: float
    estimate: float
    low: float
    high: float


def asked() -> Asked:
    """Simulate the reports of all people with the SDK and seeded coins, and estimate the share."""
    registry = Registry.parse(ONE_METRIC)
    metric = registry.metric("dark_mode")
    coins = SeededCoins(SEED)
    yes = set(random.Random(SEED).sample(range(PEOPLE), YES))  # noqa: S311 of a picture
    answers = [int(person in yes) for person in range(PEOPLE)]
    sent = [metric.perturb(bool(answer), coins) for answer in answers]
    counts = [sent.count(symbol) for symbol in (0, 1)]
    tally = Tally("dark_mode", metric.edition, Window.parse("2026-11-20"), closed=True, reports=PEOPLE, counts=counts)
    estimates = estimator.estimate(registry, [tally]).metrics[0].estimates or ()
    (figure,) = (each for each in estimates if each.value is True)
    assert figure.estimate is not None  # noqa: S101 there are reports
    keep = float(metric.channel.probability(1, given=1))
    return Asked(answers, sent, keep, figure.estimate, figure.low, figure.high)


def overview() -> str:
    """Return the drawing of answers on their way from devices into a report."""
    drawn = Canvas(920, 320, "One person's yes becomes no; a thousand of them become a bar with an interval")
    known = asked()
    shown = percent(known.estimate, known.low, known.high, figures=1)
    one = next(person for person in LAST_ROW if known.answers[person] > known.sent[person])
    for left, name, words in (
        (20, "A thousand people", f"{YES} of them use dark mode"),
        (330, "What their devices send", f"{sum(known.sent)} of 1,000 say yes"),
        (644, "What the report says", f"{shown.estimate}% use dark mode ({shown.low}% to {shown.high}%)"),
    ):
        drawn.words((left, 26), name, "name", "start")
        drawn.words((left, 46), words, "small", "start")
    for left, people, words in ((20, known.answers, "one person: “yes”"), (330, known.sent, "leaves as “no”")):
        x, y = drawn.people((left, 60), people, one)
        drawn.line(f"M{x:g} {y + 6:g}V242", "one", tip=False)
        drawn.words((round(x), 260), words)
    drawn.line("M288 140H322")
    drawn.line("M598 140H634")
    _bar(drawn, (644, 140), known)
    reversed_in = round(1 / (1 - known.keep))
    drawn.words(
        (20, 300),
        f"A device sends the opposite of its answer with probability 1/{reversed_in}. "
        "The report knows this probability and corrects for it.",
        "small",
        "start",
    )
    return drawn.svg()


def _bar(drawn: Canvas, place: tuple[int, int], known: Asked) -> None:
    left, middle = place
    low, high, truth = (left + PERCENT * 100 * share for share in (known.low, known.high, YES / PEOPLE))
    drawn.bar((left, middle - 22, round(PERCENT * 100 * known.estimate), 44))
    drawn.line(f"M{low:g} {middle}H{high:g}M{low:g} {middle - 9}v18M{high:g} {middle - 9}v18", "heavy", tip=False)
    drawn.line(f"M{truth:g} {middle - 44}v88", "dashed", tip=False)
    drawn.words((round(truth), middle - 52), f"true: {YES / PEOPLE:.0%}", "small")
    drawn.line(f"M{left} {middle + 60}h{60 * PERCENT}", tip=False)
    for tick in (0, 20, 40, 60):
        drawn.line(f"M{left + PERCENT * tick} {middle + 56}v8", tip=False)
        drawn.words((left + PERCENT * tick, middle + 82), f"{tick}%", "small")


def ledger() -> str:
    """Return the drawing of a device's ledger: its contents and the times of its changes."""
    drawn = Canvas(900, 430, "A ledger's life: a charge before each report, ceilings, opting out and in")
    drawn.box((20, 20, 200, 80), ("first consent", "the file, a secret,", "no charges"))
    drawn.box((290, 20, 240, 80), ("an answer is recorded", "is there a report of this", "window already?"))
    drawn.box((620, 20, 260, 80), ("charge", "window, month and lifetime", "have room for epsilon?"), "ours")
    drawn.box((620, 170, 260, 80), ("report queued", "charge and report are written", "in one step"), "ours")
    drawn.box((290, 170, 240, 80), ("sent", "at a random time, and again", "until the collector answers"))
    drawn.box((20, 170, 200, 80), ("next window", "a new period; lifetime", "goes on adding up"))
    drawn.box((620, 320, 260, 80), ("out of budget", "nothing more is recorded,", "whatever the answer is"), "late")
    drawn.box(
        (20, 320, 510, 80),
        ("opting out", "queue, history and secret are wiped;", "charges stay, so opting in again renews no budget"),
        "late",
    )
    for path in ("M220 60H288", "M530 60H618", "M750 100V168", "M620 210H532", "M290 210H222", "M120 170V135H350V102"):
        drawn.line(path)
    drawn.line("M880 60H892V360H882", "dashed")
    drawn.line("M400 250V318", "dashed")
    drawn.words((758, 140), "yes", "small", "start")
    drawn.words((884, 150), "no", "small", "end")
    drawn.words((408, 290), "at any time", "small", "start")
    return drawn.svg()


def windows() -> str:
    """Return the drawing of a window's phases, as a timeline."""
    days = GRACE_S // DAY_S
    drawn = Canvas(900, 270, f"A window takes reports until {days} days after its end, then closes for good")
    drawn.box((40, 60, 380, 60), ("the window: one ISO week", "devices record answers of this week"), "ours")
    drawn.box((420, 60, 200, 60), (f"grace: {days} days", "late reports still count"), "late")
    drawn.box((620, 60, 240, 60), ("closed", "the tally never changes"))
    drawn.line("M40 150H870")
    for left, words in ((40, "Monday 00:00 UTC"), (420, "next Monday"), (620, "Thursday 00:00 UTC")):
        drawn.line(f"M{left} 142V158", tip=False)
        drawn.words((left, 178), words, "small", "start" if left == 40 else "middle")  # noqa: PLR2004 the left edge
    drawn.words((230, 40), "preliminary reports, at most hourly", "small")
    drawn.words((740, 40), "final reports; late answers are refused", "small")
    drawn.words(
        (40, 215),
        "The collector remembers an upload's id until a day after its last window has closed, and counts it once.",
        "small",
        "start",
    )
    drawn.words(
        (40, 240),
        "“store close” closes a window early. Devices that report later have paid for a report that is refused.",
        "small",
        "start",
    )
    return drawn.svg()
