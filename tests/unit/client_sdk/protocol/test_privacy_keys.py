"""The keys of privacy over time: their meaning, their part in the edition, every mistake."""

from __future__ import annotations

from fractions import Fraction

import pytest

from client_sdk.protocol import Metric, Registry, RegistryError, Strategy, WindowKind
from client_sdk.protocol.budget import Cost
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.devices.clients import ask
from tests.support.devices.definitions import BOOLEAN as YES_OR_NO
from tests.support.devices.definitions import registry_text

BOOLEAN = 'kind = "boolean"'
CATEGORY = 'kind = "category"\nvalues = ["a", "b", "c"]'
MEAN = 'kind = "number"\nlow = 0\nhigh = 10\nstatistic = "mean"'
COUNT = 'kind = "count"\nmax = 5\nstatistic = "mean"'
SET = 'kind = "set"\nvalues = ["a", "b", "c"]\nmax_items = 2'
LASTING = "permanent_epsilon = 2"


def metric(*lines: str) -> Metric:
    return ask("[metric.m]\n" + "\n".join(lines)).metric("m")


@pytest.mark.parametrize(
    ("lines", "budget", "place", "said"),
    [
        ([BOOLEAN, LASTING, "epsilon = 3"], "", "mechanism", "epsilon must be at most permanent_epsilon"),
        ([SET, LASTING], "", "permanent_epsilon", "does not apply to a set"),
        ([MEAN, LASTING, 'mechanism = "optimal-mean"'], "", "mechanism", "cannot report a permanent answer"),
        ([MEAN.replace("mean", "distribution"), LASTING], "", "mechanism", "cannot report a permanent answer"),
        ([BOOLEAN, LASTING], "per_month = 0.5", "epsilon", "is above a ceiling"),
        ([BOOLEAN, "fill_value = 1"], "", "fill_value", "remove it"),
        ([BOOLEAN, "fill_in = true\nfill_value = 1"], "", "fill_value", "for a count or a mean"),
        ([BOOLEAN, 'fill_in = "yes"'], "", "fill_in", "must be true or false"),
        ([SET, "fill_in = true"], "", "fill_in", "record an answer in every window instead"),
        ([MEAN.replace("mean", "distribution"), "fill_in = true"], "", "fill_in", "record an answer in every"),
        ([MEAN, "fill_in = true"], "", "fill_value", "must be a finite number from 0 to 10"),
        ([MEAN, "fill_in = true\nfill_value = 11"], "", "fill_value", "reported for a window in which nothing was"),
        ([COUNT, "fill_in = true\nfill_value = 1.5"], "", "fill_value", "must be a whole number from 0 to 5"),
        (
            ['kind = "ordinal"\nvalues = ["a", "b", "c"]', 'fill_in = true\nmechanism = "exponential"'],
            "",
            "mechanism",
            "cannot place a missing answer on the scale",
        ),
        ([BOOLEAN, "persist = true"], "", "persist", "is only for a count"),
        ([BOOLEAN], 'strategy = "half"', "budget.strategy", "one of: split, sample, pace"),
        ([BOOLEAN], 'strategy = "sample"', "budget.answers", "is missing"),
        ([BOOLEAN], "answers = 2", "budget.answers", "unknown key"),
        ([BOOLEAN], 'strategy = "pace"', "expires", "lifetime budget must last until this day"),
        (
            [BOOLEAN, 'window = "week"'],
            'strategy = "sample"\nanswers = 1',
            "window",
            r'must be "day", as in \[budget\]',
        ),
        ([BOOLEAN], "per_month = 0", "budget.per_month", "must be above 0"),
        ([BOOLEAN], "delta = 1", "budget.delta", "at least 0 and below 1"),
        ([MEAN, 'mechanism = "gaussian"\ndelta = 1e-6'], "", "delta", "is above the delta in \\[budget\\]"),
    ],
)
def test_a_mistake_is_named_by_place_and_says_what_to_do(lines: list[str], budget: str, place: str, said: str) -> None:
    with pytest.raises(RegistryError, match=said) as caught:
        ask("[metric.m]\n" + "\n".join(lines), budget)
    assert (place if "." in place else f"metric.m.{place}") in {known for known, _ in caught.value.mistakes}


