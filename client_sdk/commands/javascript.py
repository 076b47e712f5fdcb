"""The questions of a registry as a JavaScript module and its types.

Integers of a law and charges are texts, because they may exceed 2**53. The module imports the
mechanisms that its questions need, so that a bundler leaves out the others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from client_sdk.protocol.budget import Budget
from client_sdk.protocol.evidence import evidence
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import languages
from client_sdk.protocol.wire.stopped import encode

FORMAT: Final = 1
"""The form of the module, which the SDK checks."""

MECHANISMS: Final = (
    "randomized-response",
    "one-bit",
    "k-ary-randomized-response",
    "cyclic-design",
    "projective-geometry",
    "balanced-design",
    "square-wave",
    "optimal-mean",
    "laplace",
    "gaussian",
    "exponential",
    "hierarchical",
)
"""What the SDK can draw from."""

SENTENCES: Final = ("history", "number", "outcome", "reported")
"""With what the keys of sentences begin that the SDK says."""

EVIDENCE: Final = "evidence"
UNKNOWN: Final = "evidence.unknown"
"""The sentences on how much a report says: of the questions here, and of others."""

HEAD: Final = "// Written by `hearsay-client compile` from the registry: do not edit.\n"


def module_of(registry: Registry, target: str) -> str:
    """Return the source of the module."""
    metrics = registry.metrics.values()
    mechanisms = sorted({metric.channel.name for metric in metrics})
    kinds = sorted({kind for metric in metrics for kind in kinds_of(metric.kind)})
    document = json.dumps(document_of(registry, target), ensure_ascii=False, indent=1)
    functions = ", ".join(map(function_of, [*kinds, *mechanisms]))
    tables = f"kinds: {_table(kinds)}, mechanisms: {_table(mechanisms)}"
    return (
        f'{HEAD}import {{ {functions} }} from "hearsay-ldp/spec";\n\n'
        f"const questions = {document};\n\nexport default {{ ...questions, {tables} }};\n"
    )


def kinds_of(kind: Kind) -> tuple[str, ...]:
    """Return the name of a kind, and of the parts of a pair."""
    return (kind.name, *(part.name for part in kind.parts if part is not kind))


def document_of(registry: Registry, target: str) -> dict[str, Any]:
    """Return all of the module but its functions; what is not said is left out."""
    document: dict[str, Any] = {
        "format": FORMAT,
        "target": target,
        "app": registry.app,
        "budget": _budget(registry.budget),
        "metrics": {name: compiled(metric) for name, metric in registry.metrics.items()},
        "sentences": {language: sentences_for(registry, language) for language in languages(registry.own_sentences)},
    }
    lists: dict[str, Any] = {
        "variables": list(registry.strata),
        "stopped": [encode([question]) for question in registry.stopped],
    }
    return document | {key: entries for key, entries in lists.items() if entries}


def sentences_for(registry: Registry, language: str) -> dict[str, str]:
    """Return the sentences that the SDK says to users, with one on how much a report says."""
    say = registry.sentences(language)
    used = {key: text for key, text in say.texts.items() if key.partition(".")[0] in SENTENCES}
    return used | {EVIDENCE: evidence(registry.metrics.values(), say), UNKNOWN: say(UNKNOWN)}


def compiled(metric: Metric) -> dict[str, Any]:
    """Return a question as the SDK reads it; what is not said is left out."""
    parts = {
        "purpose": metric.purpose,
        "kind": metric.kind.name,
        "domain": definition(metric),
        **metric.kind.compiled,
        "window": metric.window.value,
        "expires": metric.expires and metric.expires.isoformat(),
        "persist": metric.persist or None,
        "consent": sorted(metric.consent) or None,
        "mechanism": metric.channel.name,
        "integers": _texts(metric.channel.integers),
        "edition": metric.edition,
        "strata": dict(zip(metric.strata, metric.editions[1:], strict=True)) or None,
        "nanos": str(metric.cost.nanos),
        "attos": str(metric.cost.attos),
    }
    return {key: part for key, part in parts.items() if part is not None}


def types_of(registry: Registry) -> str:
    """Return the declarations that belong to the module."""
    metrics = registry.metrics.items()
    answers = "".join(
        f"  /** {_comment(metric)} */\n  {name}: {metric.kind.typescript_type};\n" for name, metric in metrics
    )
    counts = " | ".join(f'"{name}"' for name, metric in metrics if metric.persist) or "never"
    imported = 'import type { CompiledRegistry } from "hearsay-ldp/spec";\n'
    declared = "declare const registry: CompiledRegistry<Answers, Counts>;\nexport default registry;\n"
    return f"{HEAD}{imported}\nexport interface Answers {{\n{answers}}}\n\nexport type Counts = {counts};\n\n{declared}"


def _budget(budget: Budget) -> dict[str, str]:
    ceilings = {
        "window": budget.window.value,
        "per_window": str(budget.per_window_nanos),
        "lifetime": str(budget.lifetime_nanos),
        "delta": str(budget.lifetime_attos),
    }
    return ceilings if budget.per_month_nanos is None else ceilings | {"per_month": str(budget.per_month_nanos)}


def _table(names: list[str]) -> str:
    return "{ " + ", ".join(f'"{name}": {function_of(name)}' for name in names) + " }"


def _texts(integers: Mapping[str, int | tuple[int, ...]]) -> dict[str, str | list[str]]:
    return {
        name: [str(each) for each in value] if isinstance(value, tuple) else str(value)
        for name, value in integers.items()
    }


def function_of(name: str) -> str:
    """Return the name of the SDK's function of a kind or mechanism: projectiveGeometry."""
    first, *others = name.split("-")
    return first + "".join(map(str.capitalize, others))


def _comment(metric: Metric) -> str:
    return metric.purpose.replace("*/", "* /")
