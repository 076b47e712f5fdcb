"""Titles, publication and events: what people read of questions, and no edition depends on."""

from __future__ import annotations

import pickle
from datetime import date
from pathlib import Path

import pytest

from client_sdk.cli import main
from client_sdk.commands.codegen import module_of as typed_module_of
from client_sdk.commands.compile import document_of
from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.registry import differences
from client_sdk.protocol.statement import statement
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, CROSS, TEXT, Field, mistakes, registry_text

PLAIN = registry_text(dark_mode=BOOLEAN, os=CATEGORY, word=TEXT)
SHOWN = registry_text(
    dark_mode=BOOLEAN | {"title": "Dark mode", "public": True},
    os=CATEGORY | {"title": "System"},
    word=TEXT | {"public": True, "approved": ["zebra", "aardvark"]},
)
EVENTS = '[event.2027-03-02]\ntitle = "2.3 released"\n[event.2026-12-01]\ntitle = "A press article"\n'


def places(text: str) -> dict[str, str]:
    with pytest.raises(RegistryError) as caught:
        Registry.parse(text)
    return dict(caught.value.mistakes)


def test_titles_publication_and_events_change_no_edition() -> None:
    before, after = Registry.parse(PLAIN), Registry.parse(SHOWN + EVENTS)
    assert before != after
    for name, metric in before.metrics.items():
        assert after.metric(name).editions == metric.editions
        assert after.metric(name).channel == metric.channel


def test_a_title_is_the_name_unless_the_registry_has_one() -> None:
    registry = Registry.parse(SHOWN)
    assert [metric.title for metric in registry.metrics.values()] == ["Dark mode", "System", "word"]
    assert [metric.is_public for metric in registry.metrics.values()] == [True, False, True]


@for_each("title", ["", "t" * 61, 3, "two\nlines"])
def test_a_title_is_a_short_text(title: Field) -> None:
    problem = "must be a string of 1 to 60 printable characters"
    assert mistakes(m=BOOLEAN | {"title": title}) == {"metric.m.title": problem}


@for_each("other", [{"title": "System"}, {"title": "m"}])
def test_no_two_metrics_look_alike(other: dict[str, Field]) -> None:
    fields = BOOLEAN if other["title"] == "m" else BOOLEAN | {"title": "System"}
    problem = "is also the title of metric.m; choose another"
    assert mistakes(other=CATEGORY | other, m=fields) == (
        {"metric.other.title": problem}
        if fields is BOOLEAN
        else {"metric.m.title": problem.replace("metric.m", "metric.other")}
    )


def test_what_is_sensitive_is_not_published_alone_or_as_part_of_a_pair() -> None:
    sensitive = BOOLEAN | {"sensitive": True}
    assert list(mistakes(m=sensitive | {"public": True})) == ["metric.m.public"]
    assert list(mistakes(both=CROSS | {"public": True}, dark_mode=sensitive, os=CATEGORY)) == ["metric.both.public"]
    assert Registry.parse(registry_text(m=sensitive | {"public": False})).metrics


def test_approved_texts_are_spelt_as_reports_show_them() -> None:
    texts = ["zebra", "hippopotamuses", "hippopotamus…"]
    (kind,) = (
        each.kind for each in Registry.parse(registry_text(m=TEXT | {"public": True, "approved": texts})).counted
    )
    assert kind.approved == ("zebra", "hippopotamus…")


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        (TEXT | {"public": True, "approved": ["Zebra"]}, "approved"),
        (TEXT | {"public": True, "approved": []}, "approved"),
        (TEXT | {"public": True, "approved": ["a", "a"]}, "approved"),
        (TEXT | {"public": True, "approved": "zebra"}, "approved"),
        (TEXT | {"approved": ["zebra"]}, "approved"),
        (BOOLEAN | {"public": True, "approved": ["zebra"]}, "approved"),
    ],
)
def test_approved_texts_that_are_no_answers_or_never_published_are_refused(fields: dict[str, Field], key: str) -> None:
    assert list(mistakes(m=fields)) == [f"metric.m.{key}"]


