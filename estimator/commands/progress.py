"""How far long work has got: a bar on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

REDRAWS = 1000
"""How often a bar is drawn at most: more costs time and shows nothing new."""


@contextmanager
def progress(label: str, steps: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on stderr while work goes on. Nothing is shown where stderr is no terminal.

    Args:
        label: what is being done.
        steps: how many steps there are.

    Yields:
        A function to call with the number of steps just done.

    """
    with click.progressbar(
        length=steps,
        label=label,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        update_min_steps=max(1, steps // REDRAWS),
    ) as bar:
        yield bar.update
