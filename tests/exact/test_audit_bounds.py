"""The bounds of the audit hold, by exact sums of the binomial law."""

from __future__ import annotations

import math

import pytest

from estimator.audit.attack import LEAST_OBSERVATIONS, detectable, level_of, lower_bound, provable, upper_bound
from tests.support.core.tables import for_each

LEVELS = (1e-2, 1e-6, level_of(1000))
N = (1, 7, 60, 500, 3000)


def log_probability(count: int, n: int, truth: float) -> float:
    choices = math.lgamma(n + 1) - math.lgamma(count + 1) - math.lgamma(n - count + 1)
    return choices + count * math.log(truth) + (n - count) * math.log1p(-truth)


def law(n: int, truth: float) -> list[float]:
    return [math.exp(log_probability(count, n, truth)) for count in range(n + 1)]


def counts(n: int) -> list[int]:
    """Few, few left, and between; also on both sides of where the approximation begins."""
    return sorted({count for count in (1, 2, 19, 20, 21, 22, 40, n // 7, n // 2, n - 21, n - 20, n) if 1 <= count <= n})


@for_each("level", LEVELS)
@for_each("n", N)
def test_a_bound_is_missed_as_rarely_as_it_says_and_hardly_more_rarely(n: int, level: float) -> None:
    for count in counts(n):
        bound = lower_bound(count, n, level)
        assert 0 < bound <= count / n
        at_least = math.fsum(math.exp(log_probability(more, n, bound)) for more in range(count, n + 1))
        assert at_least <= level
        wider = lower_bound(count, n, level * 0.95)
        assert wider < bound
        at_least = math.fsum(math.exp(log_probability(more, n, bound)) for more in range(count, n + 1))
        assert at_least > 0.95 * level


@pytest.mark.parametrize("level", LEVELS)
def test_bounds_are_mirrored_and_rise_with_the_count(level: float) -> None:
    n = 60
    lows = [lower_bound(count, n, level) for count in range(n + 1)]
    highs = [upper_bound(count, n, level) for count in range(n + 1)]
    assert lows[0] == 0
    assert highs[n] == 1
    assert lows == sorted(set(lows))
    assert highs == [1 - low for low in reversed(lows)]


@pytest.mark.parametrize(("epsilon", "truth"), [(math.log(3), 0.75), (1.0, 0.2), (0.1, 0.52)])
@pytest.mark.parametrize("level", [0.05, 0.005])
def test_a_right_device_is_accused_as_rarely_as_it_says(epsilon: float, truth: float, level: float) -> None:
    """Whatever the event: both counts are summed over, at the very limit of the claim."""
    n = 60
    first, second = law(n, truth), law(n, truth * math.exp(-epsilon))
    accused = math.fsum(
        chance * other_chance
        for count, chance in enumerate(first)
        for other, other_chance in enumerate(second)
        if provable(count, other, n, level) > epsilon
    )
    assert accused <= 2 * level


def test_delta_is_allowed_for() -> None:
    n, level = 500, 1e-3
    assert provable(300, 30, n, level, delta=0.05) < provable(300, 30, n, level)
    assert provable(20, 0, n, level, delta=0.2) == 0
    assert detectable(20, n, level, epsilon=1.0, delta=0.2) is None


@pytest.mark.parametrize("epsilon", [0.0, 0.5, math.log(3), 2.0])
def test_the_excess_that_would_be_detected_is_proved_every_other_time(epsilon: float) -> None:
    n, level, hits = 1000, level_of(50), 700
    excess = detectable(hits, n, level, epsilon, 0.0)
    assert excess is not None
    few = law(n, hits / n * math.exp(-epsilon - excess))
    proved = math.fsum(
        chance for count, chance in enumerate(few) if chance and provable(hits, count, n, level) > epsilon
    )
    one_step = max(few)
    assert 0.5 - one_step <= proved <= 0.5 + one_step


def test_no_excess_is_promised_where_n_proves_none() -> None:
    assert detectable(LEAST_OBSERVATIONS, LEAST_OBSERVATIONS, level_of(1), epsilon=1.0, delta=0.0) is None
