"""Draws boxes in rows, with arrows between them, as SVG for light and dark pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Final

from tools.layout import LINE_HEIGHT, PADDING, WIDTH, Box, lay_out

STYLE: Final = """\
<style>
svg { font: 12px system-ui, sans-serif; background: #fff }
rect { fill: #f2f5f9; stroke: #8795a8 }
text { fill: #1b2430; text-anchor: middle }
.name { font-weight: 600; font-size: 13px }
path { fill: none; stroke: #5b7aa6; stroke-width: 1.3 }
.against { stroke: #c0392b; stroke-dasharray: 5 4 }
marker path { fill: #5b7aa6; stroke: none }
@media (prefers-color-scheme: dark) {
svg { background: #14181f }
rect { fill: #212833; stroke: #6b7a90 }
text { fill: #e8edf4 }
path { stroke: #86a8d8 }
.against { stroke: #ff7b6b }
marker path { fill: #86a8d8 }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0L8 4L0 8z"/></marker></defs>
"""


def drawing(
    rows: Sequence[Mapping[str, str]], arrows: Collection[tuple[str, str]], title: str, widest: float = 300
) -> str:
    """Return a drawing.

    Args:
        rows: from the top; for each row the texts of its boxes by their names.
        arrows: from box to box, by their names. An arrow that does not lead downwards is drawn in
            red.
        title: what the drawing shows, for people who cannot see it.
        widest: pixels of the widest box.

    """
    levels = {name: level for level, row in enumerate(rows) for name in row}
    down = sorted(arrow for arrow in arrows if levels[arrow[0]] < levels[arrow[1]])
    boxes, ways, height = lay_out(rows, down, widest)
    against = sorted(set(arrows) - set(down))
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(title)}</title>",
            STYLE.rstrip("\n"),
            *(_svg_of_way(way) for way in ways),
            *(_svg_against(boxes[source], boxes[target]) for source, target in against),
            *(_svg_of_box(box) for box in boxes.values()),
            "</svg>\n",
        ]
    )


def _svg_of_way(way: Sequence[Box]) -> str:
    """Return an arrow that bends between the rows, and goes straight past a row."""
    path = f"M{way[0].x:.0f} {way[0].top + way[0].height:.0f}"
    for upper, lower in pairwise(way):
        middle = (upper.row_bottom + lower.top) / 2
        path += f"V{upper.row_bottom:.0f}C{upper.x:.0f} {middle:.0f} "
        path += f"{lower.x:.0f} {middle:.0f} {lower.x:.0f} {lower.top:.0f}"
    return f'<path d="{path}" marker-end="url(#tip)"/>'


def _svg_against(source: Box, target: Box) -> str:
    path = f"M{source.x:.0f} {source.top:.0f}L{target.x:.0f} {target.top + target.height:.0f}"
    return f'<path class="against" d="{path}" marker-end="url(#tip)"/>'


def _svg_of_box(box: Box) -> str:
    size = f'width="{box.width:.0f}" height="{box.height:.0f}"'
    lines = "".join(_svg_of_lines(box))
    return f'<rect x="{box.x - box.width / 2:.0f}" y="{box.top:.0f}" {size} rx="6"/>{lines}'


def _svg_of_lines(box: Box) -> Iterator[str]:
    for number, line in enumerate((box.name, *box.lines)):
        name = "" if number else ' class="name"'
        y = box.top + PADDING + 11 + LINE_HEIGHT * number
        yield f'<text x="{box.x:.0f}" y="{y:.0f}"{name}>{escape(line)}</text>'
