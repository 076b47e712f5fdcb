"""Writes a typed Python module with an object for each metric (``hearsay-client codegen``).

Editors and type checkers can then find misspelled metrics and answers of the wrong type.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.command_line import is_same_file, replaces_another_kind
from client_sdk.protocol.kinds.kind import literals
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry

CLASSES = {"record": "Metric", "count": "Count", "active": "Activity"}
"""Maps each recording method of `Telemetry` to the name of its generated class."""

_FIRST_LINE = '"""Typed questions, written by ``hearsay-client codegen`` from the registry: do not edit."""'

_HEAD = f'''\
{_FIRST_LINE}

# ruff: noqa

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from decimal import Decimal
from fractions import Fraction
from typing import Generic, Literal, TypeVar

from client_sdk import Recorded, Telemetry

Answer = TypeVar("Answer")


class Metric(Generic[Answer]):
    """A question of the registry."""

    def __init__(self, telemetry: Telemetry, name: str) -> None:
        self._telemetry = telemetry
        self._name = name

    def record(self, answer: Answer) -> Recorded:
        """Perturb an answer and queue its report, as `Telemetry.record` does."""
        return self._telemetry.record(self._name, answer)

    def provide(self, function: Callable[[], Answer | None]) -> None:
        """Call a function for the answer in each window, as `Telemetry.provide` does."""
        self._telemetry.provide(self._name, function)


class Count(Metric[int]):
    """A question whose answer the app adds up over a window."""

    def count(self, by: int = 1) -> Recorded:
        """Add to the count of the present window, as `Telemetry.count` does."""
        return self._telemetry.count(self._name, by)


class Activity(Metric[int]):
    """A question that counts days of use."""

    def active(self) -> Recorded:
        """Remember today as a day of use, as `Telemetry.active` does."""
        return self._telemetry.active(self._name)


class Metrics:
    """All questions of the registry."""

    def __init__(self, telemetry: Telemetry) -> None:
'''


_CLASSES = "class Metric(Generic[Answer]):"
"""The first line of the first class in `_HEAD`. The type of the purposes is inserted above this
line."""


def codegen(path: Path, output: Path | None) -> Outcome:
    """Write the module to a file. If ``output`` is None, return the module instead."""
    registry = Registry.read(path)
    text = module_of(registry)
    if output is None:
        return Outcome(text)
    if is_same_file(output, path):
        return Outcome(problems=(f"{output} is the registry itself; name another file",))
    if replaces_another_kind(output, lambda head: head.startswith(_FIRST_LINE.encode())):
        return Outcome(problems=(f"{output} was not written by codegen and was not changed; name another file",))
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        return Outcome(problems=(f"{output} cannot be written: {error.strerror}; name a writable file",))
    return Outcome(f"wrote {output}: {len(registry.metrics)} questions\n")


def module_of(registry: Registry) -> str:
    """Return the source of the typed module."""
    taken: set[str] = set()
    return (
        _HEAD.replace(_CLASSES, _purpose(registry) + _CLASSES, 1)
        + "\n".join(line for metric in registry.metrics.values() for line in _attribute(metric, taken))
        + "\n"
    )


def _purpose(registry: Registry) -> str:
    purposes = sorted(frozenset[str]().union(*(metric.consent for metric in registry.metrics.values())))
    text = '"""What the user can agree to: `Telemetry(consent=…)` takes a set of these."""'
    purpose = literals(purposes, "Literal[{}]", ", ")
    return f"Purpose = {purpose}\n{text}\n\n\n" if purposes else ""


def _attribute(metric: Metric, taken: set[str]) -> Iterator[str]:
    name = metric.name
    while keyword.iskeyword(name) or name in taken:
        name += "_"
    taken.add(name)
    class_name = CLASSES[metric.kind.call]
    kind = f"Metric[{metric.kind.python_type}]" if metric.kind.call == "record" else class_name
    titled = f"{metric.title}: " if metric.title != metric.name else ""
    yield f"        #: {titled}{metric.purpose}"  # without the colon, a purpose could act as a type checker's directive
    yield f'        self.{name}: {kind} = {class_name}(telemetry, "{metric.name}")'
