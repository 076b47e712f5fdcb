"""Tests of an app that embeds the SDK: they see true answers, and none reaches a collector."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from client_sdk.testing import Answer, answers
from examples.notes.notes import main


def run(home: Path, *words: str) -> str:
    """Run a command of the app in this process."""
    result = CliRunner().invoke(main, ["--home", str(home), *words], catch_exceptions=False)
    return result.output


def test_the_style_of_an_export_is_recorded(tmp_path: Path) -> None:
    """What the app records is what it should."""
    run(tmp_path, "telemetry", "on")
    with answers() as recorded:
        run(tmp_path, "add", "milk")
        run(tmp_path, "export", "--style", "markdown")
    assert recorded == [Answer("notes", 1), Answer("export", "markdown")]


def test_without_consent_nothing_is_kept(tmp_path: Path) -> None:
    """Consent is the user's."""
    with answers() as recorded:
        run(tmp_path, "add", "milk")
    assert [str(answer.outcome) for answer in recorded] == ["no_consent"]
    assert not (tmp_path / "telemetry").exists()
