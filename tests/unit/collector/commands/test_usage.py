"""A command line that cannot be understood is refused with status 2 and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from collector.commands.cli import cli
from tools.reference.commands import contexts

NUMBERS = ("", "x", "-1", "nan", "1e400", "9" * 400)
BINDS = ("", "nowhere", "127.0.0.1", ":8080", "127.0.0.1:x", "127.0.0.1:0", "127.0.0.1:65536", "h:" + "9" * 400)
WINDOWS = ("", "x", "2026-W54", "2026-13", "2026-02-30", "2026-11-20 ")
URLS = ("", "x", "http://h", "redis://h:0", "redis://h:x", "redis://h/x", "redis://h?x=1", "redis://[", "unix://h/s")

BAD = {
    "--bind": BINDS,
    "serve --metrics-bind": (*BINDS, "0.0.0.0:8080"),
    "relay --metrics-bind": (*BINDS, "0.0.0.0:8081"),
    "--redis": URLS,
    "--durability": ("", "disk"),
    "--copies": ("0", "6", "2", *NUMBERS),
    "--grace": (*NUMBERS, "31622401"),
    "--snapshot-interval": ("0", *NUMBERS),
    "--workers": ("0", "65", *NUMBERS),
    "--threads": ("0", "257", *NUMBERS),
    "--store-memory": ("", "x", "-1", "1", "2P", "1.5G", "9" * 400),
    "--cors-origin": ("", "x", "*", "https://", "https://a/", "https://A", "https://[::1"),
    "--log-format": ("", "xml"),
    "--window": WINDOWS,
    "--before": WINDOWS,
    "--role": ("", "admin"),
    "name": ("", "A b", "Ä", "x" * 65),
    "shell": ("", "tcsh"),
    "--gather": ("0", "10.1", "inf", *NUMBERS),
    "--held": ("0", "60001", *NUMBERS),
    "relay --to": ("", "x", "ftp://h", "http://h.example", "https://u:p@h", "https://[", "https://h?x"),
    "store export --to": ("-",),
}
"""Bad values of options and arguments, by their names or by command and name."""

PATHS = {"--registry", "--access", "--read-token-file", "--key-file", "--data-dir", "--from", "--state"}
"""Any text may name a file: whether there is one is no question of the command line."""

NEEDED = {
    "--registry": "none.toml",
    "--window": "2026-11-20",
    "--before": "2026-11-20",
    "--to": "https://h.example",
    "--from": "none",
    "--state": "relay.json",
    "name": "edge",
    "shell": "bash",
}
"""A good value of everything that a command needs."""


COMMANDS = {
    context.command_path.removeprefix("cli "): context.command
    for context in contexts("cli", cli)
    if context.command is not cli
}


def taking_values() -> Iterator[tuple[str, click.Parameter]]:
    """Yield each command's name with each of its options and arguments that takes a value."""
    for name, command in COMMANDS.items():
        for parameter in command.params:
            if not getattr(parameter, "is_flag", False):
                yield name, parameter


def bad_values(command: str, option: str) -> tuple[str, ...]:
    return BAD.get(f"{command} {option}", BAD.get(option, ()))


CASES = [
    (command, parameter.opts[0], value)
    for command, parameter in taking_values()
    for value in bad_values(command, parameter.opts[0])
]


def test_every_option_has_bad_values_or_is_a_path() -> None:
    without = {
        parameter.opts[0] for command, parameter in taking_values() if not bad_values(command, parameter.opts[0])
    }
    assert without == PATHS


@pytest.mark.slow
@pytest.mark.parametrize("command", sorted({command for command, *_ in CASES}))
def test_a_bad_value_is_refused_with_status_2_and_a_sentence(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _, option, value in (case for case in CASES if case[0] == command):
        result = invoked(command, option, value)
        assert isinstance(result.exception, SystemExit), (option, value, result.exception)
        assert (result.exit_code, result.stdout) == (2, ""), (option, value, result.stderr)
        assert result.stderr.strip()
        assert list(tmp_path.iterdir()) == []


def invoked(command: str, option: str, value: str) -> Result:
    """Run a command with a bad value and whatever else it needs."""
    needed = {
        parameter.opts[0]: NEEDED[parameter.opts[0]] for parameter in COMMANDS[command].params if parameter.required
    }
    words = command.split()
    for name, given in ({**needed, option: value}).items():
        words += [f"{name}={given}"] if name.startswith("--") else ["--", given]
    environment = {
        "HEARSAY_READ_TOKEN": "a-token-of-the-tests",
        "HEARSAY_RELAY_KEY": "a-key-of-the-tests",
        "HEARSAY_REDIS_URL": None,
        "HEARSAY_REDIS_URL_FILE": None,
    }
    return CliRunner(env=environment).invoke(cli, words)
