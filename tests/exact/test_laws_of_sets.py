"""Sets: the complete channel from every subset to the symbol, by enumeration."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import permutations

import pytest

from client_sdk.protocol import Metric, OutsideDomainError, WindowKind
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import channel_for
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.coins import ScriptedCoins, exact_law, walk
from tests.support.laws.law_checks import law, refuses
from tests.support.laws.set_checks import SET_CHECKS, SET_MUTANTS, SetCheck, SetSubject, right_report

VALUES = ("a", "b", "c", "d")
SIZES = [(size, most) for size in (2, 3, 4) for most in range(1, size + 1)]


def metric(size: int, most: int, mechanism: str = "k-ary-randomized-response", epsilon: str = "1") -> Metric:
    domain = Subset(VALUES[:size], most)
    channel = channel_for(domain, request(epsilon), mechanism)
    return Metric("tags", "Which tags?", domain, channel, WindowKind.DAY)


@for_each("check", SET_CHECKS)
@for_each("size, most", SIZES)
def test_a_report_of_a_set_obeys_every_law(size: int, most: int, check: SetCheck) -> None:
    for epsilon in ("0.1", "1", "4"):
        check(SetSubject(metric(size, most, epsilon=epsilon), request(epsilon), right_report))


@pytest.mark.parametrize(
    ("size", "mechanism"), [(3, "cyclic-design"), (4, "cyclic-design"), (4, "projective-geometry")]
)
def test_a_set_by_a_design_is_the_mixture_of_its_rows_with_as_many_coins_for_all(size: int, mechanism: str) -> None:
    metric_of = metric(size, 2, mechanism, "0.5")
    channel = metric_of.channel.last_step
    assert channel.inputs == size + 1
    dummy = channel.inputs - 1
    counts = set()
    for answer, drawn in (((), (dummy, dummy)), (("b",), (1, dummy)), (("a", "c"), (0, 2))):
        observed = walk(partial(metric_of.perturb, answer))
        laws = [law(channel, member) for member in drawn]
        expected = {symbol: (laws[0][symbol] + laws[1][symbol]) / 2 for symbol in range(channel.symbols)}
        assert observed.chances == expected
        counts |= observed.lengths
    assert len(counts) == 1


@pytest.mark.parametrize(("size", "most"), SIZES)
def test_a_set_that_is_asked_for_one_value_tells_by_one_ratio_whether_it_has_it(size: int, most: int) -> None:
    metric_of = metric(size, most, "one-of")
    ratio, values = metric_of.channel.worst_ratio, VALUES[:size]
    for answer in SetSubject(metric_of, request("1"), right_report).answers():
        weights = [ratio if said == (value in answer) else Fraction(1) for value in values for said in (False, True)]
        walked = walk(partial(metric_of.perturb, answer))
        assert walked.chances == {symbol: weight / (size * (ratio + 1)) for symbol, weight in enumerate(weights)}
        assert walked.lengths == {2}
    assert ratio <= request("1").odds


def test_a_set_a_list_and_a_tuple_in_any_order_have_one_law() -> None:
    metric_of = metric(4, 3)
    expected = exact_law(partial(metric_of.perturb, ("a", "b", "d")))
    answers: list[object] = [{"d", "a", "b"}, frozenset("abd"), dict.fromkeys("dab").keys()]
    for turned in permutations("abd"):
        answers += [list(turned), tuple(turned)]
    for answer in answers:
        assert exact_law(partial(metric_of.perturb, answer)) == expected


@for_each(
    "answer",
    [
        *(["a", "b", "c"], {"a", "b", "c"}, ["a", "a"], ("b", "b"), ["a", "secret"], {"secret"}, ["A"], [""]),
        *([1], [None], [["a"]], [True], [b"a"], "a", "ab", "secret", b"ab", {"a": 1}, {"secret": 1}, None, 1, True),
        *(iter(["a"]), (value for value in ("a", "b")), map(str, ["a"]), range(2), ["a", "b", "secret"]),
    ],
)
def test_what_is_no_set_of_the_values_is_refused_without_a_coin_and_never_shown(answer: object) -> None:
    with pytest.raises(OutsideDomainError) as caught:
        metric(4, 2).perturb(answer, ScriptedCoins([]))
    error = caught.value
    assert error.expected == "a set, list or tuple with at most 2 of 'a', 'b', 'c', 'd', each only once"
    assert "secret" not in f"{error!s} {error!r} {error.args} {vars(error)} {error.__cause__!r}"


def test_a_set_of_at_most_one_of_two_values_is_a_category_with_a_value_for_none() -> None:
    metric_of = metric(2, 1)
    rows = [law(metric_of.channel.last_step, value) for value in range(3)]
    assert [exact_law(partial(metric_of.perturb, answer)) for answer in (["a"], ["b"], [])] == rows


def killers(report: object, most: int) -> set[str]:
    subject = SetSubject(metric(3, most), request("1"), report)  # type: ignore[arg-type] # a way to report
    return {check.__name__ for check in SET_CHECKS if refuses(partial(check, subject))}


@for_each("name", SET_MUTANTS)
def test_a_wrong_report_of_a_set_is_refused(name: str) -> None:
    assert killers(SET_MUTANTS[name], 2)
    assert killers(SET_MUTANTS[name], 3)


def test_a_report_that_is_right_but_for_its_coins_is_refused_only_for_them() -> None:
    assert killers(SET_MUTANTS["a coin more for members"], 2) == {"set_coins_are_as_many_on_every_path"}


def test_every_check_of_a_set_kills_a_mutant() -> None:
    assert not killers(right_report, 2)
    assert len(SET_MUTANTS) > 5
    observed = set().union(*(killers(mutant, 2) for mutant in SET_MUTANTS.values()))
    assert observed == {check.__name__ for check in SET_CHECKS}
