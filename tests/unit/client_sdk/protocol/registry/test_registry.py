"""The registry is read strictly, and every mistake is named.

Single mistakes are in tests/vectors/registries_invalid.json.
"""

from __future__ import annotations

import dataclasses
from datetime import date
from pathlib import Path

import pytest

from client_sdk.protocol import Budget, Registry, RegistryError, UnknownMetricError, WindowKind
from client_sdk.protocol.toml_table import MAX_EXPONENT, MAX_TEXT
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, NUMBER, SET, Field, Toml, registry_text

GOOD = registry_text(dark_mode=BOOLEAN, os=CATEGORY, visits=NUMBER)

WRONG_TYPES: dict[str, Field] = {
    "a number": 0.5,
    "a truth": Toml("true"),
    "a text": "zz",
    "a list": Toml("[]"),
    "a table": Toml("{ x = 1 }"),
    "a date": Toml("2027-12-31"),
    "nan": Toml("nan"),
}
RIGHT_TYPES = dict.fromkeys(("purpose", "owner"), "a text") | dict.fromkeys(("epsilon", "low", "high"), "a number")
"""The type that is right for a key, if any of the wrong ones is."""

KEYS = (*RIGHT_TYPES, "expires", "kind", "window", "mechanism", "values", "statistic")


def places(text: str) -> list[str]:
    with pytest.raises(RegistryError) as caught:
        Registry.parse(text)
    return [place for place, _ in caught.value.mistakes]


def test_a_registry_holds_the_app_the_budget_and_the_metrics_in_the_order_of_the_file() -> None:
    registry = Registry.parse(GOOD)
    assert (registry.app, registry.owner) == ("acme", "owner@example.com")
    assert registry.budget == Budget(
        WindowKind.DAY, 20 * 10**9, 400 * 10**9, lifetime_attos=5 * 10**17, accept="It exists in tests only."
    )
    assert list(registry.metrics) == ["dark_mode", "os", "visits"]
    assert [metric.kind.name for metric in registry.metrics.values()] == ["boolean", "category", "number"]
    assert registry.metric("os") is registry.metrics["os"]


def test_metrics_take_window_and_owner_from_the_registry_unless_they_name_their_own() -> None:
    own = BOOLEAN | {"window": "month", "owner": "me@example.com", "expires": Toml("2027-12-31")}
    text = registry_text(theirs=BOOLEAN, own=own).replace("[budget]", '[budget]\nwindow = "week"')
    theirs, mine = Registry.parse(text).metrics.values()
    assert (theirs.window, theirs.owner, theirs.expires) == (WindowKind.WEEK, "owner@example.com", None)
    assert (mine.window, mine.owner, mine.expires) == (WindowKind.MONTH, "me@example.com", date(2027, 12, 31))


def test_ceilings_are_cut_down_to_whole_billionths() -> None:
    budget = Registry.parse(GOOD.replace("per_window = 20", "per_window = 1.9999999999")).budget
    assert budget.per_window_nanos == 1_999_999_999


@for_each("wrong_type", WRONG_TYPES)
@for_each("key", KEYS)
def test_a_wrong_type_is_named_by_metric_and_key_and_by_nothing_else(key: str, wrong_type: str) -> None:
    base = next(fields for fields in (NUMBER, CATEGORY, BOOLEAN | {key: ""}) if key in fields)
    text = registry_text(m=base | {key: WRONG_TYPES[wrong_type]})
    if wrong_type == (RIGHT_TYPES | {"expires": "a date"}).get(key):
        Registry.parse(text)
    else:
        assert places(text) == [f"metric.m.{key}"]


@pytest.mark.parametrize("fields", [BOOLEAN, CATEGORY, NUMBER, COUNT, SET], ids=lambda fields: str(fields["kind"]))
def test_every_required_key_that_is_missing_is_named(fields: dict[str, Field]) -> None:
    for key in fields:
        left = {other: value for other, value in fields.items() if other != key}
        if key == "kind":
            left = {other: left[other] for other in ("purpose", "epsilon")}
        assert places(registry_text(m=left)) == [f"metric.m.{key}"]


def test_mistakes_of_all_metrics_are_reported_together_a_line_each() -> None:
    text = registry_text(
        a=BOOLEAN | {"epsilon": 0, "purpose": 3}, b=CATEGORY | {"color": 1}, c=NUMBER | {"mechanism": "x", "low": 9}
    )
    with pytest.raises(RegistryError) as caught:
        Registry.parse(text)
    places = [place for place, _ in caught.value.mistakes]
    assert sorted(places) == ["metric.a.epsilon", "metric.a.purpose", "metric.b.color", "metric.c.high"]
    assert str(caught.value).splitlines() == [f"{place}: {problem}" for place, problem in caught.value.mistakes]


