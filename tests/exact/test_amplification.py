"""What a tally reveals of one report: never less than the enumeration finds, and hardly more."""

from __future__ import annotations

from itertools import pairwise

import pytest

from client_sdk.protocol import Channel
from estimator.privacy.amplification import composed, sampled, shuffled_delta, shuffled_epsilon
from tests.support.estimates.amplification_checks import (
    CHANNELS,
    LOCAL,
    check_channel,
    check_everything,
    check_exact,
    check_tails,
    divergence,
    exact_delta,
    local_epsilon_of,
    neighbors,
    sampled_law,
    tally_law,
    worst_divergence,
)
from tests.support.mutants.amplification import MUTANTS

PUBLISHED = [
    (10**4, 1.0, 0.05300, 1e-5),
    (10**5, 4.0, 0.16977, 1e-5),
    (10**6, 1.0, 0.004335, 1e-6),
    (10**6, 4.0, 0.04931, 1e-5),
]
"""Reports, local epsilon, the exact epsilon of the pair of clones at delta 10^-6, and the unit of
its last digit.
"""

MOST = {"randomized response": 5, "three values": 5, "geometry": 3}
"""How many reports of each channel are enumerated."""

DELTAS = (1e-12, 1e-6, 1e-3, 0.1)


@pytest.mark.parametrize(("reports", "local", "published", "unit"), PUBLISHED)
def test_the_published_figures_are_met_within_one_percent_and_never_from_below(
    reports: int, local: float, published: float, unit: float
) -> None:
    assert published - unit / 2 <= shuffled_epsilon(reports, local, 1e-6) <= 1.01 * published


@pytest.mark.parametrize("local", LOCAL)
@pytest.mark.parametrize("reports", range(1, 13))
def test_delta_is_that_of_the_enumeration_rounded_up(reports: int, local: float) -> None:
    check_exact(reports, local)


@pytest.mark.parametrize("local", [1.0, 3.0])
def test_the_tails_that_are_given_up_are_added(local: float) -> None:
    check_tails(60, local)


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("local", LOCAL)
def test_epsilon_is_rounded_up(local: float, delta: float) -> None:
    for reports in (1, 2, 7, 12, 60):
        epsilon = shuffled_epsilon(reports, local, delta)
        assert 0 <= epsilon <= local
        assert exact_delta(reports, local, epsilon) <= delta
        if epsilon > 0:
            assert exact_delta(reports, local, epsilon * (1 - 2**-19)) > delta * (1 - 2**-19)


@pytest.mark.parametrize(("name", "reports"), [(name, n) for name, most in MOST.items() for n in range(1, most + 1)])
def test_no_channel_reveals_more_than_the_bound(name: str, reports: int) -> None:
    check_channel(CHANNELS[name], reports)


def test_one_report_hides_among_none() -> None:
    for local in LOCAL:
        assert shuffled_epsilon(1, local, 0.0) == local
        # randomized response alone: p - e^epsilon (1 - p) with odds e^local
        for epsilon in (0.0, local / 2):
            alone = float(exact_delta(1, local, epsilon))
            assert shuffled_delta(1, local, epsilon) == pytest.approx(alone, rel=2**-38)


def test_made_up_reports_hide_nobody() -> None:
    assert shuffled_epsilon(10**4, 1.0, 1e-6, dishonest=10**3) == shuffled_epsilon(9 * 10**3, 1.0, 1e-6)
    assert shuffled_epsilon(10, 1.0, 0.0, dishonest=10) == shuffled_epsilon(10, 1.0, 0.0, dishonest=99) == 1.0


def test_epsilon_falls_with_reports_and_delta_and_rises_with_what_one_report_reveals() -> None:
    by_reports = [shuffled_epsilon(10**power, 2.0, 1e-6) for power in range(13)]
    by_local = [shuffled_epsilon(10**4, local, 1e-6) for local in (1e-6, 0.1, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 70.0)]
    by_delta = [shuffled_epsilon(10**4, 1.0, delta) for delta in (0.0, 1e-40, 1e-20, 1e-6, 1e-3, 0.5)]
    assert all(more >= fewer for more, fewer in pairwise(by_reports))
    assert all(less <= more for less, more in pairwise(by_local))
    assert all(sure >= unsure for sure, unsure in pairwise(by_delta))
    assert (by_delta[0], by_delta[-1]) == (1.0, 0.0)


