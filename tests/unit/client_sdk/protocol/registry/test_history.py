"""The history of a registry: what released apps may still answer."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import in_trial
from tests.support.devices.definitions import BOOLEAN, CATEGORY, registry_text

FIRST = registry_text(dark=BOOLEAN, theme=CATEGORY | {"values": ["light", "dark"]})
SECOND = registry_text(dark=BOOLEAN, theme=CATEGORY | {"values": ["light", "dark", "auto"]})
THIRD = registry_text(theme=CATEGORY | {"values": ["light", "dark", "auto"]})
DAYS = [date(2026, 11, 1), date(2026, 11, 8), date(2026, 11, 15)]


def written(folder: Path, *released: str, now: str) -> Path:
    """Write a registry, and a history of registries that were released on `DAYS`."""
    path = folder / "metrics.toml"
    releases = [history.Release(day, Registry.parse(each)) for each, day in zip(released, DAYS, strict=False)]
    path.write_text(now)
    if releases:
        history.path_of(path).write_text(history.written(releases))
    return path


def former(registry: Registry) -> list[tuple[str, str, date | None]]:
    return [(each.metric.name, each.metric.edition, each.until) for each in registry.former]


def test_without_a_history_there_is_nothing_former(tmp_path: Path) -> None:
    registry = history.read(written(tmp_path, now=FIRST))
    assert registry.former == ()
    assert registry == Registry.parse(FIRST)


def test_a_metric_that_changed_or_ended_is_former_from_the_release_without_it_on(tmp_path: Path) -> None:
    first, third = Registry.parse(FIRST), history.read(written(tmp_path, FIRST, SECOND, THIRD, now=THIRD))
    assert former(third) == [
        ("theme", first.metric("theme").edition, DAYS[1]),
        ("dark", first.metric("dark").edition, DAYS[2]),
    ]
    for name, metric in first.metrics.items():
        assert third.asked_as(name, metric.edition) == metric
    now = third.metric("theme")
    assert third.asked_as("theme", now.edition) is now
    assert third.asked_as("theme", "0" * 12) is None


def test_a_change_that_is_not_released_yet_has_no_last_day(tmp_path: Path) -> None:
    registry = history.read(written(tmp_path, FIRST, now=SECOND))
    assert former(registry) == [("theme", Registry.parse(FIRST).metric("theme").edition, None)]


def test_a_metric_that_was_asked_before_and_is_asked_again_is_not_former(tmp_path: Path) -> None:
    registry = history.read(written(tmp_path, FIRST, SECOND, FIRST, now=FIRST))
    assert former(registry) == [("theme", Registry.parse(SECOND).metric("theme").edition, DAYS[2])]


def test_a_former_metric_knows_since_when_it_was_asked_and_what_came_then(tmp_path: Path) -> None:
    registry = history.read(written(tmp_path, FIRST, FIRST, SECOND, now=THIRD))
    theme, dark = registry.former
    assert (theme.since, theme.until, theme.then) == (DAYS[0], DAYS[2], Registry.parse(SECOND).metric("theme"))
    assert (dark.metric.name, dark.since, dark.until, dark.then) == ("dark", DAYS[0], None, None)
    assert registry.newcomers == {"theme"}
    assert history.read(written(tmp_path, FIRST, now=FIRST)).newcomers == set()


def test_every_stratum_that_a_release_listed_is_known_however_the_list_changed(tmp_path: Path) -> None:
    def listing(*platforms: str) -> str:
        strata = f"[strata]\nplatform = {list(platforms)}\n"
        return registry_text(theme=CATEGORY | {"strata": ["platform"]}).replace("[metric", f"{strata}[metric", 1)

    few, more = listing("ios", "android"), listing("ios", "android", "web")
    registry = history.read(written(tmp_path, few, more, few, now=registry_text(theme=CATEGORY)))
    for text in (few, more):
        assert all(registry.asked_as("theme", edition) for edition in Registry.parse(text).metric("theme").editions)


def test_the_history_of_another_app_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, FIRST.replace("acme", "other"), now=FIRST)
    with pytest.raises(RegistryError, match=r":\d+: release 1: is from other.*, but the registry is from acme"):
        history.read(path)


def test_releases_are_kept_in_the_order_of_their_days(tmp_path: Path) -> None:
    old, new = (history.Release(day, Registry.parse(FIRST)) for day in DAYS[:2])
    assert history.with_release((new,), old) == (old, new)
    path = written(tmp_path, now=FIRST)
    history.path_of(path).write_text(history.written((new, old)))
    with pytest.raises(RegistryError, match="must list its releases by date"):
        history.read(path)


@pytest.mark.parametrize("comment", ["# it's", "# '''", '# """', "# \\u0041 \\", "# über", "#'", "# \x7f"])
def test_a_registry_is_kept_to_the_letter(tmp_path: Path, comment: str) -> None:
    source = FIRST + "\n" + comment.replace("\x7f", "")
    path = written(tmp_path, source, now=source)
    (release,) = history.releases_in(history.path_of(path))
    assert release.registry.source == source