def test_a_metric_that_costs_exactly_the_ceiling_is_sound_and_one_that_costs_more_is_not() -> None:
    exact = GOOD.replace("per_window = 20", "per_window = 1.0")
    assert Registry.parse(exact).budget.per_window_nanos == Registry.parse(exact).metric("dark_mode").epsilon_nanos
    short = GOOD.replace("per_window = 20", "per_window = 0.999999999")
    assert places(short) == ["metric.dark_mode.epsilon", "metric.os.epsilon"]


def test_no_answer_is_permanent_where_browsers_may_wipe_the_secret() -> None:
    permanent = BOOLEAN | {"permanent_epsilon": 3}
    text = registry_text(m=permanent, n=BOOLEAN)
    Registry.parse(text)
    assert places(text.replace("[budget]", "[budget]\nweb_year = 300")) == ["metric.m.permanent_epsilon"]


def test_texts_have_a_longest_length_and_must_be_printable() -> None:
    assert Registry.parse(registry_text(m=BOOLEAN | {"purpose": "p" * MAX_TEXT}))
    for purpose in ("p" * (MAX_TEXT + 1), "", "a\tb", "a\u202eb", "a\nb"):
        assert places(registry_text(m=BOOLEAN | {"purpose": purpose})) == ["metric.m.purpose"]


@for_each("size", ["1e999999999", "-1e999999999", "1e-999999999", f"1e{MAX_EXPONENT + 1}", "0x1" + "0" * 400])
def test_numbers_of_absurd_size_are_refused_at_once(size: str) -> None:
    assert "metric.m.high" in places(registry_text(m=NUMBER | {"high": Toml(size)}))


@for_each(
    "text",
    [
        *("x = " + "9" * 5000, "x = " + "[" * 5000, "x = " + "[" * 2000 + "]" * 2000, "x = 1e99999999999999999999"),
        *("x = \0", "\ufeff" + GOOD, GOOD + GOOD, GOOD.replace("epsilon = 1", "epsilon = 1\nepsilon = 1")),
    ],
)
def test_a_text_that_cannot_be_read_as_toml_is_one_mistake_of_the_registry(text: str) -> None:
    assert places(text) == ["registry"]


def test_a_byte_order_mark_is_named_and_not_only_where_toml_stumbles_over_it() -> None:
    with pytest.raises(RegistryError, match="byte order mark; save it as UTF-8 without one"):
        Registry.parse("\ufeff" + GOOD)


def test_a_metric_that_is_not_defined_is_named_beside_those_that_are() -> None:
    with pytest.raises(UnknownMetricError, match="dark_mode, os, visits") as caught:
        Registry.parse(GOOD).metric("screen")
    assert caught.value.metric == "screen"


def test_a_registry_cannot_be_changed() -> None:
    registry = Registry.parse(GOOD)
    with pytest.raises(TypeError):
        registry.metrics["os"] = registry.metrics["visits"]  # type: ignore[index]
    for field in dataclasses.fields(registry):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(registry, field.name, None)


def test_a_file_is_read_as_its_text(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(os=CATEGORY | {"values": ["grün", "青"]}), encoding="utf-8")
    assert Registry.load(path) == Registry.load(str(path)) == Registry.parse(path.read_text(encoding="utf-8"))


def test_a_missing_file_a_directory_and_a_file_in_another_encoding_are_refused_by_path(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes("name = 'é'".encode("latin-1"))
    for path, said in ((tmp_path / "none.toml", "No such file"), (tmp_path, "directory"), (latin, "UTF-8")):
        with pytest.raises(RegistryError, match=said) as caught:
            Registry.load(path)
        assert [place for place, _ in caught.value.mistakes] == [str(path)]


def test_an_empty_path_is_named_as_such() -> None:
    with pytest.raises(RegistryError, match=r"^an empty path: cannot be read"):
        Registry.load("")


def test_a_file_that_is_no_toml_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text("schema = 1\napp =\n", encoding="utf-8")
    with pytest.raises(RegistryError, match=rf"^{path}: is not TOML: .*line 2"):
        Registry.load(path)


@pytest.mark.parametrize(("number", "width", "refused"), [(64, 1, []), (65, 1, ["stopped"]), (34, 48, ["stopped"])])
def test_the_stopped_metrics_fit_into_a_header(number: int, width: int, refused: list[str]) -> None:
    listed = ", ".join(f'"m{each:0{width}}:0123456789ab"' for each in range(number))
    text = f"stopped = [{listed}]\n{registry_text(m=BOOLEAN)}"
    assert (places(text) if refused else Registry.parse(text).metrics.keys() - {"m"}) == (refused or set())
