"""The options that several commands share: the registry, windows, and numbers within bounds."""

from __future__ import annotations

import math
from pathlib import Path

import click

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window

REGISTRY = click.option(
    "--registry",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("metrics.toml"),
    show_default=True,
    help="The file of metrics.",
)


class WindowType(click.ParamType[Window]):
    """A window by its name."""

    name = "window"

    def convert(self, value: str | Window, param: click.Parameter | None, ctx: click.Context | None) -> Window:
        """Return the window that a text names. Any other text is a usage error."""
        if isinstance(value, Window):
            return value
        try:
            return Window.parse(value)
        except WindowError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


class FiniteNumber(click.ParamType[float]):
    """A number that is neither infinite nor NaN."""

    name = "number"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Any other text is a usage error."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            self.fail(f"must be a number, not {value!r}", param, ctx)
        return number


class NumberRange(click.FloatRange):
    """A number within bounds.

    Unlike click, it refuses NaN, which is neither below nor above any bound.
    """

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Any other text is a usage error."""
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type] # its stub leaves out texts
        if math.isnan(number):
            self.fail(f"must be a number, not {value!r}", param, ctx)
        return number


BETWEEN_0_AND_1 = NumberRange(0, 1, min_open=True, max_open=True)

RANGES = click.option(
    "--range",
    "ranges",
    metavar="METRIC FROM TO",
    multiple=True,
    type=(str, FiniteNumber(), FiniteNumber()),
    help="Add the share of answers between two numbers, both included, to a distribution. Repeatable.",
)
"""Of `report`, `watch`, `archive` and `rehearse`."""

ALERTS = click.option(
    "--alert",
    "alerts",
    metavar="EXPRESSION",
    multiple=True,
    help="Exit with status 5 if a whole interval is beyond a bound, as in 'crashes.mean > 2', or a figure changed, "
    "as in 'crashes.mean rises'. Repeatable.",
)
"""Of `report` and `archive`."""


def examples(*lines: str) -> str:
    """Return the end of a command's help: lines as they are typed."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
