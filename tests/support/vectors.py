"""The language-neutral vectors of tests/vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def vectors(name: str) -> Any:
    """Return what a file of tests/vectors holds; an empty one would test nothing."""
    document = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    assert document
    return document
