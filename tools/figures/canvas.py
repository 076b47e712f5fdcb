"""A canvas of boxes, arrows and words, as SVG for light and dark pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Final

STYLE: Final = """\
<style>
svg { font: 14px system-ui, sans-serif; background: #fff }
rect { fill: #f2f5f9; stroke: #8795a8 }
rect.ours { fill: #e3eefb; stroke: #0072b2; stroke-width: 1.6 }
rect.late { fill: #fbeedd; stroke: #d55e00; stroke-dasharray: 6 4 }
text { fill: #1b2430; text-anchor: middle }
text.name { font-weight: 600 }
text.small { font-size: 12.5px; fill: #46515f }
path { fill: none; stroke: #46515f; stroke-width: 1.6 }
path.dashed { stroke-dasharray: 5 4 }
path.yes { stroke: #0072b2; stroke-width: 5.4; stroke-linecap: round }
path.no { stroke: #b4bfcc; stroke-width: 3; stroke-linecap: round }
path.heavy { stroke: #1b2430; stroke-width: 2.4 }
path.one, circle { fill: none; stroke: #d55e00; stroke-width: 2 }
rect.bar { fill: #8cc4ea; stroke: none }
marker path { fill: #46515f; stroke: none }
@media (prefers-color-scheme: dark) {
svg { background: #14181f }
rect { fill: #212833; stroke: #6b7a90 }
rect.ours { fill: #12324a; stroke: #56b4e9 }
rect.late { fill: #40290f; stroke: #e69f00 }
text { fill: #e8edf4 }
text.small { fill: #b9c4d2 }
path { stroke: #b9c4d2 }
path.yes { stroke: #56b4e9 }
path.no { stroke: #4d5a6b }
path.heavy { stroke: #e8edf4 }
path.one, circle { stroke: #e69f00 }
rect.bar { fill: #1f6697 }
marker path { fill: #b9c4d2 }
}
</style>
<defs><marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">\
<path d="M0 0L8 4L0 8z"/></marker></defs>"""

LINE: Final = 18
"""The distance in pixels between two lines of words."""

COLUMNS: Final = 40
"""The number of columns in a grid of people."""

STEP: Final = 6.5
"""The distance in pixels between two people in the grid."""


@dataclass(slots=True)
class Canvas:
    """A drawing, in pixels.

    Attributes:
        title: a description for people who cannot see the drawing.
        parts: the SVG elements of the drawing, from back to front.

    """

    width: int
    height: int
    title: str
    parts: list[str] = field(default_factory=list)

    def box(self, place: tuple[int, int, int, int], lines: tuple[str, ...], kind: str = "") -> None:
        """Draw a box at (left, top, width, height) with lines of text, the first in bold."""
        left, top, width, height = place
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<rect{named} x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>')
        first = top + (height - LINE * len(lines)) // 2 + 14
        for number, line in enumerate(lines):
            self.words((left + width // 2, first + LINE * number), line, "small" if number else "name")

    def words(self, place: tuple[int, int], text: str, kind: str = "", anchor: str = "middle") -> None:
        """Write words at a position."""
        named = f' class="{kind}"' if kind else ""
        side = "" if anchor == "middle" else f' style="text-anchor: {anchor}"'
        self.parts.append(f'<text{named} x="{place[0]}" y="{place[1]}"{side}>{escape(text)}</text>')

    def line(self, path: str, kind: str = "", *, tip: bool = True) -> None:
        """Draw an SVG path, with the tip of an arrow at its end."""
        named = f' class="{kind}"' if kind else ""
        end = ' marker-end="url(#tip)"' if tip else ""
        self.parts.append(f'<path{named} d="{path}"{end}/>')

    def bar(self, place: tuple[int, int, int, int]) -> None:
        """Draw a bar at (left, top, width, height)."""
        left, top, width, height = place
        self.parts.append(f'<rect class="bar" x="{left}" y="{top}" width="{width}" height="{height}"/>')

    def people(self, place: tuple[int, int], answers: Sequence[int], one: int) -> tuple[float, float]:
        """Draw a dot for each person's yes (1) or no (0), starting at (left, top).

        Draw a ring around the dot of person `one`, and return its center.
        """
        dots: dict[int, str] = {0: "", 1: ""}
        centers = [
            (place[0] + STEP * (number % COLUMNS + 0.5), place[1] + STEP * (number // COLUMNS + 0.5))
            for number in range(len(answers))
        ]
        for answer, (x, y) in zip(answers, centers, strict=True):
            dots[answer] += f"M{x:g} {y:g}h0"
        for answer, kind in enumerate(("no", "yes")):
            self.line(dots[answer], kind, tip=False)
        x, y = centers[one]
        self.parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="5.5"/>')
        return x, y

    def svg(self) -> str:
        """Return the drawing as a file."""
        size = f'viewBox="0 0 {self.width} {self.height}" width="{self.width}" height="{self.height}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">\n<title>{escape(self.title)}</title>'
        return "\n".join([head, STYLE, *self.parts, "</svg>\n"])
