"""Secrets come from variables and files, and no error shows them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from collector.commands.cli import cli
from collector.commands.options import read_secret
from collector.errors import ConfigError

SERVE = ("serve", "--registry", "none")
CLOSE = ("store", "close", "--window", "2026-11-20")
OF_A_STORE = (
    SERVE,
    ("check", "--registry", "none"),
    CLOSE,
    ("store", "retire", "--before", "2026-11-20"),
    ("store", "export"),
    ("store", "import", "--from", "none"),
    ("store", "accept-loss"),
)
FROM_A_FILE = (*SERVE, "--read-token-file", "none")


def test_a_secret_stands_in_a_variable_or_in_a_file_without_the_end_of_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET", "SECRET_FILE"):
        monkeypatch.delenv(name, raising=False)
    assert read_secret("SECRET") is None
    file = tmp_path / "secret"
    file.write_text("sesame\r\n")
    assert read_secret("SECRET", file) == "sesame"
    monkeypatch.setenv("SECRET_FILE", str(file))
    assert read_secret("SECRET") == "sesame"
    monkeypatch.delenv("SECRET_FILE")
    monkeypatch.setenv("SECRET", "mellon")
    assert read_secret("SECRET") == "mellon"
    file.write_bytes(b"\xff")
    monkeypatch.delenv("SECRET")
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read_secret("SECRET", file)


@pytest.mark.parametrize(
    ("command", "settings", "named", "status"),
    [
        (FROM_A_FILE, {}, "none cannot be read", 1),
        (FROM_A_FILE, {"HEARSAY_READ_TOKEN": "canary"}, "HEARSAY_READ_TOKEN is set, and a file", 1),
        ((*SERVE, "--access", "none"), {"HEARSAY_READ_TOKEN": "canary"}, "the access file says who may read", 2),
        (SERVE, {"HEARSAY_READ_TOKEN": "a canary"}, "printable ASCII", 1),
        (SERVE, {"HEARSAY_READ_TOKEN": "canary"}, "the read token has fewer than 16 characters", 1),
        ((*CLOSE, "--redis", "redis://:canary@127.0.0.1"), {}, "in HEARSAY_REDIS_URL", 2),
        ((*CLOSE, "--redis", "redis://127.0.0.1?password=canary"), {}, "in HEARSAY_REDIS_URL", 2),
        (CLOSE, {"HEARSAY_REDIS_URL": "redis://:can/canary@127.0.0.1"}, "--redis must be a URL", 2),
        (CLOSE, {"HEARSAY_REDIS_URL": "redis://app:canary@127.0.0.1:1"}, "the store cannot be used", 1),
        (CLOSE, {"HEARSAY_REDIS_URL_FILE": "none"}, "none cannot be read", 2),
        ((*SERVE, "--read-token-file", os.devnull), {}, f"{os.devnull} is empty: it must contain the value of", 1),
        (SERVE, {"HEARSAY_READ_TOKEN": ""}, "HEARSAY_READ_TOKEN is set but empty", 1),
    ],
)
def test_what_is_wrong_with_a_secret_is_said_without_showing_it(
    command: tuple[str, ...], settings: dict[str, str], named: str, status: int
) -> None:
    unset = dict.fromkeys(("HEARSAY_READ_TOKEN", "HEARSAY_REDIS_URL", "HEARSAY_REDIS_URL_FILE"))
    result = CliRunner(env=unset | settings).invoke(cli, command)
    assert (result.exit_code, named in result.stderr) == (status, True), result.stderr
    assert "canary" not in result.output


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"HEARSAY_REDIS_URL": ""}, "HEARSAY_REDIS_URL is set but empty"),
        ({"HEARSAY_REDIS_URL_FILE": ""}, "HEARSAY_REDIS_URL_FILE is set but empty"),
        ({"HEARSAY_REDIS_URL_FILE": "store_url"}, "store_url is empty: it must contain the value of HEARSAY_REDIS_URL"),
    ],
)
@pytest.mark.parametrize("command", OF_A_STORE)
def test_an_empty_url_is_not_taken_for_the_embedded_store(
    command: tuple[str, ...], settings: dict[str, str], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "store_url").write_text("\n")
    unset = dict.fromkeys(("HEARSAY_READ_TOKEN", "HEARSAY_REDIS_URL", "HEARSAY_REDIS_URL_FILE"))
    result = CliRunner(env=unset | settings).invoke(cli, command)
    assert (result.exit_code, named in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("command", [CLOSE, ("store", "export"), ("store", "accept-loss")])
def test_an_empty_url_on_the_command_line_is_no_url(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, (*command, "--redis", ""))
    assert (result.exit_code, "--redis must be a URL" in result.stderr) == (2, True), result.stderr
