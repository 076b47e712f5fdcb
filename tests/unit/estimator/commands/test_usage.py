"""A command line that cannot be understood is refused with status 2 and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from estimator.commands.cli import COMMANDS, command

REGISTRY = """
schema = 1
app.name = "acme-notes"
budget = { per_window = 2, lifetime = 99 }
[metric.dark]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = 1
"""

NUMBERS = ("", "x", "-1", "nan", "inf", "1e400")
WINDOWS = ("", "x", "2026-W54", "2026-13", "2026-02-30")
PAIRS = ("", "x", "dark", "dark=", "dark=x", "dark=nan", "dark=-1", "other=1")

BAD = {
    "--metric": ("", "other"),
    "--format": ("", "xml"),
    "--reports": ("119", *NUMBERS),
    "--sdk": ("", " ", "'", "/none/at/all"),
    "shell": ("", "tcsh"),
    "--class": ("", "law"),
    "program": ("", " ", "'", "/none/at/all", "false"),
    "--population": ("0", *NUMBERS),
    "--wanted-error": PAIRS,
    "--weight": PAIRS,
    "--delta": ("0", "1", *NUMBERS),
    "--allocate": ("0", "1001", *NUMBERS),
    "--at-most": ("0", "1001", *NUMBERS),
    "--today": ("", "x", "2026-02-30"),
    "--repeat": ("0", *NUMBERS),
    "--windows": ("0", "10001", *NUMBERS),
    "--seed": NUMBERS,
    "--rounds": NUMBERS,
    "--devices": ("99", *NUMBERS),
    "--epsilon": NUMBERS,
    "--loss": ("0", "0.6", *NUMBERS),
    "--from": WINDOWS,
    "--to": WINDOWS,
    "--since": WINDOWS,
    "--with": (
        *("", "x", "clusters,x", "clusters=1", "central", "central=1e-6,central=1e-6", "candidates="),
        *("candidates=none", "range=dark", "range=dark:1:x", "range=dark:1:inf"),
        *(f"{name}={value}" for name in ("central", "poisoning") for value in ("0", "1", *NUMBERS)),
        *(f"installs={value}" for value in ("0", *NUMBERS)),
        *(f"asked={value}" for value in ("0", "1.1", *NUMBERS)),
    ),
    "--language": ("", "tlh"),
    "--every": ("9", "86401", *NUMBERS),
    "--alert": ("", "x", "dark", "dark.mean", "dark.mean > x", "other.mean > 1"),
    "--collector": ("", "x", "ftp://h", "http://u:p@h", "https://["),
}
"""Bad values of options and arguments."""

PATHS = {
    *("--registry", "--csv", "--shares", "--pilot", "--against", "--tallies", "--output", "folder", "--html"),
    *("--tallies-out", "--public"),
}
"""Any text may name a file: what is in it has tests of its own."""

NEEDED = {
    "audit": (),
    "conformance": ("cat",),
    "plan": (),
    "rehearse": ("--population", "1000"),
    "rehearse-model": ("--csv", "people.csv", "--metric", "dark"),
    "archive": ("reports", "--tallies", "tallies.ndjson"),
    "report": ("--tallies", "tallies.ndjson"),
    "watch": ("--collector", "http://127.0.0.1:9"),
}
"""What each command needs besides a registry."""


def taking_values() -> Iterator[tuple[str, click.Parameter]]:
    """Yield each command's name with each of its options and arguments that takes a value."""
    for name in COMMANDS:
        subcommand = command.get_command(click.Context(command), name)
        assert subcommand is not None
        for parameter in subcommand.params:
            if not getattr(parameter, "is_flag", False):
                yield name, parameter


CASES = [(name, option.opts[0], bad) for name, option in taking_values() for bad in BAD.get(option.opts[0], ())]


WITH_REGISTRY = {(name, option.opts[0]) for name, option in taking_values()}


def test_every_option_has_bad_values_or_is_a_path() -> None:
    assert {option.opts[0] for _, option in taking_values()} == PATHS | set(BAD)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_value_is_refused_with_status_2_and_a_sentence(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metrics.toml").write_text(REGISTRY)
    Path("tallies.ndjson").write_text("")
    Path("people.csv").write_text("dark\nyes\n")
    for _, option, bad in (case for case in CASES if case[0] == name):
        result = invoked(name, option, bad)
        assert isinstance(result.exception, SystemExit), (option, bad, result.exception)
        assert (result.exit_code, result.stdout) == (2, ""), (option, bad, result.output)
        assert result.stderr.strip()


def invoked(name: str, option: str, bad: str) -> Result:
    """Run a command with a bad value and whatever else it needs."""
    needed = list(NEEDED.get(name, ()))
    if option == "program":
        needed = []
    if option in ("--collector", "--population", "--metric") and option in needed:
        del needed[needed.index(option) :][:2]
    given = [option, bad] if option.startswith("--") else [bad]
    registry = ["--registry", "metrics.toml"] if (name, "--registry") in WITH_REGISTRY and option != "folder" else []
    return CliRunner(env={"HEARSAY_READ_TOKEN": "a-token-of-the-tests"}).invoke(
        command, [name, *registry, *needed, *given]
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plan --population 20k", "'20k' must be a whole number from 1 to 1,000,000,000,000,000"),
        ("plan --population 100 --delta x", "'x' must be a number from 1e-09 to 0.1"),
        ("plan --population 100 --allocate 0", "'0' must be a number above 0 and at most 1,000"),
        ("plan --population 100 --today 2026-02-30", "'2026-02-30' must be a date, such as 2026-11-22"),
        (
            "plan --population 100 --wanted-error dark=1",
            "must be smaller than the length of the figure's range, 1; try",
        ),
        ("plan --population 100 --allocate 1 --wanted-error dark=5", "try dark=0.02"),
        ("plan --population 100 --wanted-error drak=0.1", '; did you mean "dark"?'),
        ("report --tallies tallies.ndjson --metric drak", '; did you mean "dark"?'),
        ("report --tallies tallies.ndjson --alert drak.mean>1", '; did you mean "dark"?'),
        ("report --tallies tallies.ndjson --alert dark.share[yess]>0.1", '; did you mean "yes"?'),
        ("rehearse --population 100 --rounds -1", "'-1' must be a whole number at least 0"),
        ("rehearse-model --csv people.csv --metric drak", '; did you mean "dark"?'),
        ("audit --metric drak", '; did you mean "dark"?'),
    ],
)
def test_a_bad_value_is_refused_in_words_that_say_what_to_write(
    line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metrics.toml").write_text(REGISTRY)
    Path("tallies.ndjson").write_text("")
    result = CliRunner().invoke(command, line.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
