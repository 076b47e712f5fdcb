"""Counts what a mechanism does, instead of timing it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from client_sdk.protocol import mechanisms

_FOLDER = str(Path(mechanisms.__file__).parent)


def steps_of(work: Callable[[], object]) -> int:
    """Return how many lines of the mechanisms' modules a piece of work executes."""
    steps = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal steps
        if not frame.f_code.co_filename.startswith(_FOLDER):
            return None
        steps += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return steps
