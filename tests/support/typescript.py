"""The vectors' definitions as `hearsay-client compile` writes them, for the TypeScript SDK's tests.

``python -m tests.support.typescript FILE`` writes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from client_sdk.commands.compile import refusal
from client_sdk.commands.javascript import compiled
from client_sdk.protocol import Registry
from tests.support.vectors import vectors


def compiled_vectors() -> dict[str, Any]:
    """Return each definition's question, or why the compiler refuses it, by definition."""
    coins = vectors("coins")
    outcomes = {}
    invalid = vectors("invalid")
    listed = (*coins["answers"], *coins["kinds"], *vectors("editions"), *invalid["answers"], *invalid["added"])
    for vector in listed:
        metric = Registry.parse(vector["definition"]).metric(vector["metric"])
        outcomes[vector["definition"]] = refusal(metric) or compiled(metric)
    return outcomes


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(compiled_vectors()), encoding="utf-8")
