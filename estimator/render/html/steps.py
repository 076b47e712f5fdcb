"""The ranges that a scale's steps name, such as those of a model's probability: "10 to 30 %"."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

NUMBER: Final = r"(\d{1,3}(?:\.\d+)?)"
BELOW: Final = re.compile(rf"(?:below|under|less than|<) ?{NUMBER} ?%")
BETWEEN: Final = re.compile(rf"{NUMBER} ?%? ?(?:to|[-\u2013]) ?{NUMBER} ?%")
FROM: Final = re.compile(rf"{NUMBER} ?% (?:or|and) (?:more|above)|(?:at least|from|≥) ?{NUMBER} ?%")


def ranges_of(steps: Sequence[str]) -> list[tuple[float, float]]:
    """Return the ends of each step, from 0 to 1. Nothing if any step names no range of per cents.

    Args:
        steps: as people read them.

    """
    ranges = [_range(step) for step in steps]
    known = [each for each in ranges if each is not None and 0 <= each[0] < each[1] <= 1]
    return known if len(known) == len(ranges) else []


def _range(step: str) -> tuple[float, float] | None:
    """Return the ends of one step; None if it names none."""
    plain = step.replace("\N{NO-BREAK SPACE}", " ").strip()
    if match := BELOW.fullmatch(plain):
        return 0.0, float(match[1]) / 100
    if match := BETWEEN.fullmatch(plain):
        return float(match[1]) / 100, float(match[2]) / 100
    if match := FROM.fullmatch(plain):
        return float(match[1] or match[2]) / 100, 1.0
    return None
