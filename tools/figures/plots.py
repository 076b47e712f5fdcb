"""The plots of the research notes. Each plot is drawn from the CSV file of the same name."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tools.figures.data import CLOSED_FORMS, REPORTS, SIZES, Row

mpl.use("svg")
mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "hearsay", "font.family": "sans-serif", "font.size": 11})

INK, PAPER, RULE = "#1b2430", "#ffffff", "#c8d0da"
LIGHT_INK, DARK_PAPER, DARK_RULE = "#e8edf4", "#14181f", "#3a4452"

LOOKS: Final = (
    {"color": "#0072b2", "marker": "o", "linestyle": "-", "linewidth": 2.2},
    {"color": "#d55e00", "marker": "", "linestyle": "--", "linewidth": 2.6},
    {"color": "#009e73", "marker": "s", "linestyle": ":", "linewidth": 1.8},
    {"color": "#cc79a7", "marker": "^", "linestyle": "-.", "linewidth": 1.8},
    {"color": "#e69f00", "marker": "D", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "linewidth": 1.8},
)
"""The styles of lines: colors of Okabe & Ito (2008), each with a different marker and dashes."""

DARK: Final = f"""\
<style>
@media (prefers-color-scheme: dark) {{
[style*="fill: {INK}"] {{ fill: {LIGHT_INK} !important }}
[style*="stroke: {INK}"] {{ stroke: {LIGHT_INK} !important }}
[style*="fill: {PAPER}"] {{ fill: {DARK_PAPER} !important }}
[style*="stroke: {RULE}"] {{ stroke: {DARK_RULE} !important }}
}}
</style>
"""


def shares_by_epsilon(rows: Sequence[Row]) -> str:
    """Return a plot of the error of a share against epsilon, for few and for many values."""

    def draw(axes: Sequence[Axes]) -> None:
        for axis, size in zip(axes, SIZES, strict=True):
            chosen = [row for row in rows[1:] if row[0] == str(size)]
            _lines(axis, [row[1] for row in chosen], chosen, ("ours (auto)", *CLOSED_FORMS), 2)
            axis.set(title=f"{size:,} values", xlabel="epsilon", xscale="log", yscale="log")
            _ticks(axis, (0.25, 0.5, 1, 2, 4))
        axes[0].set_ylabel(f"standard error of a share, {REPORTS:,} reports")
        axes[0].legend(frameon=False)

    return _drawn(draw, len(SIZES))


def shares_by_values(rows: Sequence[Row]) -> str:
    """Return a plot of the error of a share against the number of values, at epsilon 1."""

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        _lines(axis, [row[0] for row in rows[1:]], rows[1:], ("ours (auto)", *CLOSED_FORMS), 2)
        axis.set(xlabel="values (k)", xscale="log", yscale="log")
        axis.set_ylabel(f"standard error of a share, {REPORTS:,} reports")
        _ticks(axis, (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
        axis.legend(frameon=False)

    return _drawn(draw, 1)


def shares_measured(rows: Sequence[Row]) -> str:
    """Return a plot of measured errors of shares, by library."""
    names = ("ours", "SS", "OUE", "HR", "GRR")
    looks = (LOOKS[0], *LOOKS[1:])

    def draw(axes: Sequence[Axes]) -> None:
        for axis, size in zip(axes, ("32", "1024"), strict=True):
            for name, look in zip(names, looks, strict=True):
                points = [row for row in rows[1:] if row[:2] == (name, size)]
                shown: dict[str, Any] = look | {"marker": look["marker"] or "v", "label": name}
                axis.plot([float(row[2]) for row in points], [float(row[3]) for row in points], **shown)
            axis.set(title=f"{int(size):,} values", xlabel="epsilon", xscale="log", yscale="log")
            _ticks(axis, (0.5, 1, 2, 4))
        axes[0].set_ylabel("mean squared error, 100,000 devices")
        axes[0].legend(frameon=False)

    return _drawn(draw, 2)


def means_by_epsilon(rows: Sequence[Row]) -> str:
    """Return a plot of the error of a mean from noise alone, against epsilon, by mechanism."""

    def draw(axes: Sequence[Axes]) -> None:
        (axis,) = axes
        _lines(axis, [row[0] for row in rows[1:]], rows[1:], rows[0][1:], 1)
        axis.set(xlabel="epsilon", xscale="log", yscale="log")
        axis.set_ylabel(f"standard error of a mean by noise alone,\nshare of the range, {REPORTS:,} reports")
        _ticks(axis, (0.25, 0.5, 1, 2, 4))
        axis.legend(frameon=False)

    return _drawn(draw, 1)


def _lines(axis: Axes, xs: Sequence[str], rows: Sequence[Row], names: Sequence[str], first: int) -> None:
    for number, (name, look) in enumerate(zip(names, LOOKS, strict=False)):
        style: dict[str, Any] = look | {"label": name}
        axis.plot([float(x) for x in xs], [float(row[first + number]) for row in rows], **style)


def _ticks(axis: Axes, places: Sequence[float]) -> None:
    axis.set_xticks(places, [f"{place:g}" for place in places])
    axis.minorticks_off()
    axis.grid(visible=True, color=RULE, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(colors=INK)
    for part in (axis.title, axis.xaxis.label, axis.yaxis.label):
        part.set_color(INK)
    for spine in axis.spines.values():
        spine.set_color(INK)


def _drawn(draw: Callable[[Sequence[Axes]], None], panels: int) -> str:
    figure = Figure(figsize=(4.2 * panels if panels > 1 else 6.4, 4.2), facecolor=PAPER, layout="constrained")
    axes = figure.subplots(1, panels, squeeze=False)[0]
    for axis in axes:
        axis.set_facecolor(PAPER)
    draw(list(axes))
    for legend in (axis.get_legend() for axis in axes):
        for words in legend.get_texts() if legend else ():
            words.set_color(INK)
    sink = io.StringIO()
    figure.savefig(sink, format="svg", metadata={"Date": None, "Creator": None})
    text = _numbered(re.sub(r"[ \t]+$", "", sink.getvalue(), flags=re.MULTILINE))
    return text.replace("<defs>", f"{DARK}<defs>", 1)


def _numbered(svg: str) -> str:
    """Return an SVG plot with numbers as the names of markers and clip paths.

    Matplotlib derives these names from floats. The last bits of the floats depend on the processor.
    """
    names = list(dict.fromkeys(re.findall(r'id="([mp][0-9a-f]{10})"', svg)))
    numbers = {name: f"{name[0]}{number}" for number, name in enumerate(names)}
    return re.sub("|".join(names), lambda found: numbers[found.group()], svg) if names else svg