SOUND = f"[[release]]\nday = 2026-11-08\nregistry = '''\n{FIRST}'''\n"
LATE = SOUND.replace("08", "01")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("schema = ", ": is not TOML: Invalid value (at end of document); restore it"),
        ("# mine\nschema = 2", ":2: must contain schema = 1"),
        ("schema = 1\nrelease = 3", ":2: must contain schema = 1 and a list of [[release]]; restore it"),
        ("schema = 1\n\nother = 3", ":3: must contain schema = 1"),
        (f"schema = 1\n{SOUND}{LATE}", f":{2 + SOUND.count(chr(10))}: must list its releases by date"),
        ("schema = 1\n[[release]]\nday = 2026-11-01", ":2: release 1: must have a date, such as"),
        (f"schema = 1\n{SOUND}\n[[release]]", f":{3 + SOUND.count(chr(10))}: release 2: must have a date, such as"),
        ("schema = 1\n[[release]]\nday = 2026-11-01\nregistry = 'x'", ":4: release 1: registry: is not TOML"),
        ("schema = 1\n[[release]]\nday = 2026-11-01\nregistry = 'schema = 1'", ":4: release 1: app: is missing"),
    ],
)
def test_an_unusable_history_is_refused_with_its_name_and_the_line(tmp_path: Path, text: str, mistake: str) -> None:
    path = written(tmp_path, now=FIRST)
    history.path_of(path).write_text(text)
    with pytest.raises(RegistryError) as caught:
        history.read(path)
    assert f"metrics.history.toml{mistake}" in str(caught.value)


@pytest.mark.parametrize("quoted", ["'''\n{}'''", "'''{}'''", '"""\\\n{}"""', "escaped"])
def test_a_mistake_in_a_released_registry_has_its_line_however_the_text_is_quoted(tmp_path: Path, quoted: str) -> None:
    mistaken = FIRST.replace('kind = "category"', 'kind = "categry"')
    path = written(tmp_path, now=FIRST)
    value = json.dumps(mistaken) if quoted == "escaped" else quoted.format(mistaken)
    text = f"{history.HEAD}{SOUND}\n[[release]]\nday = 2026-11-09\nregistry = {value}\n"
    history.path_of(path).write_text(text)
    with pytest.raises(RegistryError) as caught:
        history.read(path)
    marked = "registry = " if quoted == "escaped" else "categry"
    line = max(number for number, each in enumerate(text.splitlines(), 1) if marked in each)
    assert str(caught.value).startswith(f"{history.path_of(path)}:{line}: release 2: metric.theme.kind: ")


def test_a_history_of_other_bytes_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, now=FIRST)
    history.path_of(path).write_bytes(b"\xff")
    with pytest.raises(RegistryError, match="not UTF-8"):
        history.read(path)
    history.path_of(path).unlink()
    history.path_of(path).mkdir()
    with pytest.raises(RegistryError, match="cannot be read"):
        history.read(path)


def test_a_stop_of_a_metric_that_no_file_defines_is_named_with_what_was_meant(tmp_path: Path) -> None:
    former, now = (Registry.parse(text).metric("theme").edition for text in (FIRST, SECOND))
    dark = Registry.parse(FIRST).metric("dark").edition
    typo = f"theme:{now[:-1]}{'0' if now[-1] != '0' else '1'}"
    stopped = [f"theme:{former}", f"dark:{dark}", typo, "dark:0123456789ab", f"drak:{dark}", "gone:0123456789ab"]
    path = written(tmp_path, FIRST, now=f"stopped = {json.dumps(stopped)}\n{SECOND}")
    undefined = "stopped: neither the registry nor its history defines"
    otherwise = "; correct or remove it, or add the registry of its release to the history"
    assert history.unknown_stops(history.read(path)) == [
        f'{undefined} "{typo}"; did you mean "theme:{now}"?',
        f'{undefined} "dark:0123456789ab"; did you mean "dark:{dark}"?',
        f'{undefined} "drak:{dark}"; did you mean "dark:{dark}"?',
        f'{undefined} "gone:0123456789ab"{otherwise}',
    ]
    assert history.unknown_stops(in_trial(history.read(path))) == []
