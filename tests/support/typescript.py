"""The definitions of the vectors as `hearsay-client compile` writes them, for the tests of the TypeScript SDK.

``python -m tests.support.typescript FILE`` writes them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from client_sdk.commands.javascript import KINDS, compiled, is_ordinal_mean, is_set_with_other
from client_sdk.protocol import Registry
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.vectors import vectors


def compiled_vectors() -> dict[str, Any]:
    """Return the question of each definition, by definition; without permanent answers and fill-ins."""
    coins = vectors("coins")
    found = {}
    for vector in (*coins["answers"], *coins["kinds"], *vectors("editions")):
        metric = Registry.parse(vector["definition"]).metric(vector["metric"])
        is_known = metric.kind in KINDS and not is_set_with_other(metric) and not is_ordinal_mean(metric)
        if is_known and not isinstance(metric.channel, Permanent) and metric.fill is None:
            found[vector["definition"]] = compiled(metric)
    return found


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(compiled_vectors()), encoding="utf-8")