def test_a_permanent_metric_says_what_each_report_and_each_answer_cost() -> None:
    lasting = metric(BOOLEAN, LASTING)
    assert lasting.cost == Cost(lasting.epsilon_nanos)
    assert (lasting.epsilon_nanos, lasting.channel.permanent_nanos) == (NANOS, 2 * NANOS)


def test_a_mean_with_permanent_answers_reports_one_of_two_ends() -> None:
    channel = metric(MEAN, LASTING).channel
    assert isinstance(channel, Permanent)
    assert (channel.inputs, channel.symbols, channel.name) == (2, 2, "permanent one-bit")


@pytest.mark.parametrize(
    ("domain", "answers"), [(BOOLEAN, [True, False]), (CATEGORY, ["a", "b", "c"])], ids=["boolean", "category"]
)
def test_what_is_filled_in_has_an_input_of_its_own_the_last(domain: str, answers: list[object]) -> None:
    filled = metric(domain, "fill_in = true")
    assert filled.has_no_answer
    assert filled.channel.inputs == len(answers) + 1
    assert filled.labels[-1] is None
    assert set(filled.labels[:-1]) == set(answers)


def test_a_filled_cross_has_one_input_more() -> None:
    registry = ask(f'[metric.a]\n{BOOLEAN}\n[metric.b]\n{CATEGORY}\n[metric.m]\ncross = ["a", "b"]\nfill_in = true')
    assert registry.metric("m").channel.inputs == 7


@pytest.mark.parametrize(
    ("before", "after", "is_new"),
    [
        *(([BOOLEAN], [BOOLEAN, LASTING], True), ([BOOLEAN, LASTING], [BOOLEAN, LASTING.replace("2", "3")], True)),
        *(([BOOLEAN], [BOOLEAN, "fill_in = true"], True), ([COUNT], [COUNT, "fill_in = true\nfill_value = 1"], True)),
        ([COUNT, "fill_in = true\nfill_value = 1"], [COUNT, "fill_in = true\nfill_value = 2"], True),
        ([COUNT], [COUNT, "persist = true"], False),
        ([MEAN, "fill_in = true\nfill_value = 1"], [MEAN, "fill_in = true\nfill_value = 1.0"], False),
    ],
)
def test_what_changes_the_meaning_of_a_report_alone_changes_the_edition(
    before: list[str], after: list[str], *, is_new: bool
) -> None:
    assert (metric(*before).edition != metric(*after).edition) is is_new


def test_the_budget_says_what_is_kept_and_how_it_is_spread() -> None:
    budget = ask(f"[metric.m]\n{BOOLEAN}", 'strategy = "sample"\nanswers = 3\nper_month = 7.5\ndelta = 1e-6').budget
    assert (budget.strategy, budget.answers, budget.window) == (Strategy.SAMPLE, 3, WindowKind.DAY)
    assert (budget.per_month_nanos, budget.lifetime_attos) == (7_500_000_000, 10**12)
    assert ask(f"[metric.m]\n{BOOLEAN}").budget.strategy is Strategy.SPLIT


def test_a_filled_mean_has_an_exact_fill_value() -> None:
    filled = metric(MEAN, "fill_in = true\nfill_value = 0.1")
    assert filled.fill is not None
    assert filled.fill.answer == Fraction(1, 10)


def test_a_ceiling_that_rounds_to_nothing_allows_nothing() -> None:
    text = registry_text(m=YES_OR_NO).replace("per_window = 20", "per_window = 1e-10")
    with pytest.raises(RegistryError, match="is above a ceiling"):
        Registry.parse(text)
