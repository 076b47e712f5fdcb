"""Definitions of every kind: each mistake is named by metric and key."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.kinds.cross import MAX_CELLS, Cross
from client_sdk.protocol.kinds.number import MAX_COUNT, Count
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.registry.metric_table import MOST_RETENTION_DAYS
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    HEAD,
    NUMBER,
    ORDINAL,
    SET,
    USEFUL,
    Field,
    Toml,
    mistakes,
    parsed,
    registry_text,
)

CROSSED: dict[str, dict[str, Field]] = {"dark_mode": BOOLEAN, "os": CATEGORY}


def test_a_registry_holds_every_kind_in_the_order_of_the_file_wherever_a_cross_stands() -> None:
    both = CROSS | {"cross": ["os", "dark_mode"]}
    metrics = parsed(both=both, dark_mode=BOOLEAN, visits=COUNT, os=CATEGORY, often=ORDINAL, tags=SET, swapped=CROSS)
    assert list(metrics) == ["both", "dark_mode", "visits", "os", "often", "tags", "swapped"]
    kinds = [metric.kind.name for metric in metrics.values()]
    assert kinds == ["cross", "boolean", "count", "category", "ordinal", "set", "cross"]
    assert metrics["both"].kind == Cross(metrics["os"].kind, metrics["dark_mode"].kind, ("os", "dark_mode"))  # type: ignore[arg-type] # of categories
    assert isinstance(metrics["visits"].kind, Count)
    assert metrics["tags"].kind == Subset(("a", "b", "c"), 2)
    assert metrics["tags"].channel.inputs == 5


@for_each("most", [0, -1, 10**16, MAX_COUNT + 1, 0.5, Toml("1.5"), Toml("9.0"), Toml("true"), "9"])
def test_max_is_a_whole_number_up_to_the_greatest_count(most: Field) -> None:
    assert mistakes(m=COUNT | {"max": most}) == {"metric.m.max": f"must be a whole number from 1 to {MAX_COUNT}"}


def test_the_least_and_the_greatest_count_are_sound() -> None:
    for statistic in ("mean", "distribution"):
        for most in (1, MAX_COUNT):
            assert parsed(m=COUNT | {"max": most, "statistic": statistic})["m"].kind == Count(Fraction(most), statistic)


@for_each("most", [0, -1, 4, 10**16, Toml("1.5"), Toml("2.0"), Toml("true"), "2", Toml("[2]")])
def test_max_items_is_a_whole_number_up_to_the_number_of_values(most: Field) -> None:
    assert mistakes(m=SET | {"max_items": most}) == {"metric.m.max_items": "must be a whole number from 1 to 3"}


@for_each("values", [Toml('["a", 3]'), ["a", ""], ["a", "two\nlines"], ["a", "v" * 501]])
def test_values_are_short_texts_on_one_line(values: Field) -> None:
    said = mistakes(m=CATEGORY | {"values": values})["metric.m.values"]
    assert said.startswith("must contain only strings of 1 to ")


@pytest.mark.parametrize(
    ("fields", "key", "value"),
    [
        *((fields, "max", 9) for fields in (BOOLEAN, CATEGORY, ORDINAL, SET, NUMBER)),
        *((fields, "max_items", 2) for fields in (BOOLEAN, CATEGORY, ORDINAL, NUMBER, COUNT)),
        *((fields, "values", ["a", "b"]) for fields in (BOOLEAN, NUMBER, COUNT)),
        *((fields, "low", 0) for fields in (BOOLEAN, CATEGORY, SET, COUNT)),
    ],
    ids=str,
)
def test_a_key_of_another_kind_is_refused_with_its_own_kinds(fields: dict[str, Field], key: str, value: Field) -> None:
    ((place, said),) = mistakes(m=fields | {key: value}).items()
    assert place == f"metric.m.{key}"
    assert said.startswith('belongs to kind = "')
    assert said.endswith(f'; this question is of kind "{fields["kind"]}": remove it')
    assert f'"{fields["kind"]}"' not in said.partition(";")[0]


def test_an_unknown_kind_is_one_mistake_whatever_other_keys_there_are() -> None:
    fields = COUNT | SET | {"kind": "cross", "low": 0, "high": 1}
    assert list(mistakes(m=fields)) == ["metric.m.kind"]


@pytest.mark.parametrize(
    ("cross", "said"),
    [
        *((Toml(text), "must name two metrics") for text in ('"os"', "3", "true", "[]", '["os"]', '["os", 1]')),
        *((Toml(text), "must name two metrics") for text in ('["os", "dark_mode", "os"]', "{ x = 1 }", "[[], []]")),
        *((list(names), "two different metrics") for names in (("os", "os"), ("os", "m"), ("m", "m"), ("os", "none"))),
        *((list(names), "two different metrics") for names in (("visits", "os"), ("size", "os"), ("os", "tags"))),
        (["os", "visits"], "as its second metric a number or a count"),
        *((list(names), "two different metrics") for names in (("os", "other"), ("os", ""), ("os", "OS"))),
    ],
    ids=str,
)
def test_what_a_cross_names_must_be_two_different_metrics_that_it_can_compare(cross: Field, said: str) -> None:
    crossed = {**CROSSED, "visits": COUNT, "size": NUMBER, "tags": SET, "other": CROSS}
    reported = mistakes(m=CROSS | {"cross": cross}, **crossed)
    assert list(reported) == ["metric.m.cross"]
    assert said in reported["metric.m.cross"]


def test_a_cross_has_a_bounded_number_of_pairs() -> None:
    def values(size: int) -> dict[str, Field]:
        return CATEGORY | {"values": [f"v{index}" for index in range(size)]}

    assert MAX_CELLS % 2 == 0
    assert parsed(m=CROSS, dark_mode=BOOLEAN, os=values(MAX_CELLS // 2))["m"].kind.size == MAX_CELLS
    reported = mistakes(m=CROSS, dark_mode=values(3), os=values(MAX_CELLS // 2))
    pairs = 3 * MAX_CELLS // 2
    assert reported == {"metric.m.cross": f"has {pairs} pairs of values; at most {MAX_CELLS} can be told apart"}


def test_a_date_in_quotes_is_one_mistake_where_a_date_is_required() -> None:
    text = registry_text(m=BOOLEAN | {"expires": "2027-12-31"})
    assert text.count("[budget]\n") == 1
    paced = text.replace("[budget]\n", '[budget]\nstrategy = "pace"\n')
    with pytest.raises(RegistryError) as caught:
        Registry.parse(paced)
    assert caught.value.mistakes == (("metric.m.expires", "must be a date such as 2027-12-31, without quotes"),)


GOOD = registry_text(dark_mode=BOOLEAN, os=USEFUL, often=ORDINAL, visits=COUNT, size=GAUSSIAN, tags=SET, both=CROSS)
KEYS = ["max", "max_items", "cross", "delta", "utility", "kind", "values", "statistic", "mechanism"]
MORE_KEYS = [*KEYS, "purpose", "epsilon", "window", "owner", "expires", "low", "high"]
VALUES = st.one_of(
    st.text(max_size=8),
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["true", "[]", "[[0, 1], [1, 0]]", '["a", "b"]', '["m", "m"]', '["m", "d"]', "1e-6", "2", "9"]),
    st.sampled_from([f'"{name}"' for name in ("set", "count", "ordinal", "mean", "gaussian", "exponential", "auto")]),
)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.one_of(
        st.text(),
        st.builds(lambda key, value: f"{HEAD}[metric.m]\n{key} = {value}\n", st.sampled_from(MORE_KEYS), st.text()),
        st.builds(lambda at, more: GOOD[:at] + more + GOOD[at + 3 :], st.integers(0, len(GOOD)), st.text(max_size=8)),
        st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=6).map(
            lambda fields: (
                f'{HEAD}[metric.d]\npurpose = "Why?"\nkind = "boolean"\nepsilon = 1\n[metric.m]\n'
                + "".join(f"{key} = {value}\n" for key, value in ({"purpose": '"?"', "epsilon": "1"} | fields).items())
            )
        ),
    )
)
@example(GOOD)
@example("")
def test_any_text_is_a_registry_or_refused_with_a_place_and_never_crashes_the_reader(text: str) -> None:
    try:
        metrics = Registry.parse(text).metrics
    except RegistryError as error:
        said = [text for mistake in error.mistakes for text in mistake]
    else:
        said = [metric.edition for metric in metrics.values()]
    assert said
    assert all(said)


@pytest.mark.parametrize("days", [1, 400, MOST_RETENTION_DAYS])
def test_retention_is_read_and_changes_no_edition(days: int) -> None:
    metrics = parsed(kept=BOOLEAN | {"retention": days}, m=BOOLEAN)
    assert (metrics["kept"].retention_days, metrics["m"].retention_days) == (days, None)
    assert metrics["kept"].edition == metrics["m"].edition


@for_each("days", [0, -1, MOST_RETENTION_DAYS + 1, Toml("1.5"), Toml("true"), "9"])
def test_retention_is_a_whole_number_of_days(days: Field) -> None:
    must = f"must be a whole number from 1 to {MOST_RETENTION_DAYS}"
    assert mistakes(m=BOOLEAN | {"retention": days}) == {"metric.m.retention": must}
