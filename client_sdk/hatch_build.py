"""Builds the wheel for devices: all of the code, without what only its readers need.

Comments and docstrings are a third of a wheel that travels to every device. So it keeps the first line of the
docstrings that an app's developer sees in an editor, and leaves out the others. Everything else is as in the
repository, and so is the number of each line: blank ones stand in place of what is left out. The sdist holds
everything. This module is in no wheel.
"""

from __future__ import annotations

import ast
import io
import tempfile
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE: Final = "client_sdk"

CALLED: Final = frozenset({"__init__.py", "telemetry.py", "testing.py"})
"""The modules that an app's developer calls: an editor shows the first lines of their docstrings."""

HAVE_TEXTS: Final = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class CustomBuildHook(BuildHookInterface[Any]):
    """Puts every module into the wheel, without what only its readers need."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files, unless an editable install wants none."""
        if version == "editable":
            return
        self._lean = tempfile.TemporaryDirectory()
        for name, text in lean_files(Path(self.root)):
            file = Path(self._lean.name, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8", newline="\n")
            build_data["force_include"][str(file)] = f"{PACKAGE}/{name}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 its interface
        """Delete the temporary copies."""
        if version != "editable":
            self._lean.cleanup()


def lean_files(root: Path) -> Iterator[tuple[str, str]]:
    """Yield the name within the package and the text of every file that the wheel holds."""
    for path in (root / "py.typed", *sorted(root.rglob("*/*.toml"))):
        yield path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if path.name != Path(__file__).name:
            yield name, lean(path.read_text(encoding="utf-8"), name)


def lean(source: str, name: str) -> str:
    """Return the source of a module as the wheel holds it."""
    return without_comments(without_docstrings(source, keeps_summaries=name in CALLED))


def without_docstrings(source: str, *, keeps_summaries: bool) -> str:
    """Return a source whose texts that stand for themselves are blank, but for first lines of docstrings."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, HAVE_TEXTS):
            continue
        for text in filter(_is_text, node.body):
            for line in range(text.lineno - 1, text.end_lineno or text.lineno):
                lines[line] = ""
            if keeps_summaries and text is node.body[0]:
                summary = (ast.get_docstring(node) or "").partition("\n")[0]
                lines[text.lineno - 1] = " " * text.col_offset + f'r"""{summary}"""'
            elif len(node.body) == 1:
                lines[text.lineno - 1] = " " * text.col_offset + "..."
    return _joined(lines)


def without_comments(source: str) -> str:
    """Return a source without its comments."""
    lines = source.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip()
    return _joined(lines)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
