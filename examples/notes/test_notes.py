"""Tests of an app with the SDK. The tests see true answers, but send nothing to a collector."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from client_sdk.testing import Answer, answers
from examples.notes import notes


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the app a separate folder for each test."""
    monkeypatch.setattr(notes, "HOME", tmp_path)
    monkeypatch.setattr(notes, "FILE", tmp_path / "notes.json")
    return tmp_path


def run(*words: str) -> None:
    """Run a command of the app in this process."""
    CliRunner().invoke(notes.main, words, catch_exceptions=False)


def test_the_style_of_an_export_is_recorded() -> None:
    """The app records the style of an export."""
    with answers(consent=True) as recorded:
        run("add", "milk")
        run("export", "--style", "markdown")
    assert recorded == [Answer("notes", 1), Answer("export", "markdown")]


def test_without_consent_nothing_is_kept(home: Path) -> None:
    """The app records nothing without the user's consent."""
    with answers(consent=False) as recorded:
        run("add", "milk")
    assert [answer.outcome for answer in recorded] == ["no_consent"]
    assert [path.name for path in home.iterdir()] == ["notes.json"]
