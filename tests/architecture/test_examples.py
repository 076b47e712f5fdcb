"""The examples in the docstrings of the SDK run, and everything in its reference has one."""

from __future__ import annotations

import asyncio
import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import client_sdk
from client_sdk import HearsayError, Telemetry
from client_sdk.testing import KeptUploads

PACKAGE = Path(client_sdk.__file__).parent

REGISTRY = """
schema = 1
[app]
name = "acme"
[budget]
per_window = 9
lifetime = 99
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = 1
[metric.taps]
purpose = "How often?"
kind = "count"
max = 10
statistic = "mean"
epsilon = 1
[metric.days_of_use]
purpose = "How often is the app used?"
kind = "activity"
days = 7
window = "week"
statistic = "mean"
epsilon = 1
"""
"""The file ``metrics.toml`` of the examples."""


def examples() -> Iterator[doctest.DocTest]:
    """Yield the examples of each docstring."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    for path in sorted(PACKAGE.rglob("*.py")):
        if ">>> " in path.read_text(encoding="utf-8") and "node_modules" not in path.parts:
            name = ".".join(("client_sdk", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
            yield from (test for test in finder.find(import_module(name)) if test.examples)


def public() -> Iterator[tuple[str, object]]:
    """Yield what the reference lists, except for errors that have no attributes, and models."""
    for name in client_sdk.__all__:
        value = getattr(client_sdk, name)
        plain = issubclass(value, HearsayError) and "__init__" not in vars(value)
        if not plain and name not in ("Registry", "ShippedModel"):
            yield name, value
    for kind in Telemetry.__mro__[:-1]:
        yield from ((f"Telemetry.{name}", value) for name, value in vars(kind).items() if not name.startswith("_"))
    yield "Registry.load", client_sdk.Registry.load


@pytest.mark.parametrize("example", list(examples()), ids=lambda example: str(example.name))
def test_an_example_prints_what_it_says(
    example: doctest.DocTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("metrics.toml").write_text(REGISTRY, encoding="utf-8")
    with Telemetry(
        "metrics.toml", collector="http://localhost", data_dir=None, consent=True, transport=KeptUploads()
    ) as telemetry:
        example.globs |= {"asyncio": asyncio, "telemetry": telemetry}
        assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize(("name", "value"), list(public()), ids=lambda each: each if isinstance(each, str) else "")
def test_everything_in_the_reference_has_an_example(name: str, value: object) -> None:
    assert ">>> " in (inspect.getdoc(value) or ""), f"write one line into the docstring of {name}"
