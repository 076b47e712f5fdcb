"""The exponential mechanism: small totals draw by draw, the real ones range by range, scales
and utility tables.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import accumulate, product

import pytest

from client_sdk.protocol import Channel
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.mechanisms import exponential
from client_sdk.protocol.mechanisms.catalogue import Utility
from client_sdk.protocol.mechanisms.exponential import MAX_VALUES, TOTAL, Exponential, by_distance
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import exact_law_of_one_draw
from tests.support.laws.law_checks import (
    CHANNEL_CHECKS,
    LEAST_USE_OF_EPSILON,
    Check,
    Subject,
    declared_epsilon_covers_the_exact_epsilon,
    refuses,
)
from tests.support.laws.utilities import ASYMMETRIC, TABLES, table_of
from tests.support.mutants.noise import of_tables

EPSILONS = ["0.000001", "0.01", "0.5", "1", "ln 3", "4", "12", "20"]


def declared(channel: Exponential, value: int) -> dict[int, Fraction]:
    return {symbol: channel.probability(symbol, value) for symbol in range(channel.symbols)}


def enumerated(channel: Exponential, value: int) -> dict[int, Fraction]:
    return exact_law_of_one_draw(partial(channel.perturb, value), [0, *accumulate(channel.weights[value])])


def obeys_its_laws(channel: Exponential, odds: Fraction) -> None:
    rows = [enumerated(channel, value) for value in range(channel.inputs)]
    for value, row in enumerate(rows):
        assert sum(row.values()) == 1
        assert row == declared(channel, value)
    worst = max(
        max(row[symbol] for row in rows) / min(row[symbol] for row in rows) for symbol in range(channel.symbols)
    )
    assert worst == channel.worst_ratio
    assert LEAST_USE_OF_EPSILON * odds <= worst <= odds
    declared_epsilon_covers_the_exact_epsilon(Subject(channel, odds))


@pytest.mark.long
@for_each("epsilon", EPSILONS)
def test_a_scale_obeys_every_law(epsilon: str) -> None:
    for values in (*range(2, 9), MAX_VALUES):
        channel = Exponential.within(request_of(epsilon), by_distance(values))
        assert channel.inputs == channel.symbols == values
        obeys_its_laws(channel, request_of(epsilon).odds)


@for_each(
    "name, epsilon", [pair for pair in product(TABLES, EPSILONS[1::2]) if pair != ("one value useful to all", "20")]
)
def test_a_table_of_utilities_obeys_every_law(name: str, epsilon: str) -> None:
    obeys_its_laws(Exponential.within(request_of(epsilon), TABLES[name]), request_of(epsilon).odds)


def request_of(epsilon: str) -> RequestedEpsilon:
    return RequestedEpsilon.parse(epsilon if epsilon.startswith("ln") else Decimal(epsilon))


def test_a_scale_is_symmetric_and_falls_with_the_distance() -> None:
    channel = Exponential.within(request("1"), by_distance(7))
    for value, row in enumerate(channel.weights):
        assert row == channel.weights[6 - value][::-1]
        assert list(row[: value + 1]) == sorted(row[: value + 1])
        assert list(row[value:]) == sorted(row[value:], reverse=True)


def test_a_better_report_is_never_less_likely_and_the_best_is_the_likeliest() -> None:
    for utility in TABLES.values():
        for goods, row in zip(utility, Exponential.within(request("1"), utility).weights, strict=True):
            ranked = [weight for _, weight in sorted(zip(goods, row, strict=True))]
            assert ranked == sorted(ranked)


@pytest.mark.parametrize("name", ["asymmetric", "ties", "seed 3", "seed 5", "thirds"])
def test_the_unit_of_the_utilities_and_what_is_added_to_a_row_change_nothing(name: str) -> None:
    utility = TABLES[name]
    right = Exponential.within(request("2"), utility)
    shifted = [[value + 1000 * index - Fraction(1, 3) for value in row] for index, row in enumerate(utility)]
    assert Exponential.within(request("2"), shifted) == right
    for unit in (Fraction(10) ** 80, Fraction(1, 10**80), Fraction(1, 7)):
        assert Exponential.within(request("2"), [[value * unit for value in row] for row in utility]) == right


def ratio_at(utility: Utility, scale: Decimal) -> Decimal:
    """Return the worst ratio of the table in proportion to e**(scale u), without rounding to
    integers.
    """
    rows = [[(scale * value.numerator / value.denominator).exp() for value in row] for row in utility]
    chances = [[weight / sum(row) for weight in row] for row in rows]
    worst: Decimal = max(max(column) / min(column) for column in zip(*chances, strict=True))
    return worst


@for_each("epsilon", ["0.01", "1", "4", "12"])
@for_each("name", ["asymmetric", "ties", "seed 3", "seed 5", "thirds", "one value useful to all"])
def test_the_law_is_the_exponential_one_at_the_largest_scale_but_for_rounding(name: str, epsilon: str) -> None:
    """The scale is recovered from two weights of a row, then every probability is within 2 k /
    TOTAL of its formula.

    Each of k weights is rounded down by less than 1, and the most useful value takes what is left
    over: less than k. The scale itself is off by what rounding does to the two weights, u by the
    relative error 1 / w each.
    """
    utility = TABLES[name]
    channel, odds = Exponential.within(request(epsilon), utility), Decimal(epsilon).exp()
    goods, weights = utility[0], channel.weights[0]
    order = sorted(range(len(goods)), key=goods.__getitem__)
    gap = goods[order[-1]] - goods[order[0]]
    with localcontext(prec=60):
        ratio = Decimal(weights[order[-1]]) / weights[order[0]]
        scale = ratio.ln() * gap.denominator / gap.numerator
        error = Decimal(2 * len(goods)) / weights[order[0]] * gap.denominator / gap.numerator
        for row_of, row in zip(utility, channel.weights, strict=True):
            exact = [
                (scale * (value - max(row_of)).numerator / (value - max(row_of)).denominator).exp() for value in row_of
            ]
            reach = Decimal(float(max(row_of) - min(row_of)))
            bound = Decimal(2 * len(row)) / TOTAL + 2 * error * reach
            observed = [Decimal(weight) / TOTAL for weight in row]
            assert max(abs(a - b / sum(exact)) for a, b in zip(observed, exact, strict=True)) <= bound
        assert ratio_at(utility, scale * (1 + Decimal(2) ** -(exponential.HALVINGS - 2))) > odds, "the largest scale"


def test_the_textbook_scale_would_waste_half_of_epsilon_on_a_pair() -> None:
    """McSherry & Talwar halve epsilon because the sums of rows may differ, too; for two values they
    do not.
    """
    textbook = Exponential(exponential._table(exponential._gaps(by_distance(2)), Fraction(1)))
    assert 0 <= epsilon_nanos(textbook) - 10**9 <= 1
    assert Exponential.within(request("2"), by_distance(2)).worst_ratio >= LEAST_USE_OF_EPSILON * request("2").odds


def test_a_scale_that_is_not_checked_would_break_the_promise() -> None:
    odds = request("2").odds
    lopsided = table_of("0 -9 -9 -9", "0 0 0 0", "-9 -9 -9 0", "-1 0 -2 0")
    unchecked = Exponential(exponential._table(exponential._gaps(lopsided), Fraction(2, 9)))
    assert unchecked.worst_ratio > odds
    assert Exponential.within(request("2"), lopsided).worst_ratio <= odds


@pytest.mark.parametrize("rows", [("0 -4", "0 -5"), ("8 -3", "1 -9"), ("5 0 0", "5 1 0", "5 0 2")])
def test_a_table_that_its_integers_cannot_resolve_is_refused_for_that(rows: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="too much for 64-bit weights; lower epsilon"):
        Exponential.within(request("20"), table_of(*rows))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("0 0", "0 0"), "the same for all values"),
        (("3 2 1", "4 3 2", "5 4 3"), "the same for all values"),
        (("0 -1 -2", "0 -1 -2", "-2 -1 0"), "a mixture of others"),
        (("0 0 0", "1 0 0", "1 0 0"), "a mixture of others"),
    ],
)
def test_utilities_that_do_not_tell_every_value_are_refused(rows: tuple[str, ...], said: str) -> None:
    with pytest.raises(ValueError, match=f"{said}.*; make them differ"):
        Exponential.within(request("1"), table_of(*rows))


def test_more_values_than_a_table_may_have_are_refused() -> None:
    with pytest.raises(ValueError, match="at most 64 values, not 65"):
        Exponential.within(request("1"), by_distance(MAX_VALUES + 1))


REPLAYED = 2**12


@pytest.fixture
def right(monkeypatch: pytest.MonkeyPatch) -> Exponential:
    """Return a table whose every draw can be replayed."""
    monkeypatch.setattr(exponential, "TOTAL", REPLAYED)
    return Exponential.within(request("1"), ASYMMETRIC)


def killers(channel: Channel) -> set[str]:
    subject = Subject(channel, request("1").odds)
    return {check.__name__ for check in CHANNEL_CHECKS if refuses(partial(check, subject))}


@pytest.mark.parametrize("check", CHANNEL_CHECKS, ids=lambda check: check.__name__)
def test_a_table_of_a_small_total_obeys_every_law_draw_by_draw(right: Exponential, check: Check) -> None:
    check(Subject(right, request("1").odds))


def test_every_wrong_table_is_refused_and_every_check_kills_one(right: Exponential) -> None:
    gaps = exponential._gaps(ASYMMETRIC)
    mutants = of_tables(right) | {
        "a scale that is not checked": Exponential(exponential._table(gaps, Fraction(1, 5))),
        "the textbook's scale": Exponential(exponential._table(gaps, Fraction(1, 14))),
    }
    killers_of = {name: killers(mutant) for name, mutant in mutants.items()}
    assert [name for name, killed in killers_of.items() if not killed] == ["none"]
    assert len(killers_of) > 10
    assert set.union(*killers_of.values()) == {check.__name__ for check in CHANNEL_CHECKS}
    wrong_scales = (killers_of["the textbook's scale"], killers_of["a scale that is not checked"])
    assert all("noise_is_within_the_request_and_not_wasted" in killed for killed in wrong_scales)
