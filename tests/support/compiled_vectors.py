"""The vectors' definitions as `hearsay-client compile` writes them, for SDKs that read no TOML.

``python -m tests.support.compiled_vectors`` writes them into tests/vectors: into ``compiled.json``,
and into the registries of ``histories.json``.
"""

from __future__ import annotations

import json
from typing import Any

from client_sdk.commands.compile import Target, compiled, document_of, refusal, refusals
from client_sdk.protocol import Registry
from client_sdk.protocol.registry.registry import in_trial
from tests.support.vectors import VECTORS, vectors


def compiled_vectors() -> dict[str, Any]:
    """Return, for each definition, its question or the reason why the compiler refuses it."""
    coins = vectors("coins")
    outcomes = {}
    invalid = vectors("invalid")
    listed = (*coins["answers"], *coins["kinds"], *vectors("editions"), *invalid["answers"], *invalid["added"])
    for vector in listed:
        registry = Registry.parse(vector["definition"])
        metric = (in_trial(registry) if vector.get("trial") else registry).metric(vector["metric"])
        outcomes[vector["definition"]] = refusal(metric) or compiled(metric)
    return outcomes


def compiled_registry(definition: str) -> dict[str, Any] | None:
    """Return a registry without its sentences; None if the compiler refuses it."""
    registry = Registry.parse(definition)
    if any(refusals(registry, Target.NODE)):
        return None
    return document_of(registry, Target.NODE) | {"sentences": {}}


if __name__ == "__main__":
    histories = vectors("histories")
    for each in histories["registries"].values():
        each["compiled"] = compiled_registry(each["definition"])
    for name, document in (("compiled", compiled_vectors()), ("histories", histories)):
        text = json.dumps(document, indent=1, ensure_ascii=False)
        (VECTORS / f"{name}.json").write_text(f"{text}\n", encoding="utf-8")
