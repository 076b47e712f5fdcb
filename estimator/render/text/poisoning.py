"""What made-up reports could have done, as text."""

from __future__ import annotations

from estimator.results.poisoning import RangeTest

FOOTNOTE = """\
made-up reports: down and up say how far at most they could have moved each
estimate. The test asks whether any population could have produced the tally.
To pass proves nothing: liars who follow the protocol look like a population.
"""


def verdict_of(test: RangeTest) -> str:
    """Return the result of the test in words."""
    if test.impossible:
        return f"HARDLY any population makes such a tally (p = {test.p_value:.2g}): do not trust it"
    return f"no sign of made-up reports (p = {test.p_value:.2g}); this cannot rule them out"


def brief(test: RangeTest) -> str:
    """Return the result of the test in a few words."""
    return "the tally looks MADE UP" if test.impossible else "none proved"
