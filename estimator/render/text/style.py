"""The appearance of a table: its width, its bars, its colors and its characters."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, takewhile
from typing import Final, TextIO
from unicodedata import category, east_asian_width

import click

from estimator.render.rounding import MINUS, UNBROKEN, ShownFigure

LEAST_WIDTH: Final = 80
"""The minimum width of a table, in columns of the terminal. All columns of the table fit into this
width.
"""

NARROWEST: Final = 60
"""The minimum width of a summary. On narrower terminals, the lines of the summary wrap."""

MOST_WIDTH: Final = 160
"""The maximum width of a line. Longer lines are hard to read."""

VALUE_WIDTH: Final = 17
"""The minimum width of the column of values, in characters. A value that is too long for the column
is shortened and ends with an ellipsis. JSON and CSV contain the whole value.
"""

WIDER_VALUES: Final = 40
LIKELIEST_WIDTH: Final = 11
BAR_WIDTH: Final = 10
WINDOW_WIDTH: Final = 11
SHORTEST_BAR: Final = 5
"""The minimum width of a bar. If a line has less room for the bar, the bar is left out."""

WIDE: Final = ("W", "F")
COMBINING: Final = ("Mn", "Me", "Cf")

FILLER: Final = "\0"
"""A filler after each character that is two columns wide. No value contains this filler."""

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
IN_ASCII: Final = str.maketrans(
    {
        "±": "+-",
        "…": "..",
        "“": '"',
        "”": '"',
        MINUS: "-",
        "\N{SUPERSCRIPT TWO}": "^2",
        **dict.fromkeys("▏▎▍", ""),
        **dict.fromkeys("▌▋▊▉█", "#"),
    }
)
"""ASCII replacements of characters that the output's encoding may lack, such as bars."""

