"""The library that draws, imported on use, and the colours."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from estimator.errors import MissingLibraryError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE: Final = "#0072B2"
VERMILION: Final = "#D55E00"
GREY: Final = "#666666"
"""Of the palette of Okabe and Ito (2008), which the colour-blind can tell apart."""

BAND_OPACITY: Final = 0.25


def pyplot() -> Any:  # noqa: ANN401 a module of a library that may be missing
    """Return matplotlib's pyplot.

    Raises:
        MissingLibraryError: if matplotlib is not installed.

    """
    try:
        return import_module("matplotlib.pyplot")
    except ImportError:
        raise MissingLibraryError(
            "this needs matplotlib, which is not installed: pip install 'hearsay-ldp[plot]'"
            " (from a checkout: pip install ./client_sdk '.[plot]')"
        ) from None


def new_axes(width: float = 6.4, height: float = 3.2) -> Axes:
    """Return axes of their own, of a size in inches."""
    axes: Axes = pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return axes
