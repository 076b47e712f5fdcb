"""The drawings of the README and of the concepts."""

from __future__ import annotations

import math

from client_sdk.protocol import GRACE_S
from collector.config import DAY_S
from tools.figures.canvas import Canvas

REPORTS, YES = 1000, 400
KEEP = 3 / 4
"""The chance that a device reports the truth at epsilon ln 3; else it reports the contrary."""

NORMAL_95 = 1.96


def overview() -> str:
    """Return the way of an answer, from the device to the report."""
    drawn = Canvas(900, 200, "An answer is perturbed on the device, counted by the collector, and estimated from there")
    share = YES / REPORTS
    estimate = (share - (1 - KEEP)) / (2 * KEEP - 1)
    wide = NORMAL_95 * math.sqrt(share * (1 - share) / REPORTS) / (2 * KEEP - 1)
    known = f"{estimate:.0%} say yes ({estimate - wide:.0%} to {estimate + wide:.0%})"
    drawn.box((20, 30, 240, 100), ("device: the SDK", "“yes”  →  coins  →  “no”", "a ledger pays for it"), "ours")
    counted = f"no: {REPORTS - YES}   yes: {YES}"
    drawn.box((330, 30, 240, 100), ("service: the collector", "counts each report once", counted), "ours")
    drawn.box((640, 30, 240, 100), ("job: the estimator", "takes the noise out", known), "ours")
    drawn.line("M260 80H328")
    drawn.line("M570 80H638")
    drawn.words((140, 160), "only a randomized answer leaves", "small")
    drawn.words((450, 160), "only perturbed reports, as counts", "small")
    drawn.words((760, 160), "what is true of who takes part", "small")
    return drawn.svg()


def ledger() -> str:
    """Return the life of a device's ledger."""
    drawn = Canvas(900, 430, "A ledger's life: a charge before each report, ceilings, opting out and in")
    drawn.box((20, 20, 200, 80), ("first consent", "the file, a secret,", "no charges"))
    drawn.box((290, 20, 240, 80), ("an answer is recorded", "is there a report of this", "window already?"))
    drawn.box((620, 20, 260, 80), ("charge", "window, month and lifetime", "have room for epsilon?"), "ours")
    drawn.box((620, 170, 260, 80), ("report queued", "charge and report are written", "in one step"), "ours")
    drawn.box((290, 170, 240, 80), ("sent", "at a random instant,", "again until there is a verdict"))
    drawn.box((20, 170, 200, 80), ("next window", "a new period; lifetime", "goes on adding up"))
    drawn.box((620, 320, 260, 80), ("out of budget", "nothing is queued any more,", "whatever the answer is"), "late")
    drawn.box(
        (20, 320, 510, 80),
        ("opting out", "queue, history and secret are wiped;", "charges stay, so opting in again renews nothing"),
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
    """Return the life of a window as a timeline."""
    days = GRACE_S // DAY_S
    drawn = Canvas(900, 270, f"A window takes reports until {days} days after its end, then closes for good")
    drawn.box((40, 60, 380, 60), ("the window: one ISO week", "devices record answers of this week"), "ours")
    drawn.box((420, 60, 200, 60), (f"grace: {days} days", "late reports still count"), "late")
    drawn.box((620, 60, 240, 60), ("closed", "the tally never changes"))
    drawn.line("M40 150H870")
    for left, words in ((40, "Monday 00:00 UTC"), (420, "next Monday"), (620, "Thursday 00:00 UTC")):
        drawn.line(f"M{left} 142V158", tip=False)
        drawn.words((left, 178), words, "small", "start" if left == 40 else "middle")  # noqa: PLR2004 the left edge
    drawn.words((230, 40), "preliminary looks, hourly at most", "small")
    drawn.words((740, 40), "reports are read; late ones are refused", "small")
    drawn.words(
        (40, 215),
        "An upload's id is remembered until a day after its last window closed, so that it counts once.",
        "small",
        "start",
    )
    drawn.words(
        (40, 240),
        "“close” ends a window early: later reports are refused, although devices have paid for them.",
        "small",
        "start",
    )
    return drawn.svg()