ALL_SIGNS: Final = f"±…“”{MINUS}{EIGHTHS}"


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a table: its width in columns, and whether colors and Unicode are allowed."""

    width: int = LEAST_WIDTH
    is_colored: bool = False
    is_ascii: bool = False

    @classmethod
    def from_stream(
        cls, stream: TextIO, environment: Mapping[str, str] = os.environ, *, narrowest: int = LEAST_WIDTH
    ) -> Style:
        """Return the style for output to a stream.

        The width is at least ``narrowest`` columns. Colors follow https://no-color.org.
        """
        is_ascii = not _can_show(stream.encoding or "ascii", ALL_SIGNS)
        if not stream.isatty():
            return cls(is_ascii=is_ascii)
        width = shutil.get_terminal_size().columns
        is_colored = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        return cls(min(MOST_WIDTH, max(narrowest, width)), is_colored, is_ascii)

    @property
    def has_likeliest(self) -> bool:
        """Whether lines are wide enough for a column of maximum-likelihood figures."""
        return self.width >= LEAST_WIDTH + LIKELIEST_WIDTH

    @property
    def value_width(self) -> int:
        """The width of the column of values, in characters."""
        return min(WIDER_VALUES, VALUE_WIDTH + max(0, self.width - LEAST_WIDTH - LIKELIEST_WIDTH) // 2)

    def heading(self, confidence: float) -> str:
        """Return the names of the columns."""
        likeliest = f"  {'likeliest':>9}" if self.has_likeliest else ""
        interval = f"{f'{confidence:.0%} interval':^17}"
        return self.shown(
            f"  {'':{self.value_width}} {'window':{WINDOW_WIDTH}} {'estimate ± error':>17}  {interval}{likeliest}"
        )

    def row(self, window: str, shown: ShownFigure, unknown: str = "no reports") -> str:
        """Return one line: the label, the numbers and, if ``shown`` has a scale, a bar.

        If ``window`` is empty, the label also takes the columns of the window. ``unknown`` is the
        text for an estimate that is None.
        """
        (line,) = self.rows([(window, shown)], unknown)
        return line

    def rows(self, lines: Sequence[tuple[str, ShownFigure]], unknown: str = "no reports") -> Iterator[str]:
        """Yield lines as in `row`, with numbers of the same unit aligned at decimal points."""
        for _, of_unit in groupby(lines, key=lambda line: line[1].rounded.suffix):
            alike = list(of_unit)
            texts = [shown.rounded for _, shown in alike]
            columns = (
                [f"{each.estimate}{each.suffix}" if each.estimate else "" for each in texts],
                [each.error for each in texts],
                [each.low if each.estimate else "" for each in texts],
                [each.high if each.estimate else "" for each in texts],
                [shown.likeliest for _, shown in alike],
            )
            cells = zip(*map(aligned, columns), strict=True)
            for (window, shown), (estimate, error, low, high, likeliest) in zip(alike, cells, strict=True):
                rounded = shown.rounded
                known = f"{estimate if rounded.estimate else unknown}{f' ± {error}' if rounded.error else ''}"
                ends = f"{low} to {high}" if rounded.estimate else rounded.interval  # the unit is shown only once
                yield self._line(window, shown, known, ends, likeliest)

    def _line(self, window: str, shown: ShownFigure, estimate: str, ends: str, likeliest: str) -> str:
        of_window = f"{window:{WINDOW_WIDTH}} " if window else ""
        last = f"  {self.shown(likeliest):>9}" if self.has_likeliest else ""
        figures = f"{of_window}{self.shown(estimate):>17}  {self.shown(ends):^17}{last}"
        most = self.value_width + (0 if window else WINDOW_WIDTH + 1)
        columns = min(most, self.width - len(figures.rstrip()) - len("   "))
        line = f"  {self.filled(shown.label, columns)} {figures}"
        room = self.width - columns_of(line) - 2
        if shown.filled is None or room < SHORTEST_BAR:
            return line
        bar = self.bar(shown.filled, min(room, max(BAR_WIDTH, self.width // 5)))
        return f"{line}  {self.colored(bar, 'cyan')}" if bar else line

    def bar(self, part: float, cells: int) -> str:
        """Return a bar that fills the fraction ``part`` of ``cells`` columns.

        The length is rounded to an eighth of a column. A fraction below 0 counts as 0, and a
        fraction above 1 as 1.
        """
        eighths = round(min(1.0, max(0.0, part)) * cells * 8)
        return self.shown(EIGHTHS[8] * (eighths // 8) + (EIGHTHS[eighths % 8] if eighths % 8 else ""))

    def cut(self, text: str | tuple[str, ...], columns: int | None = None) -> str:
        """Shorten a string to a number of columns, by default the width of the column of values.

        In a pair, the first string is shortened first. Pairs that differ only in the second string
        then remain distinguishable.
        """
        if isinstance(text, tuple):
            first, second = text
            room = (columns or self.value_width) - len(", ")
            second = self.cut(second, max(room // 2, room - columns_of(first)))
            return f"{self.cut(first, room - columns_of(second))}, {second}"
        return cut_to(self.shown(text), columns or self.value_width, self.shown("…"))

    def filled(self, text: str | tuple[str, ...], columns: int) -> str:
        """Shorten or pad a string to exactly ``columns`` columns."""
        return padded(self.cut(text, columns), columns)

    def colored(self, text: str, color: str) -> str:
        """Color a string if colors may be used."""
        return click.style(text, fg=color) if self.is_colored else text

    def quiet(self, text: str) -> str:
        """Dim a string if colors may be used."""
        return click.style(text, dim=True) if self.is_colored else text

    def strong(self, text: str) -> str:
        """Make a string bold if colors may be used."""
        return click.style(text, bold=True) if self.is_colored else text

    def shown(self, text: str) -> str:
        """Escape all characters that the output cannot show.

        Escapes keep different values distinguishable. A no-break space becomes a plain space, so
        users can search the output.
        """
        text = text.replace(UNBROKEN, " ")
        return text.translate(IN_ASCII).encode("ascii", "backslashreplace").decode() if self.is_ascii else text


PLAIN: Final = Style()
"""The style of files, pipes, and any other output that is not a terminal."""


def aligned(texts: Sequence[str]) -> list[str]:
    """Return numbers, with or without units, padded to one width and aligned at decimal points."""
    parts = [(text[: (end := _end_of_whole(text))], text[end:]) for text in texts]
    before = max((len(whole) for whole, _ in parts), default=0)
    behind = max((len(rest) for _, rest in parts), default=0)
    return [f"{whole:>{before}}{rest:{behind}}" for whole, rest in parts]


def _end_of_whole(text: str) -> int:
    """Return the position of a number's decimal point, or the position after its last digit."""
    return sum(1 for _ in takewhile(lambda character: character.isdigit() or character in f",{MINUS}", text))


def _can_show(encoding: str, signs: str) -> bool:
    try:
        signs.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def columns_of(text: str) -> int:
    """Return the number of terminal columns that a string occupies."""
    return len(text) if text.isascii() else sum(map(_columns_of_character, text))


def padded(text: str, columns: int) -> str:
    """Pad a string with spaces to a number of columns."""
    return text + " " * (columns - columns_of(text))


def cut_to(text: str, columns: int, ellipsis: str) -> str:
    """Shorten a string to a maximum number of columns. A shortened string ends with an ellipsis."""
    if columns_of(text) <= columns:
        return text
    taken = accumulate(map(_columns_of_character, text))
    return text[: sum(1 for _ in takewhile(lambda end: end <= columns - len(ellipsis), taken))] + ellipsis


def wrapped(text: str, columns: int, first: str = "", others: str = "") -> list[str]:
    """Break a string at spaces into lines of at most ``columns`` columns.

    ``first`` is the prefix of the first line, and ``others`` the prefix of the other lines.
    """
    counted = "".join(character + FILLER * (_most_columns(character) - 1) for character in text)
    lines = textwrap.wrap(counted, columns, initial_indent=first, subsequent_indent=others)
    return [line.replace(FILLER, "") for line in lines]


def _most_columns(character: str) -> int:
    """Return the width of a character or of its ASCII replacement, whichever is larger."""
    replacement = IN_ASCII.get(ord(character), "")
    return max(_columns_of_character(character), len(replacement))


def _columns_of_character(character: str) -> int:
    if category(character) in COMBINING:
        return 0
    return 2 if east_asian_width(character) in WIDE else 1
