"""A metric at another epsilon: the channel that its definition would make.

In the registry's text only the numbers change, so that the patch is small.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Any

import tomlkit
from tomlkit.container import Container

from client_sdk.protocol.mechanisms import AUTO, channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.errors import PlanError


@dataclass(frozen=True, slots=True)
class Candidates:
    """A registry and the tables that define its metrics.

    Attributes:
        registry: with its present epsilons.
        tables: the table of each metric in the file.

    """

    registry: Registry
    tables: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, text: str) -> Candidates:
        """Read a registry's TOML."""
        return cls(Registry.parse(text), tomllib.loads(text, parse_float=Decimal)["metric"])

    def at(self, name: str, epsilon: str) -> Metric:
        """Return a metric with the channel that it would have at an epsilon.

        Args:
            name: the metric's.
            epsilon: as the registry would state it.

        Raises:
            PlanError: if there is no such channel.

        """
        metric, table = self.registry.metrics[name], self.tables[name]
        delta, utility, permanent = (table.get(key) for key in ("delta", "utility", "permanent_epsilon"))
        try:
            channel = channel_for(
                metric.kind,
                RequestedEpsilon.parse(Decimal(epsilon)),
                table.get("mechanism", AUTO),
                delta=None if delta is None else Fraction(delta),
                utility=None if utility is None else tuple(tuple(map(Fraction, row)) for row in utility),
                permanent=None if permanent is None else RequestedEpsilon.parse(permanent),
                has_no_answer=metric.has_no_answer,
            )
        except ValueError as error:
            raise PlanError(f"{name}: {error}; allocate a larger total, or want less of the others") from error
        return replace(metric, channel=channel)


LOST = 1 + 2.0**-44
"""Makes up for the rounding of floats, so that 2 is not written as 1.99999. No sum of short
decimals exceeds a total by so little.
"""

DIGITS = 6
"""Significant digits of a written epsilon. The last one changes an error by a millionth."""


def written(epsilon: float) -> str:
    """Return an epsilon as a registry states it, rounded down but for what floats may have lost."""
    number = Decimal(epsilon * LOST)
    last = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return format(number.quantize(last, ROUND_DOWN).normalize(), "f")


def rewritten(text: str, epsilons: Mapping[str, str], answers: int | None = None) -> str:
    """Return a registry's text with other epsilons.

    Args:
        text: a sound registry as TOML, with tables of any form: with headers, dotted or inline.
        epsilons: the new epsilon of each metric, as TOML.
        answers: the new number of questions that a window asks. None where it stays.

    """
    document = tomlkit.parse(text)
    for name, epsilon in epsilons.items():
        _set(document, ("metric", name, "epsilon"), epsilon)
    if answers is not None:
        _set(document, ("budget", "answers"), str(answers))
    return tomlkit.dumps(document)


def diff(name: str, before: str, after: str) -> str:
    """Return a unified diff that ``patch`` applies to the file with this name."""
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _set(document: Container, keys: tuple[str, ...], value: str) -> None:
    """Set a value. Its line keeps its spaces and its comment."""
    *tables, key = keys
    table = document
    for name in tables:
        table = table[name]
    table[key] = tomlkit.value(value)
