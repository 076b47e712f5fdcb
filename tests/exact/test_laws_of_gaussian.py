"""Gaussian noise on a grid: the law, and a delta that is enumerated over all pairs of inputs of the
true table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache, partial

import pytest

from client_sdk.protocol import COIN_SCALE, Channel
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.mechanisms import gaussian
from client_sdk.protocol.mechanisms.gaussian import CENTER_BITS, POINTS, STEPS_PER_CELL, Gaussian
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import exact_law_of_one_draw
from tests.support.laws.delta_checks import DELTA_CHECKS, ApproximateSubject, hockey_stick
from tests.support.laws.law_checks import Check, law, refuses
from tests.support.laws.noise import analytic_delta, discrete_gaussian, ends_of_noise, textbook_sigma
from tests.support.mutants.noise import of_gaussian

CELLS = POINTS - 1
REQUESTS = [
    *(("0.5", "0.01"), ("1", "0.01"), ("1", "1e-6"), ("2", "1e-3"), ("2", "1e-9")),
    *(("4", "1e-6"), ("8", "1e-4"), ("8", "1e-10"), ("20", "0.01"), ("20", "1e-9")),
]
RESOLVED = [*REQUESTS[:7], ("0.1", "1e-6")]
"""Parameters at which the smallest weight, 1, is negligible, so that the closed forms hold closely.
"""

SMALL = Gaussian(4, 5, (40, 33, 18, 7, 2, 1), Fraction(3))
MUTANTS = of_gaussian(SMALL)


@lru_cache
def within(epsilon: str, delta: str) -> Gaussian:
    return Gaussian.within(request(epsilon), Fraction(delta))


def steps_of(channel: Gaussian) -> int:
    """Return sigma in steps of the grid, from the ratio of the first two weights: e**(1 / (2
    sigma**2)).
    """
    return round(STEPS_PER_CELL / math.sqrt(2 * math.log(channel.weights[0] / channel.weights[1])))


def of_steps(steps: int, delta: str, odds: Fraction) -> Gaussian:
    weights = gaussian._weights(Fraction(steps, STEPS_PER_CELL), Fraction(delta), CELLS)
    return Gaussian(POINTS, len(weights) - 1, weights, odds)


def delta_of(channel: Gaussian, inputs: Iterable[int] | None = None) -> Fraction:
    """Return the delta over all pairs of inputs, or of some of them."""
    values = range(channel.inputs) if inputs is None else inputs
    rows = [[channel.weight(symbol, value) for symbol in range(channel.symbols)] for value in values]
    assert {sum(row) for row in rows} == {channel.total}
    return hockey_stick(rows, channel.total, channel.odds)


def delta_of_ends(channel: Gaussian) -> Fraction:
    """Return the delta of the two ends, which the delta over all pairs is not below."""
    return delta_of(channel, (0, channel.inputs - 1))


@for_each("check", DELTA_CHECKS)
def test_a_small_channel_obeys_every_law(check: Check) -> None:
    check(ApproximateSubject(SMALL, SMALL.odds, SMALL.delta))


def test_the_law_range_by_range_is_the_law_draw_by_draw() -> None:
    for value in range(SMALL.inputs):
        assert exact_law_of_one_draw(partial(SMALL.perturb, value), ends_of_noise(SMALL)) == law(SMALL, value)


@pytest.mark.parametrize(("epsilon", "delta"), REQUESTS)
def test_a_real_channel_has_its_declared_law_and_its_noise_is_symmetric(epsilon: str, delta: str) -> None:
    channel = within(epsilon, delta)
    assert channel.inputs == POINTS
    assert channel.symbols == POINTS + 2 * channel.reach
    assert channel.total <= COIN_SCALE
    rows = {}
    for value in (0, CELLS // 2 + 1, CELLS):
        observed = exact_law_of_one_draw(partial(channel.perturb, value), ends_of_noise(channel))
        assert sum(observed.values()) == 1
        rows[value] = [channel.probability(symbol, value) for symbol in range(channel.symbols)]
        assert observed == {symbol: chance for symbol, chance in enumerate(rows[value]) if chance}
    assert rows[0] == rows[CELLS][::-1]


@pytest.mark.parametrize(("epsilon", "delta"), REQUESTS)
def test_delta_over_all_pairs_of_inputs_is_as_declared_and_within_the_request(epsilon: str, delta: str) -> None:
    channel = within(epsilon, delta)
    assert channel.worst_ratio <= request(epsilon).odds
    assert delta_of(channel) == channel.delta <= Fraction(delta)


@pytest.mark.parametrize(("epsilon", "delta"), [("4", "0.01"), ("8", "1e-4"), ("20", "1e-9")])
def test_delta_of_what_is_drawn_for_every_input_is_as_declared(epsilon: str, delta: str) -> None:
    channel = within(epsilon, delta)
    laws = [exact_law_of_one_draw(partial(channel.perturb, x), ends_of_noise(channel)) for x in range(POINTS)]
    rows = [
        [int(symbol_law.get(symbol, Fraction(0)) * channel.total) for symbol in range(channel.symbols)]
        for symbol_law in laws
    ]
    assert hockey_stick(rows, channel.total, channel.odds) == channel.delta


@pytest.mark.parametrize(("epsilon", "delta"), REQUESTS)
def test_sigma_is_the_least_because_the_next_smaller_one_has_too_large_a_delta(epsilon: str, delta: str) -> None:
    channel = within(epsilon, delta)
    steps = steps_of(channel)
    assert of_steps(steps, delta, channel.odds) == channel
    assert delta_of_ends(of_steps(steps - 1, delta, channel.odds)) > Fraction(delta)


def shifted_beyond(channel: Gaussian, ratio: Fraction) -> Fraction:
    """Return the chance of a symbol of which two inputs differ by more than a ratio, enumerated."""
    columns = [[channel.weight(symbol, value) for value in range(channel.inputs)] for symbol in range(channel.symbols)]
    beyond = [column for column in columns if max(column) > ratio * min(column)]
    return Fraction(max(sum(row) for row in zip(*beyond, strict=True)), channel.total)


@pytest.mark.parametrize(("epsilon", "delta"), REQUESTS)
def test_the_chance_of_more_than_a_ratio_is_that_of_the_true_table_and_no_smaller_than_delta(
    epsilon: str, delta: str
) -> None:
    channel = within(epsilon, delta)
    for ratio in (channel.worst_ratio, channel.worst_ratio * Fraction(11, 10)):
        assert channel.chance_beyond(ratio) == shifted_beyond(channel, ratio)
    assert channel.chance_beyond(channel.worst_ratio) >= channel.delta


def test_without_its_delta_no_epsilon_would_hold() -> None:
    channel = within("1", "1e-6")
    assert channel.probability(0, 0) > 0
    assert channel.probability(0, CELLS) == 0


@for_each("epsilon", ["0.5", "1", "2", "4", "8", "20"])
def test_a_report_is_charged_what_was_asked_for(epsilon: str) -> None:
    requested = Decimal(epsilon) * 10**9
    assert epsilon_nanos(within(epsilon, "0.01")) == requested


@pytest.mark.parametrize(("epsilon", "delta"), RESOLVED)
def test_the_law_is_the_discrete_gaussian_but_for_rounding(epsilon: str, delta: str) -> None:
    """Every weight is within 1 of c g, and what is cut off is known: e = places + the cut one's
    weight in all.

    A weight w is within e of c g, the total T within e of c G, so |w / T - g / G| <= 2 e / T.
    """
    channel = within(epsilon, delta)
    sigma = Fraction(steps_of(channel), STEPS_PER_CELL)
    exact, beyond = discrete_gaussian(sigma, channel.reach)
    bound = 2 * (2 * channel.reach + 1 + beyond * channel.total) / channel.total
    observed = [Fraction(weight, channel.total) for weight in channel.weights]
    assert max(abs(a - b) for a, b in zip(observed, exact, strict=True)) <= bound
    wrong, _ = discrete_gaussian(sigma + Fraction(1, STEPS_PER_CELL), channel.reach)
    assert max(abs(a - b) for a, b in zip(observed, wrong, strict=True)) > bound, "the bound tells a step of sigma"


def slack_of(channel: Gaussian, delta: Fraction) -> float:
    """Return by how much delta may differ from that of continuous noise of the same sigma.

    Delta is the sum over places of f = max(0, P - odds P'), continuous noise has the integral. f
    rises once and falls once, so that sum and integral differ by no more than its variation, twice
    its maximum. Rounding moves a weight by at most 1, hence the probabilities of a row by 2 / T a
    place in all, as above: (1 + odds) times that. From a range before the cut on f is at most what
    P has there, a share of delta; so much again for what the cut takes from T.
    """
    table = [channel.weights[abs(place)] for place in range(-channel.reach, channel.reach + 1)]
    far = [*table[CELLS:], *[0] * CELLS]
    height = max(float(a - channel.odds * b) for a, b in zip(table, far, strict=True)) / channel.total
    rounding = (1 + channel.odds) * 2 * len(table) / channel.total
    return 2 * height + float(rounding + 2 * delta * gaussian.NEGLIGIBLE)


@pytest.mark.parametrize(("epsilon", "delta"), RESOLVED)
def test_sigma_is_that_of_the_analytic_gaussian_mechanism_to_a_step_of_the_grid(epsilon: str, delta: str) -> None:
    channel, requested = within(epsilon, delta), Fraction(delta)
    steps, slack = steps_of(channel), slack_of(channel, requested)
    below, at = ((steps - part) / STEPS_PER_CELL / CELLS for part in (1, 0))
    assert analytic_delta(float(epsilon), at) <= float(requested) + slack
    assert analytic_delta(float(epsilon), below) >= float(requested) - slack
    assert slack < float(requested), "the tolerance tells something"
    assert analytic_delta(float(epsilon), 0.95 * at) > float(requested) + slack, "a sigma a twentieth too small is told"


def test_the_analytic_delta_is_the_one_that_its_authors_define() -> None:
    """At epsilon 0 it is the total variation of two normals, erf(1 / (2 sqrt(2) sigma)); it falls
    with either.
    """
    for sigma in (0.3, 1.0, 7.5):
        exact = math.erf(1 / (2 * math.sqrt(2) * sigma))
        assert math.isclose(analytic_delta(0.0, sigma), exact, rel_tol=8 * math.ulp(1.0) / exact)
        assert analytic_delta(1.0, sigma) < analytic_delta(0.5, sigma) < analytic_delta(0.0, sigma)


@pytest.mark.parametrize(("epsilon", "delta"), [("0.5", "0.01"), ("1", "1e-6"), ("1", "0.01"), ("0.1", "1e-6")])
def test_the_textbook_would_add_more_noise(epsilon: str, delta: str) -> None:
    sigma = steps_of(within(epsilon, delta)) / STEPS_PER_CELL / CELLS
    assert textbook_sigma(float(epsilon), float(delta)) > sigma * 1.1


@pytest.mark.parametrize(("epsilon", "delta"), [("8", "1e-4"), ("20", "0.01")])
def test_beyond_epsilon_1_the_textbook_would_break_its_promise(epsilon: str, delta: str) -> None:
    steps = int(textbook_sigma(float(epsilon), float(delta)) * CELLS * STEPS_PER_CELL) + 1
    assert delta_of_ends(of_steps(steps, delta, request(epsilon).odds)) > Fraction(delta)


def test_noise_that_would_need_too_many_places_or_too_fine_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="too large for a tally; raise epsilon or delta"):
        Gaussian.within(request("0.001"), Fraction("1e-9"))
    with pytest.raises(ValueError, match="too small for noise with 64-bit probabilities; raise delta"):
        Gaussian.within(request("1"), Fraction(1, 2**CENTER_BITS))


def killers(channel: Channel) -> set[str]:
    subject = ApproximateSubject(channel, SMALL.odds, SMALL.delta)
    return {check.__name__ for check in DELTA_CHECKS if refuses(partial(check, subject))}


@for_each("name", MUTANTS)
def test_a_wrong_gaussian_is_refused_and_the_right_one_is_not(name: str) -> None:
    assert bool(killers(MUTANTS[name])) == (name != "none")


def test_every_check_kills_a_wrong_gaussian() -> None:
    narrower = Gaussian(4, 5, (60, 33, 12, 4, 1, 1), SMALL.odds)
    costlier = Gaussian(4, 5, SMALL.weights, SMALL.odds * 2)
    assert killers(narrower) == {"loss_is_within_the_request"}
    assert killers(costlier) >= {"declared_epsilon_covers_the_exact_epsilon", "loss_is_within_the_request"}
    wrong = [*MUTANTS.values(), narrower, costlier]
    assert len(wrong) > 10
    assert set.union(*map(killers, wrong)) == {check.__name__ for check in DELTA_CHECKS}