def test_events_are_in_the_order_of_their_days_and_are_pickled() -> None:
    registry = Registry.parse(PLAIN + EVENTS)
    days = [(date(2026, 12, 1), "A press article"), (date(2027, 3, 2), "2.3 released")]
    assert list(registry.events) == days
    assert pickle.loads(pickle.dumps(registry)) == registry  # noqa: S301 of our own


@pytest.mark.parametrize(
    ("event", "place"),
    [
        *(("[event]\n2027-03-02 = 3", "event.2027-03-02"), ('[event.20270302]\ntitle = "x"', "event.20270302")),
        ('[event.2027-W09-2]\ntitle = "x"', "event.2027-W09-2"),
        *(('[event.2027-02-30]\ntitle = "x"', "event.2027-02-30"), ("[event.2027-03-02]", "event.2027-03-02.title")),
        ('[event.2027-03-02]\ntitle = ""', "event.2027-03-02.title"),
        ('[event.2027-03-02]\ntitle = "x"\nnote = "y"', "event.2027-03-02.note"),
    ],
)
def test_an_event_has_a_day_and_a_title_and_nothing_else(event: str, place: str) -> None:
    assert place in places(f"{PLAIN}{event}\n")


def test_events_are_tables() -> None:
    assert list(places(PLAIN.replace("schema = 1", "schema = 1\nevent = 3"))) == ["event"]


def test_a_change_of_them_is_named_and_makes_no_new_edition() -> None:
    before, after = Registry.parse(PLAIN), Registry.parse(SHOWN + EVENTS)
    told = differences.between(before, after)
    counted = "old and new reports are still counted together"
    assert told == [
        f'metric.dark_mode: its title is now "Dark mode"; {counted}',
        f"metric.dark_mode: its figures may now be published; {counted}",
        f'metric.os: its title is now "System"; {counted}',
        f"metric.word: its figures may now be published; {counted}",
        f"metric.word: other texts may now be published; {counted}",
        "event: the labels in charts changed; no question has a new edition",
    ]
    assert f"metric.word: its figures may now not be published; {counted}" in differences.between(after, before)


def test_users_read_titles_in_their_language(tmp_path: Path) -> None:
    registry = Registry.parse(f'{SHOWN}[sentences.de]\ntitle.dark_mode = "Dunkler Modus"\n')
    assert "## Dark mode\n" in statement(registry)
    assert "## Dunkler Modus\n" in statement(registry, "de")
    assert "## System\n" in statement(registry, "de")
    assert "## word\n" in statement(registry)
    assert "dark_mode" not in statement(registry)
    (tmp_path / "metrics.toml").write_text(f'{SHOWN}[sentences.de]\ntitle.dark = "Dunkel"\n')
    assert main(["check", "--registry", str(tmp_path / "metrics.toml")]) == 1


def test_typed_metrics_name_their_titles() -> None:
    assert "#: Dark mode: Why?\n" in typed_module_of(Registry.parse(SHOWN))
    assert "#: Why?\n" in typed_module_of(Registry.parse(PLAIN))


def test_the_browser_gets_titles_alone_and_only_where_there_are_some() -> None:
    before, after = (Registry.parse(text.partition("[metric.word]")[0]) for text in (PLAIN, SHOWN))
    plain, shown = (document_of(registry, "web") for registry in (before, after))
    for language in ("de", "en"):
        told = shown["sentences"][language]
        assert [key for key in told if key not in plain["sentences"][language]] == ["title.dark_mode", "title.os"]
        assert (told.pop("title.dark_mode"), told.pop("title.os")) == ("Dark mode", "System")
        assert told.pop("evidence") == plain["sentences"][language].pop("evidence").replace("dark_mode", "Dark mode")
    assert plain == shown


def test_braces_in_a_purpose_are_no_placeholders() -> None:
    text = registry_text(m=BOOLEAN | {"purpose": "Are {templates} used?", "title": "The {new} ones"})
    assert "Are \\{templates\\} used?" in statement(Registry.parse(text))
    assert "## The \\{new\\} ones\n" in statement(Registry.parse(text))
