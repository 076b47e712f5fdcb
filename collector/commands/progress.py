"""Shows on a terminal how far long work has come.

In a log there is nothing to watch, so nothing is shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat

import click


@contextmanager
def progress(label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many more things are done.

    Args:
        label: a word or two for what is counted.
        total: how many there will be, or None if that is unknown.

    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    endless = repeat(None) if total is None else None
    with click.progressbar(endless, length=total, label=label, show_pos=True, file=sys.stderr) as bar:
        yield bar.update
