"""What several commands have in common: the registry, and windows."""

from __future__ import annotations

import math
from pathlib import Path

import click

from client_sdk.protocol import Registry, RegistryError, Window, WindowError

REGISTRY = click.option(
    "--registry", required=True, metavar="FILE", type=click.Path(path_type=Path), help="The metrics.toml."
)


class WindowType(click.ParamType[Window]):
    """A window by its name."""

    name = "window"

    def convert(self, value: str | Window, param: click.Parameter | None, ctx: click.Context | None) -> Window:
        """Return the window that a text names, or refuse it with a usage error."""
        if isinstance(value, Window):
            return value
        try:
            return Window.parse(value)
        except WindowError as error:
            self.fail(f"{value!r}: {error}", param, ctx)


class NumberRange(click.FloatRange):
    """A number within bounds; not NaN, which click lets pass because it is neither below nor above any."""

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number, or refuse it with a usage error."""
        number = float(super().convert(value, param, ctx))  # type: ignore[arg-type] # its stub leaves out texts
        if math.isnan(number):
            self.fail(f"must be a number, not {value!r}", param, ctx)
        return number


BETWEEN_0_AND_1 = NumberRange(0, 1, min_open=True, max_open=True)


def load_registry(path: Path) -> Registry:
    """Return the registry of a file.

    Raises:
        click.UsageError: naming its mistakes.

    """
    try:
        return Registry.load(path)
    except RegistryError as error:
        raise click.UsageError(f"the registry cannot be used:\n{error}") from error
