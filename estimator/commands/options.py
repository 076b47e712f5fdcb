"""Options that several commands share, and types of their arguments."""

from __future__ import annotations

import math
from datetime import date
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
    help="The registry file.",
)


class WindowType(click.ParamType[Window]):
    """The type of an argument that names a window, such as ``2026-W47``."""

    name = "window"

    def convert(self, value: str | Window, param: click.Parameter | None, ctx: click.Context | None) -> Window:
        """Return the window. A string that names no window is a usage error."""
        if isinstance(value, Window):
            return value
        try:
            return Window.parse(value)
        except WindowError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


class RangeOfMetric(click.ParamType[tuple[str, float, float]]):
    """The type of an argument with a metric and a range, such as ``startup_ms:2000:5000``."""

    name = "range"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, float, float]:
        """Return the metric, the start and the end. Any other string is a usage error."""
        name, _, ends = value.partition(":")
        try:
            start, end = map(float, ends.split(":"))
        except ValueError:
            start = end = math.nan
        if not (math.isfinite(start) and math.isfinite(end)):
            self.fail("the ends of the range are not two numbers", param, ctx)
        return name, start, end


class NumberRange(click.FloatRange):
    """The type of an argument that is a number within bounds.

    Unlike click's own type, this type refuses NaN.
    """

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. A string that is not a number within bounds is a usage error."""
        try:
            number = float(super().convert(value, param, ctx))  # type: ignore[arg-type] # its stub does not allow texts
        except click.BadParameter:
            number = math.nan
        if math.isnan(number):
            self.fail(f"{value!r} must be a number {self._describe_range()}".rstrip(), param, ctx)
        return number

    def _describe_range(self) -> str:
        return _span(self)


class WholeRange(click.IntRange):
    """The type of an argument that is a whole number within bounds."""

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number. Raise a usage error unless it is a whole number within bounds."""
        try:
            return int(super().convert(value, param, ctx))  # type: ignore[arg-type] # its stub does not allow texts
        except click.BadParameter:
            self.fail(f"{value!r} must be a whole number {self._describe_range()}", param, ctx)

    def _describe_range(self) -> str:
        return _span(self)


def _span(bounds: click.IntRange | click.FloatRange) -> str:
    least = "" if bounds.min is None else f"{'above' if bounds.min_open else 'at least'} {bounds.min:,}"
    most = "" if bounds.max is None else f"{'below' if bounds.max_open else 'at most'} {bounds.max:,}"
    if least and most and not (bounds.min_open or bounds.max_open):
        return f"from {bounds.min:,} to {bounds.max:,}"
    return " and ".join(filter(None, (least, most)))


class Day(click.ParamType[date]):
    """The type of an argument that is a date."""

    name = "date"

    def convert(self, value: str | date, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """Return the date. A string that is not a date is a usage error."""
        try:
            return value if isinstance(value, date) else date.fromisoformat(value)
        except ValueError:
            self.fail(f"{value!r} must be a date, such as 2026-11-22", param, ctx)


BETWEEN_0_AND_1 = NumberRange(0, 1, min_open=True, max_open=True)

ALERTS = click.option(
    "--alert",
    "alerts",
    metavar="EXPRESSION",
    multiple=True,
    help="Exit with status 5 if a whole interval is beyond a bound, as in 'crashes.mean > 2', or if a figure "
    "changed, as in 'crashes.mean rises'. Repeatable.",
)
"""The option ``--alert`` of the commands `report` and `archive`."""


def examples(*lines: str) -> str:
    """Return the example commands at the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