@pytest.mark.parametrize("local", [64.0, 65.0, 1e3, 1e200])
def test_a_report_that_reveals_everything_is_not_amplified(local: float) -> None:
    assert shuffled_epsilon(10**9, local, 0.0) == local
    assert 0 < shuffled_epsilon(1000, local, 1e-6) <= local
    assert 0 < shuffled_delta(10**9, local, local / 2) <= 1


def test_what_several_tallies_reveal_together_is_at_most_the_sum() -> None:
    channel = CHANNELS["randomized response"]
    local, delta = local_epsilon_of(channel), 0.2
    epsilon = composed([(3, local), (2, local)], delta)
    assert 0 < epsilon < 2 * local
    for (first, second), (its, others) in zip(neighbors(channel, 3), neighbors(channel, 2), strict=False):
        both = [
            {a + b: p * q for a, p in tally_law(channel, x).items() for b, q in tally_law(channel, y).items()}
            for x, y in ((first, its), (second, others))
        ]
        assert divergence(both[0], both[1], epsilon) <= delta


def test_tallies_that_are_shuffled_apart_reveal_less_than_uploads_that_are_shuffled_whole() -> None:
    assert composed([(10**6, 1.0)] * 3, 1e-6) < shuffled_epsilon(10**6, 3.0, 1e-6)
    assert composed([(10**6, 1.0)], 1e-6) >= shuffled_epsilon(10**6, 1.0, 1e-6)


@pytest.mark.parametrize("taking_part", [1, 2, 3])
@pytest.mark.parametrize("name", ["randomized response", "three values"])
def test_who_took_part_is_hidden_as_the_theorem_says(name: str, taking_part: int) -> None:
    channel: Channel = CHANNELS[name]
    devices = 4
    for part in (0.0, 0.2, 0.6, 1.0):
        inner = part * local_epsilon_of(channel)
        within = float(worst_divergence(channel, taking_part, inner)) * (1 + 2**-50)
        epsilon, delta = sampled(inner, within, taking_part / devices)
        for first_answers, second_answers in neighbors(channel, devices):
            first, second = (sampled_law(channel, answers, taking_part) for answers in (first_answers, second_answers))
            assert divergence(first, second, epsilon) <= delta


def test_taking_part_for_certain_or_never_is_no_sampling_or_no_loss() -> None:
    assert sampled(1.0, 1e-6, 1.0) == (1.0, 1e-6)
    assert sampled(1.0, 1e-6, 0.0) == (0.0, 0.0)
    assert sampled(1e3, 1e-6, 0.5)[0] == 1e3


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: shuffled_epsilon(0, 1.0, 1e-6), "reports must be at least 1"),
        (lambda: shuffled_epsilon(5, 1.0, 1e-6, dishonest=-1), "0 or more dishonest"),
        (lambda: shuffled_epsilon(5, 0.0, 1e-6), "must be above 0"),
        (lambda: shuffled_epsilon(5, float("nan"), 1e-6), "must be above 0"),
        (lambda: shuffled_epsilon(5, 1.0, 1.5), "delta must be from 0 to 1"),
        (lambda: shuffled_delta(5, 1.0, -1.0), "epsilon must be at least 0"),
        (lambda: sampled(1.0, 0.0, 1.5), "rate must be from 0 to 1"),
    ],
)
def test_what_is_out_of_range_is_refused(call: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        call()  # type: ignore[operator] # what the list holds


def test_the_checks_accept_the_right_bound() -> None:
    check_everything()


@pytest.mark.parametrize("name", MUTANTS)
def test_the_checks_refuse(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[name](monkeypatch)
    with pytest.raises(AssertionError):
        check_everything()
