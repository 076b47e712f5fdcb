"""The number of independent trials of a known probability, from how many of them succeeded."""

from __future__ import annotations

from collections.abc import Callable


def trials_interval(successes: int, probability: float, miss: float) -> tuple[int, int]:
    """Return the least and the greatest number of trials that make the successes not too unlikely.

    The interval inverts exact binomial tails, as that of Clopper & Pearson 1934 does for the
    probability: each end misses the truth with at most the probability ``miss``.

    Args:
        successes: their number.
        probability: of one success, above 0 and at most 1.
        miss: the probability of missing to one side, above 0.

    """
    if probability == 1:
        return successes, successes
    from scipy.special import betainc  # noqa: PLC0415 its import takes 250 ms, and few reports need it

    def at_least(least: int, trials: int) -> float:
        """Return the probability of at least so many successes."""
        return 1.0 if least <= 0 else float(betainc(least, trials - least + 1, probability)) if trials >= least else 0.0

    # the tails are monotone in the number of trials
    low = _first(lambda trials: at_least(successes, trials) > miss, successes)
    return low, _first(lambda trials: 1 - at_least(successes + 1, trials) <= miss, low) - 1


def _first(holds: Callable[[int], bool], least: int) -> int:
    """Return the first number from ``least`` on at which a monotone condition holds."""
    step = 1
    while not holds(least + step - 1):
        step *= 2
    below, above = least - 1, least + step - 1
    while above - below > 1:
        middle = (below + above) // 2
        if holds(middle):
            above = middle
        else:
            below = middle
    return above
