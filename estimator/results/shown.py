"""Results that show themselves: in a notebook, as a text, and as a plot.

What shows results stands above them and imports them, so that they name it only when they are
asked. Nothing here computes or formats.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plotted:
    """A result that can be plotted."""

    __slots__ = ()

    def plot(self, ax: Axes | None = None) -> Any:  # noqa: ANN401 axes, or the figure of a whole report
        """Draw the figures with their intervals, by matplotlib (the extra ``plot``).

        Args:
            ax: where to draw; by default new axes.

        Returns:
            The axes. A whole report, which has axes for each question, returns their figure and
            takes no ``ax``.

        Raises:
            MissingLibraryError: if matplotlib is not installed.

        """
        return import_module("estimator.render.plots.draw").plot(self, ax)


class Shown(Plotted):
    """A result that can also be shown in words."""

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
