"""Builds the wheel for devices: all of the code, without what only its readers need.

Comments and docstrings are a third of a wheel that travels to every device. So it keeps the first
line of the docstrings that an app's developer sees in an editor, and leaves out the others; tabs
indent it. Everything else is as in the repository, and so is the number of each line: blank ones
stand in place of what is left out. Whether that is so is checked for every module; a module that
cannot be made lean fails the build. The sdist holds everything. This module is in no wheel.
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

CALLED: Final = frozenset({"__init__.py", "telemetry.py", "testing.py", "results.py"})
"""The modules that an app's developer calls: editors show the first lines of their docstrings."""

MEMBERS: Final = frozenset({"results.py"})
"""The modules of which an editor shows the texts behind the members of enumerations, too."""

_HasTexts = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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
    """Yield the name within the package and the text of every file that the wheel holds.

    Raises:
        ValueError: if a module cannot be made lean.

    """
    yield "py.typed", (root / "py.typed").read_text(encoding="utf-8")
    for folder in packages(root):
        for path in sorted(path for path in folder.iterdir() if path.suffix in (".py", ".toml")):
            name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
            if path.suffix == ".py" and path.name != Path(__file__).name:
                yield name, lean(text, name)
            elif path.suffix == ".toml" and folder != root:
                yield name, text


def packages(folder: Path) -> Iterator[Path]:
    """Yield a package and those within it: an environment beside the modules is none of them."""
    yield folder
    for path in sorted(folder.iterdir()):
        if (path / "__init__.py").is_file():
            yield from packages(path)


def lean(source: str, name: str) -> str:
    """Return the source of a module as the wheel holds it.

    Raises:
        ValueError: if that would be other code, or other lines.

    """
    try:
        text = without_docstrings(source, is_called=name in CALLED, keeps_members=name in MEMBERS)
        text = with_tabs(without_comments(text))
        is_same = code_of(text) == code_of(source)
    except (SyntaxError, tokenize.TokenError):
        is_same = False
    if not is_same:
        raise ValueError(f"{PACKAGE}/{name} would lose code: put every docstring on lines of its own")
    return text


def without_docstrings(source: str, *, is_called: bool, keeps_members: bool) -> str:
    """Return a source whose standalone texts are blank, except for first lines of docstrings.

    Args:
        source: the module.
        is_called: whether an app's developer sees its docstrings. Other dataclasses have their name
            in its place: `dataclasses` would compute a longer text while it imports the SDK.
        keeps_members: whether the texts behind the members of classes are kept as they are.

    """
    lines = source.split("\n")
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, _HasTexts):
            continue
        for text in filter(_is_text, node.body[:1] if keeps_members and isinstance(node, ast.ClassDef) else node.body):
            for line in range(text.lineno - 1, text.end_lineno or text.lineno):
                lines[line] = ""
            if text is node.body[0]:
                lines[text.lineno - 1] = " " * text.col_offset + _in_its_place(node, is_called=is_called)
    return "\n".join(lines)


def without_comments(source: str) -> str:
    """Return a source without its comments."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip()
    return "\n".join(lines)


def with_tabs(source: str) -> str:
    """Return a source indented by tabs, which take less room, except in texts of several lines."""
    lines = source.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = {line for token in tokens for line in range(token.start[0], token.end[0])}
    for index, line in enumerate(lines):
        if index not in texts:
            blanks = len(line) - len(line.lstrip(" "))
            lines[index] = "\t" * (blanks // 4) + line[blanks // 4 * 4 :]
    return "\n".join(lines)


def code_of(source: str) -> list[str]:
    """Return every statement of a module with its line, except texts and dots that stand alone."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, _HasTexts):
            node.body = [statement for statement in node.body if not _stands_for_itself(statement)]
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    return [f"{node.lineno} {ast.dump(node)}" for node in nodes]


def _in_its_place(node: _HasTexts, *, is_called: bool) -> str:
    """Return what stands in place of a docstring."""
    if is_called and not _is_private(node):
        return repr((ast.get_docstring(node) or "").partition("\n")[0])
    if isinstance(node, ast.ClassDef) and _is_dataclass(node):
        return repr(node.name)
    return "..." if all(map(_is_text, node.body)) else ""


def _is_private(node: _HasTexts) -> bool:
    return not isinstance(node, ast.Module) and node.name.startswith("_") and node.name != "__init__"


def _is_dataclass(node: ast.ClassDef) -> bool:
    return any("dataclass" in ast.unparse(line) for line in node.decorator_list)


def _is_text(statement: ast.stmt) -> bool:
    return _stands_for_itself(statement, str)


def _stands_for_itself(statement: ast.stmt, *kinds: type) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, kinds or (str, type(...)))
    )
