"""Lays out boxes in rows, and the lanes through which arrows pass a row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Final

WIDTH: Final = 960
"""Pixels: as much as a page shows without scrolling."""

PADDING, GAP, ROW_GAP, LINE_HEIGHT, CHARACTER = 10, 14, 40, 16, 6.6
"""Pixels: padding of a box, gap between the boxes of a row, gap between rows, height of a line, and
the mean width of a character.
"""

LANE: Final = 2
"""Pixels: the width of an arrow that passes a row; the gap on either side comes on top."""

SWEEPS: Final = 12
"""How often all rows are ordered by the boxes that they are joined to; more rounds change nothing.
"""


@dataclass(slots=True, eq=False)
class Box:
    """A box of a drawing, or the lane of an arrow that passes a row.

    Attributes:
        name: its heading; empty for a lane.
        text: the text beneath it.
        width: pixels.
        x: pixels from the left edge of the drawing to its middle.
        top: pixels.
        row_bottom: pixels from the top to where the highest box of its row ends.
        above: the boxes and lanes of the row above that lead here.
        below: those of the row below to which it leads.

    """

    name: str
    text: str
    width: float
    x: float = 0.0
    top: float = 0.0
    row_bottom: float = 0.0
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)

    @property
    def lines(self) -> tuple[str, ...]:
        """The text, broken to fit."""
        return _wrapped(self.text, int((self.width - 2 * PADDING) / CHARACTER))

    @property
    def height(self) -> float:
        """Pixels."""
        return 2 * PADDING + LINE_HEIGHT * (1 + len(self.lines)) - 2 if self.name else 0.0


def lay_out(
    rows: Sequence[Mapping[str, str]], arrows: Iterable[tuple[str, str]], widest: float
) -> tuple[dict[str, Box], list[tuple[Box, ...]], float]:
    """Return the boxes by name, the boxes and lanes that each arrow joins, and the height.

    Args:
        rows: from the top; for each row the texts of its boxes by their names.
        arrows: from box to box, by their names; each leads downwards.
        widest: pixels of the widest box.

    The height is in pixels.
    """
    placed = [[Box(name, text, widest) for name, text in row.items()] for row in rows]
    boxes = {box.name: box for row in placed for box in row}
    ways = _route(placed, [(boxes[source], boxes[target]) for source, target in arrows])
    for row in placed:
        _fit(row)
    _order(placed)
    return boxes, ways, _place(placed)


def _route(rows: Sequence[list[Box]], arrows: Iterable[tuple[Box, Box]]) -> list[tuple[Box, ...]]:
    """Return the boxes and lanes of each arrow from source to target.

    Arrows to one target share its lanes.
    """
    levels = {id(box): level for level, row in enumerate(rows) for box in row}
    lanes: dict[tuple[int, str], Box] = {}
    ways = []
    for source, target in arrows:
        way = [source]
        for level in range(levels[id(source)] + 1, levels[id(target)]):
            if (level, target.name) not in lanes:
                lanes[level, target.name] = Box("", "", LANE)
                rows[level].append(lanes[level, target.name])
            way.append(lanes[level, target.name])
        way.append(target)
        for upper, lower in pairwise(way):
            if lower not in upper.below:
                upper.below.append(lower)
                lower.above.append(upper)
        ways.append(tuple(way))
    return ways


def _fit(row: Sequence[Box]) -> None:
    """Narrow the boxes of a row until they fit beside its lanes."""
    boxes = [box for box in row if box.name]
    room = WIDTH - GAP * (len(row) + 1) - LANE * (len(row) - len(boxes))
    for box in boxes:
        box.width = min(box.width, room / len(boxes))


def _order(rows: list[list[Box]]) -> None:
    """Order each row so that few arrows cross: by the mean place of each box's neighbors."""
    best, fewest = [list(row) for row in rows], _crossings(rows)
    for sweep in range(SWEEPS):
        is_upward = bool(sweep % 2)
        for row in reversed(rows) if is_upward else rows:
            place = {id(box): number / len(other) for other in rows for number, box in enumerate(other)}
            row.sort(key=lambda box: fmean([place[id(near)] for near in _near(box, is_upward)] or [place[id(box)]]))
        if _crossings(rows) < fewest:
            best, fewest = [list(row) for row in rows], _crossings(rows)
    rows[:] = best


def _near(box: Box, is_upward: bool) -> list[Box]:  # noqa: FBT001 a direction
    return box.below if is_upward else box.above


def _crossings(rows: Sequence[Sequence[Box]]) -> int:
    crossings = 0
    for upper, lower in pairwise(rows):
        place = {id(box): number for number, box in enumerate(lower)}
        ends = [place[id(target)] for box in upper for target in sorted(box.below, key=lambda end: place[id(end)])]
        crossings += sum(first > second for number, first in enumerate(ends) for second in ends[number:])
    return crossings


def _place(rows: Sequence[Sequence[Box]]) -> float:
    """Set the place of every box; return the height of the drawing."""
    top = float(GAP)
    for row in rows:
        bottom = top + max(box.height for box in row)
        for box in row:
            box.top, box.row_bottom = top, bottom
        _spread(row, [WIDTH * (number + 0.5) / len(row) for number in range(len(row))])
        top = bottom + ROW_GAP
    for sweep in range(4 * SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            _spread(row, [fmean(near.x for near in (*box.above, *box.below, box)) for box in row])
    return top - ROW_GAP + GAP


def _spread(row: Sequence[Box], middles: Sequence[float]) -> None:
    """Move the boxes of a row to their places, or as near as their order and widths allow."""
    left = float(GAP)
    for box, middle in zip(row, middles, strict=True):
        box.x = max(middle, left + box.width / 2)
        left = box.x + box.width / 2 + GAP
    right = float(WIDTH - GAP)
    for box in reversed(row):
        box.x = min(box.x, right - box.width / 2)
        right = box.x - box.width / 2 - GAP


def _wrapped(text: str, most: int) -> tuple[str, ...]:
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > most:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return tuple(line for line in lines if line)
