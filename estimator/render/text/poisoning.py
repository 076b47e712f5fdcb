"""How a report shows what made-up reports could have done."""

from __future__ import annotations

from typing import Any

from estimator.results.poisoning import Fakes, RangeTest

FOOTNOTE = """\
made-up reports: down and up say how far at most they could have moved what is
estimated. The test asks whether any population could have produced the tally.
To pass proves nothing: liars who follow the protocol look like a population.
"""


def verdict_of(test: RangeTest) -> str:
    """Return what the test says, in words."""
    if test.is_impossible:
        return f"HARDLY any population makes such a tally (p = {test.p_value:.2g}): do not trust it"
    return f"some population could have made this tally (p = {test.p_value:.2g}), which proves nothing"


def document_of(fakes: Fakes) -> dict[str, Any]:
    """Return what JSON holds."""
    document: dict[str, Any] = {"fraction": fakes.fraction}
    if fakes.shares is not None:
        document["estimates"] = [{"value": value, "down": move.down, "up": move.up} for value, move in fakes.shares]
    if fakes.mean is not None:
        document["mean"] = {"down": fakes.mean.down, "up": fakes.mean.up}
    test = fakes.test
    figures = {"statistic": test.statistic, "p_value": test.p_value, "drawn": test.drawn}
    return {**document, "test": {**figures, "impossible": test.is_impossible}}
