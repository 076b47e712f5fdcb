"""How a report shows central epsilons: beside each of them stands what it assumes."""

from __future__ import annotations

from typing import Any

from estimator.render.words import short_loss
from estimator.results.central import ASSUMPTION, Central
from estimator.results.metric import MetricEstimate
from estimator.results.report import Composed
from estimator.text import plural

FOOTNOTE = """\
central epsilon: what the answer of a device loses, if of all reports only the
tallies of closed windows are published, and if those counted are honest.
"""


def line_of(estimated: MetricEstimate) -> str:
    """Return the line of a tally; empty where there is no central epsilon."""
    if estimated.central is None:
        return ""
    return f"  {estimated.window.text}: {_words(estimated.central)}, if only tallies are public"


def composed_lines(composed: tuple[Composed, ...]) -> str:
    """Return a line for each window on its tallies together."""
    return "".join(
        f"{one.window.text}, {plural(one.tallies, 'tally', 'tallies')} together: "
        f"{'nothing holds at this delta' if one.central is None else _words(one.central)}\n"
        for one in composed
    )


def document_of(central: Central | None) -> dict[str, Any] | None:
    """Return what JSON holds of a central epsilon."""
    if central is None:
        return None
    return {"delta": central.delta, "epsilon": central.epsilon, "assumes": ASSUMPTION}


def _words(central: Central) -> str:
    return f"central epsilon {short_loss(central.epsilon)} at delta {short_loss(central.delta)}"
