"""The pages on the Python API, from signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Final

import client_sdk
import estimator
from client_sdk import results
from tools.reference.markdown import entries, in_markdown, paragraphs, sections, table

OF_TELEMETRY: Final = """\
# Telemetry

The Python API of the SDK, from its docstrings (`python -m tools.reference`).
[What an app should know](sdk.md) says what stands behind it.
"""
OF_ESTIMATOR: Final = """\
# The estimator in Python

What `import estimator` offers to notebooks and jobs, from its docstrings (`python -m tools.reference`).
[The report's schema](report-schema.md) lists every field of a report.
"""

LONGEST_SIGNATURE: Final = 80
"""Characters of a signature in one line."""


def telemetry_page() -> str:
    """Return the page on the SDK in Markdown."""
    telemetry = client_sdk.Telemetry
    parts = [OF_TELEMETRY, "\n## `client_sdk.Telemetry`\n", _body(telemetry, inspect.getdoc(telemetry) or "")]
    parts += [_callable("Telemetry", telemetry.__init__, inspect.getdoc(telemetry.__init__) or "")]
    members = [member for kind in telemetry.__mro__[:-1] for member in vars(kind).items()]
    parts += [_member(name, value) for name, value in members if not name.startswith("_")]
    parts.append(_callable("Registry.load", client_sdk.Registry.load, inspect.getdoc(client_sdk.Registry.load) or ""))
    parts.append("\n## Results\n")
    parts += [_record(getattr(client_sdk, name)) for name in client_sdk.__all__ if _is_result(name)]
    return "".join(parts)


def estimator_page() -> str:
    """Return the page on the estimator in Markdown."""
    functions = [name for name in estimator.__all__ if inspect.isfunction(getattr(estimator, name))]
    errors = [name for name in estimator.__all__ if name.endswith("Error")]
    rows = [(f"`{name}`", _first_line(getattr(estimator, name))) for name in errors]
    parts = [_callable(f"estimator.{name}", getattr(estimator, name), _doc(name)) for name in functions]
    return f"{OF_ESTIMATOR}\n## Functions\n{''.join(parts)}\n## Errors\n\n{table(('error', 'means'), rows)}"


def _doc(name: str) -> str:
    return inspect.getdoc(getattr(estimator, name)) or ""


def _is_result(name: str) -> bool:
    return getattr(client_sdk, name).__module__ in (results.__name__, client_sdk.HearsayError.__module__)


def _member(name: str, value: object) -> str:
    if isinstance(value, property):
        return f"\n### `Telemetry.{name}`\n\nA property. {paragraphs(inspect.getdoc(value) or '')}\n"
    return _callable(f"Telemetry.{name}", value, inspect.getdoc(value) or "") if callable(value) else ""


def _callable(name: str, function: Callable[..., Any], docstring: str) -> str:
    kind = "async " if inspect.iscoroutinefunction(function) else ""
    return f"\n### `{name}`\n\n```python\n{kind}{name}{_signature(function)}\n```\n{_body(function, docstring)}"


def _signature(function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    kept = [each for each in signature.parameters.values() if each.name != "self"]
    shown = ", ".join(_parameters(kept))
    short = f"({shown})"
    lines = "".join(f"    {each},\n" for each in _parameters(kept))
    return short if len(short) < LONGEST_SIGNATURE else f"(\n{lines})"


def _parameters(parameters: list[inspect.Parameter]) -> Iterator[str]:
    starred = False
    for each in parameters:
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        yield each.name if each.default is each.empty else f"{each.name}={_default(each.default)}"


def _default(value: object) -> str:
    """Return a default as code; one that has no code is left to the description."""
    try:
        ast.literal_eval(repr(value))
    except (SyntaxError, ValueError):
        return "..."
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _body(_: object, docstring: str) -> str:
    parts = sections(docstring)
    text = f"\n{paragraphs(parts[''])}\n"
    if "Args" in parts:
        rows = [(f"`{name}`", says) for name, says in entries(parts["Args"])]
        text += f"\n{table(('argument', 'is'), rows)}"
    if "Returns" in parts:
        text += f"\nReturns {_lower(in_markdown(parts['Returns']))}\n"
    if "Raises" in parts:
        text += f"\n{table(('raises', 'when'), [(f'`{name}`', says) for name, says in entries(parts['Raises'])])}"
    return text


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text


def _record(record: type) -> str:
    text = f"\n### `{record.__name__}`\n\n{paragraphs(sections(inspect.getdoc(record) or '')[''])}\n"
    if issubclass(record, Enum):
        rows = [(f"`{member.value}`", says) for member, says in zip(record, _members_say(record), strict=True)]
        return f"{text}\n{table(('value', 'means'), rows)}"
    attributes = entries(sections(inspect.getdoc(record) or "").get("Attributes", ""))
    shown = table(("attribute", "is"), [(f"`{name}`", says) for name, says in attributes])
    return f"{text}\n{shown}" if attributes else text


def _members_say(record: type[Enum]) -> list[str]:
    """Return the string below each member of an enumeration, as its source has it."""
    (definition,) = ast.parse(inspect.getsource(record)).body
    assert isinstance(definition, ast.ClassDef)  # noqa: S101 the source of a class is one
    says: list[str] = []
    for line in definition.body:
        if isinstance(line, ast.Assign):
            says.append("")
        elif says and isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant):
            says[-1] = in_markdown(str(line.value.value))
    return says


def _first_line(record: object) -> str:
    return (inspect.getdoc(record) or "").partition("\n")[0]
