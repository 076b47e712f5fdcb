"""The exit statuses stand in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import click
import pytest

from client_sdk.protocol.command_line import MEANINGS, ExitStatus

ROOT = Path(__file__).parents[2]
PACKAGES = ("client_sdk", "collector", "estimator")
EXITS = {"exit", "Exit", "SystemExit"}


def numbered_exits(path: Path) -> list[str]:
    """Return the lines of a module that exit with a number."""
    calls = (node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    return [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for call in calls
        if (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in EXITS
        and any(isinstance(each, ast.Constant) and isinstance(each.value, int) for each in ast.walk(call))
    ]


@pytest.mark.slow
def test_no_module_exits_with_a_number_of_its_own() -> None:
    modules = [
        path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "typescript" not in path.parts
    ]
    assert [line for path in modules for line in numbered_exits(path)] == []


def test_the_command_line_library_uses_the_same_numbers() -> None:
    assert (click.UsageError.exit_code, click.ClickException.exit_code) == (ExitStatus.USAGE, ExitStatus.FAILED)


def test_no_page_repeats_the_table_of_every_status() -> None:
    assert list(MEANINGS) == list(ExitStatus)
    pages = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
    assert [name for name, text in pages.items() if "| exit status |" in text] == []
