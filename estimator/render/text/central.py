"""Central epsilons as text. Each stands beside what it assumes."""

from __future__ import annotations

from estimator.render.words import short_loss
from estimator.results.central import Central, Composed
from estimator.results.metric import MetricEstimate
from estimator.words import plural

FOOTNOTE = """\
central epsilon: what the answer of a device loses, if of all reports only the
tallies of closed windows are published, and if those counted are honest.
"""


def line_of(estimated: MetricEstimate) -> str:
    """Return the line of a tally, or an empty text where there is no central epsilon."""
    if estimated.central is None:
        return ""
    return f"  {estimated.window}: {_words(estimated.central)}, if only tallies are public"


def composed_lines(composed: tuple[Composed, ...]) -> str:
    """Return a line for each window on all of its tallies together."""
    return "".join(
        f"{window.window}, {plural(window.tallies, 'tally', 'tallies')} together: "
        f"{'nothing holds at this delta' if window.central is None else _words(window.central)}\n"
        for window in composed
    )


def _words(central: Central) -> str:
    return f"central epsilon {short_loss(central.epsilon)} at delta {short_loss(central.delta)}"
