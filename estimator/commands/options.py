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


class RangeOfMetric(click.ParamType[tuple[str, float, float]]):
    """A metric and two numbers, such as ``startup_ms:2000:5000``."""

    name = "range"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float, float]:
        """Return the metric, the start and the end. Any other text is a usage error."""
        name, _, ends = value.partition(":")
        try:
            start, end = map(float, ends.split(":"))
        except ValueError:
            start = end = math.nan
        if not (math.isfinite(start) and math.isfinite(end)):
            self.fail("the ends are not two numbers", param, ctx)
        return name, start, end


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
