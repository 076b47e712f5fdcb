from __future__ import annotations

from pathlib import Path

import click
import pytest

from estimator.commands.report_options import read_token


def test_a_token_stands_in_a_variable_or_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSAY_READ_TOKEN", "sesame")
    assert read_token() == "sesame"
    monkeypatch.delenv("HEARSAY_READ_TOKEN")
    (tmp_path / "token").write_text("mellon\n")
    monkeypatch.setenv("HEARSAY_READ_TOKEN_FILE", str(tmp_path / "token"))
    assert read_token() == "mellon"


@pytest.mark.parametrize(
    ("token", "content", "problem"),
    [
        (None, None, "set HEARSAY_READ_TOKEN"),
        ("", None, "one line of ASCII"),
        ("s\u00e9same", None, "one line of ASCII"),
        (None, b"two\nlines\n", "one line of ASCII"),
        (None, b"\xffsesame", "is not UTF-8 text"),
        ("sesame", b"sesame", "are both set"),
    ],
)
def test_a_token_that_is_none_is_named_and_not_shown(
    token: str | None, content: bytes | None, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("", token), ("_FILE", None if content is None else str(tmp_path / "token"))):
        monkeypatch.delenv(f"HEARSAY_READ_TOKEN{name}", raising=False)
        if value is not None:
            monkeypatch.setenv(f"HEARSAY_READ_TOKEN{name}", value)
    (tmp_path / "token").write_bytes(content or b"")
    with pytest.raises(click.UsageError, match=problem) as caught:
        read_token()
    assert "same" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARSAY_READ_TOKEN", raising=False)
    monkeypatch.setenv("HEARSAY_READ_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(click.UsageError, match="none cannot be read: No such file"):
        read_token()
