"""Results that show themselves: in a notebook, and as a text.

What shows results stands above them and imports them, so that they name it only when they are
asked. Nothing here computes or formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Shown:
    """A result that can be shown in words."""

    __slots__ = ()

    def summary(self) -> str:
        """Return the answers, a line for each question, with intervals and numbers of reports."""
        text: str = import_module("estimator.render.summary").summary(self)
        return text

    def _repr_html_(self) -> str:
        """Return the same as a table, which notebooks show."""
        html: str = import_module("estimator.render.summary").as_table(self)
        return html

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, FBT001 the interface of IPython
        """Print the summary where a notebook or IPython prints the object."""
        printer.text("…" if cycle else self.summary())
