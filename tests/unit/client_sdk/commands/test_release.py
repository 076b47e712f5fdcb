"""What a change of a registry means, and how the registry before it is kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from client_sdk.cli import main
from client_sdk.protocol import Registry
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.differences import KEEP, differences
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, Field, registry_text

THEME: dict[str, Field] = CATEGORY | {"values": ["light", "dark"], "epsilon": 1, "window": "week"}
CHANGES: dict[str, tuple[dict[str, Field], str]] = {
    "a value more": (THEME | {"values": ["light", "dark", "auto"]}, 'adds "auto" to values'),
    "a value less": (THEME | {"values": ["light", "grey"]}, 'adds "grey" to values; takes "dark" out of values'),
    "another order": (THEME | {"values": ["dark", "light"]}, "values have another order"),
    "another epsilon": (THEME | {"epsilon": 2}, "epsilon is 2, and was 1"),
    "another window": (THEME | {"window": "day"}, "it is asked once a day, and was once a week"),
    "another kind": (BOOLEAN | {"epsilon": 1, "window": "week"}, "its kind is boolean, and was category"),
}


def registry(**metrics: dict[str, Field]) -> Registry:
    return Registry.parse(registry_text(**metrics))


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_meaning_is_said_with_what_it_costs(name: str) -> None:
    fields, said = CHANGES[name]
    old, new = registry(theme=THEME), registry(theme=fields)
    (sentence, keep) = differences(old, new)
    assert sentence.startswith(f"metric.theme: {said}")
    before, after = old.metric("theme"), new.metric("theme")
    assert f"a new edition ({after.edition})" in sentence
    assert f"the old one ({before.edition})" in sentence
    assert sentence.endswith(f"pays epsilon {after.epsilon_nanos / 1e9:.9g} a {after.window} again")
    assert keep == KEEP


def test_every_difference_of_two_editions_is_named() -> None:
    """A change that nothing names would leave the developer with two numbers."""
    for fields, _ in CHANGES.values():
        (sentence, _) = differences(registry(theme=THEME), registry(theme=fields))
        assert re.match(r"metric\.theme: \w", sentence)


def test_questions_that_come_and_go_are_named_and_new_words_are_not() -> None:
    old, new = registry(theme=THEME, dark=BOOLEAN), registry(theme=THEME | {"purpose": "Another?"}, taps=COUNT)
    price = new.metric("taps").epsilon_nanos / 1e9
    assert differences(old, new) == [
        f"metric.taps: is a new question; a device pays epsilon {price:.9g} a {new.metric('taps').window}",
        "metric.dark: is asked no more; reports of released apps count as long as the history has it",
        KEEP,
    ]
    assert differences(old, old) == []


def test_what_the_history_has_needs_no_reminder(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(theme=THEME))
    assert main(["release", "--registry", str(path)]) == 0
    old = Registry.read(path)
    path.write_text(registry_text(dark=BOOLEAN))
    assert KEEP not in differences(old, history.read(path))


def test_a_registry_is_released_once_until_its_questions_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, file = tmp_path / "metrics.toml", tmp_path / "metrics.history.toml"
    words = ["release", "--registry", str(path)]
    path.write_text(registry_text(theme=THEME))
    assert main([*words, "--check"]) == 1
    assert "is not in" in capsys.readouterr().err
    assert not file.exists()
    assert main(words) == 0
    assert "ship it with" in capsys.readouterr().out
    once = file.read_bytes()
    assert main(words) == main([*words, "--check"]) == 0
    assert file.read_bytes() == once
    path.write_text(registry_text(theme=CHANGES["a value more"][0]))
    assert main([*words, "--check"]) == 1
    assert main(words) == 0
    assert file.read_bytes().startswith(once)
    assert len(history.releases_in(file)) == 2
    assert list(tmp_path.glob("*.new")) == []


def test_check_compares_with_the_last_release_or_with_the_file_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, old = tmp_path / "metrics.toml", tmp_path / "old.toml"
    path.write_text(registry_text(theme=THEME))
    main(["release", "--registry", str(path)])
    old.write_text(registry_text(dark=BOOLEAN))
    path.write_text(registry_text(theme=CHANGES["a value more"][0]))
    capsys.readouterr()
    assert main(["check", "--registry", str(path)]) == 0
    assert 'metric.theme: adds "auto" to values' in capsys.readouterr().out
    assert main(["check", "--registry", str(path), "--against", str(old)]) == 0
    assert "metric.theme: is a new question" in capsys.readouterr().out


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
