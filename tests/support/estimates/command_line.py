"""The estimator's command, in this process on a folder with ``metrics.toml`` and ``tallies``."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from estimator.commands.cli import command


def run(folder: Path, *words: str) -> Result:
    """Run a command with the folder's registry; it must succeed."""
    result = CliRunner().invoke(command, [words[0], "--registry", str(folder / "metrics.toml"), *words[1:]])
    assert result.exit_code == 0, result.output
    return result


def report(folder: Path, *flags: str) -> str:
    """Return what a report of the folder's tallies prints."""
    return run(folder, "report", "--tallies", str(folder / "tallies"), *flags).stdout
