"""What a change of a registry means, and how the registry before it is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from client_sdk.cli import main
from client_sdk.protocol import Registry
from client_sdk.protocol.registry import differences, history
from client_sdk.protocol.registry.differences import KEEP
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, Field, registry_text

THEME: dict[str, Field] = CATEGORY | {"values": ["light", "dark"], "epsilon": 1, "window": "week"}
CHANGES: dict[str, tuple[dict[str, Field], str]] = {
    "a value more": (THEME | {"values": ["light", "dark", "auto"]}, '"auto" was added to values'),
    "values more": (THEME | {"values": ["light", "dark", "a", "b"]}, '"a" and "b" were added to values'),
    "a value less": (
        THEME | {"values": ["light", "gray"]},
        '"gray" was added to values and "dark" was removed from values',
    ),
    "another order": (THEME | {"values": ["dark", "light"]}, "the values are in a different order"),
    "another epsilon": (THEME | {"epsilon": 2}, "epsilon changed from 1 to 2"),
    "another window": (THEME | {"window": "day"}, "it changed from once a week to once a day"),
    "another kind": (BOOLEAN | {"epsilon": 1, "window": "week"}, "its kind changed from category to boolean"),
}


def registry(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


@for_each("name", CHANGES)
def test_a_change_of_meaning_is_said_with_what_it_costs(name: str) -> None:
    fields, said = CHANGES[name]
    old, new = registry(theme=THEME), registry(theme=fields)
    (sentence, keep) = differences.between(old, new)
    assert sentence.startswith(f"metric.theme: {said}")
    before, after = old.metric("theme"), new.metric("theme")
    assert f"this is a new edition ({after.edition})" in sentence
    assert f"the released one ({before.edition})" in sentence
    assert f"pays up to epsilon {after.epsilon_nanos / 1e9:.9g} a {after.window} for it" in sentence
    assert keep == KEEP


def test_metrics_that_come_and_go_are_named_and_new_words_are_not() -> None:
    old, new = registry(theme=THEME, dark=BOOLEAN), registry(theme=THEME | {"purpose": "Another?"}, taps=COUNT)
    price = new.metric("taps").epsilon_nanos / 1e9
    assert differences.between(old, new) == [
        f"metric.taps: is a new question; it costs a device up to epsilon {price:.9g} a {new.metric('taps').window}",
        "metric.dark: is no longer asked; reports of released apps count while the history contains the question",
        KEEP,
    ]
    assert differences.between(old, old) == []


def test_what_the_history_has_needs_no_reminder(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(theme=THEME))
    assert main(["release", "--registry", str(path)]) == 0
    old = Registry.read(path)
    path.write_text(registry_text(dark=BOOLEAN))
    assert KEEP not in differences.between(old, history.read(path))


def test_a_registry_is_released_once_until_metrics_change(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = tmp_path / "metrics.toml", tmp_path / "metrics.history.toml"
    words = ["release", "--registry", str(path)]
    path.write_text(registry_text(theme=THEME))
    assert main([*words, "--check"]) == 1
    assert "if you have released the app with another registry, add that registry first" in capsys.readouterr().err
    assert not file.exists()
    assert main(words) == 0
    assert "deploy both files" in capsys.readouterr().out
    once = file.read_bytes()
    assert main(words) == main([*words, "--check"]) == 0
    assert file.read_bytes() == once
    path.write_text(registry_text(theme=CHANGES["a value more"][0]))
    assert main([*words, "--check"]) == 1
    assert main(words) == 0
    assert file.read_bytes().startswith(once)
    assert len(history.releases_in(file)) == 2
    assert list(tmp_path.glob("*.new")) == []


def test_check_compares_with_the_last_release_or_a_named_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, old = tmp_path / "metrics.toml", tmp_path / "old.toml"
    path.write_text(registry_text(theme=THEME))
    main(["release", "--registry", str(path)])
    old.write_text(registry_text(dark=BOOLEAN))
    path.write_text(registry_text(theme=CHANGES["a value more"][0]))
    capsys.readouterr()
    assert main(["check", "--registry", str(path)]) == 0
    assert 'metric.theme: "auto" was added to values' in capsys.readouterr().out
    assert main(["check", "--registry", str(path), "--against", str(old)]) == 0
    assert "metric.theme: is a new question" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("old", "problem"),
    [
        ("nothing.toml", "nothing.toml: cannot be read"),
        ("nowhere:metrics.toml", "nowhere:metrics.toml: is neither a file nor a revision in git"),
    ],
)
def test_what_cannot_be_compared_with_is_an_error_of_the_command_line(
    old: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "metrics.toml").write_text(registry_text(theme=THEME))
    with pytest.raises(SystemExit) as ended:
        main(["check", "--against", old])
    assert ended.value.code == 2
    assert problem in capsys.readouterr().err


def test_a_bad_history_is_not_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, file = tmp_path / "metrics.toml", tmp_path / "metrics.history.toml"
    path.write_text(registry_text(theme=THEME))
    file.write_text("notes of mine")
    with pytest.raises(SystemExit):
        main(["release", "--registry", str(path)])
    assert "metrics.history.toml" in capsys.readouterr().err
    assert file.read_text() == "notes of mine"
    assert main(["release", "--registry", str(path), "--history", str(tmp_path / "no" / "folder")]) == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_release_that_was_forgotten_is_entered_by_its_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, old, file = tmp_path / "metrics.toml", tmp_path / "old.toml", tmp_path / "metrics.history.toml"
    path.write_text(registry_text(theme=CHANGES["a value more"][0]))
    old.write_text(registry_text(theme=THEME))
    assert main(["release", "--registry", str(path)]) == 0
    words = ["release", "--registry", str(old), "--history", str(file)]
    assert main([*words, "--day", "9999-12-31"]) == 1
    assert "in the future" in capsys.readouterr().err
    assert main([*words, "--day", "2026-01-02"]) == 0
    assert str(history.releases_in(file)[0].day) == "2026-01-02"
    assert main(["release", "--registry", str(path), "--check"]) == 0


def test_what_a_check_refuses_is_not_released(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(theme=THEME | {"epsilon": 3}).replace("accept =", "# accept ="))
    assert main(["check", "--registry", str(path)]) == 1
    said = capsys.readouterr().err
    assert main(["release", "--registry", str(path)]) == 1
    assert capsys.readouterr().err == said
    assert not history.path_of(path).exists()


def test_a_folder_is_no_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["release", "--registry", "."])
