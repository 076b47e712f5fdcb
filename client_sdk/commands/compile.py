"""Compiles a registry to a module for browsers and Node (``hearsay-client compile``).

The browser SDK neither reads TOML nor computes probabilities. The module contains the metrics, and
each mechanism's probabilities as exact integers. A registry is refused if it needs a feature that
the chosen `Target` cannot provide. For example, permanent answers need a stored secret.

The module is JavaScript, with TypeScript declarations in a second file. Integers that may exceed
2**53 (probabilities and charges) are written as decimal strings. The module imports only the
mechanisms of its metrics, so that a bundler leaves out all other mechanisms.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from client_sdk.commands import Outcome
from client_sdk.consent import terms
from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.command_line import replaced, replaces_another_kind
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.horizon import IN_YEAR
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry.registry import Registry, in_trial
from client_sdk.protocol.sentences import PURPOSE, TITLE, languages
from client_sdk.protocol.statement import evidence
from client_sdk.protocol.wire.verdict import encode_stopped

FORMAT: Final = 1
"""The version of the module's format, which the SDK checks."""

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
    "one-of",
    "pair-geometry",
)
"""The mechanisms of the SDK for browsers and Node."""

SENTENCES: Final = ("consent", "history", "number", "outcome", "reported")
"""The key prefixes of the sentences that the SDK for browsers and Node shows."""

EVIDENCE: Final = "evidence"
"""The key of the sentence about what a report reveals, for metrics in the module."""

UNKNOWN: Final = "evidence.unknown"
"""The key of the sentence about what a report reveals, for metrics missing from the module."""

HOW: Final = "statement.how"
"""The key of the sentence that explains randomization when the SDK asks for consent."""

TRIAL: Final = "the module is only for `hearsay-collector serve --trial`; to ship, compile without --trial\n"

HEAD: Final = "// Written by `hearsay-client compile` from the registry: do not edit.\n"


class Target(StrEnum):
    """The environment in which the compiled module runs."""

    WEB = "web"
    NODE = "node"


def compile_registry(
    path: Path, target: Target, output: Path | None, *, check: bool, is_trial: bool = False
) -> Outcome:
    """Write the module and its types, or compare them with the existing files.

    If ``output`` is None, return the module. If ``check`` is true, compare the module and its types
    with the existing files, and write nothing. If ``is_trial`` is true, an app that uses the module
    answers every metric in every window, and prints each step. A trial ignores the registry's
    ceilings and strategy, so they cannot cause a refusal.
    """
    registry = Registry.read(path)
    refused = refused_metrics(registry) if is_trial else refusals(registry, target)
    problems = tuple(f"{path}: {problem}" for problem in refused)
    if problems:
        return Outcome(problems=problems)
    registry = in_trial(registry) if is_trial else registry
    module = module_of(registry, target)
    if output is None:
        return Outcome(module)
    files = {output: module, output.with_suffix(".d.ts"): types_of(registry)}
    if check:
        return _compared(files, path)
    return _write(files, path, TRIAL if is_trial else _promise(registry.budget, target))


def _write(files: dict[Path, str], registry: Path, promise: str) -> Outcome:
    if replaced(files, [registry]) is not None:
        return Outcome(problems=(f"{registry} is the registry itself; name another file",))
    foreign = [file for file in files if replaces_another_kind(file, lambda head: head.startswith(HEAD.encode()))]
    if foreign:
        return Outcome(problems=(f"{foreign[0]} was not written by compile and was not changed; name another file",))
    try:
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        return Outcome(problems=(f"{error.filename} cannot be written: {error.strerror}; name a writable file",))
    return Outcome(f"wrote {' and '.join(map(str, files))}\n{promise}")


def refusals(registry: Registry, target: Target) -> Iterator[str]:
    """Yield a sentence for each feature of a registry that the target cannot provide."""
    if registry.budget.strategy is not Strategy.SPLIT:
        strategy = f'[budget] strategy = "{registry.budget.strategy}"'
        yield f"{strategy} needs a secret, which this SDK cannot store; remove the strategy"
    yield from refused_metrics(registry)
    if target is Target.WEB:
        yield from _unstated_year(registry.budget)


def refused_metrics(registry: Registry) -> Iterator[str]:
    """Yield a sentence for every metric that the SDK for browsers and Node refuses."""
    for name, metric in registry.metrics.items():
        reason = refusal(metric)
        if reason is not None:
            yield f"metric.{name}: {reason}"


def refusal(metric: Metric) -> str | None:
    """Return why the SDK for browsers and Node refuses a metric, and what to do about it.

    Returns None if that SDK accepts the metric.
    """
    mechanism = metric.channel.name.removeprefix("permanent ")
    reasons = {
        metric.kind.browser_refusal: bool(metric.kind.browser_refusal),
        "fill_in needs an app that runs in every window, but a page runs only while it is open; remove fill_in": (
            metric.fill is not None
        ),
        f"the SDK for browsers and Node lacks the mechanism {mechanism}; name another": mechanism not in MECHANISMS,
        "permanent_epsilon needs a secret, which this SDK cannot store; remove permanent_epsilon": bool(
            metric.channel.permanent_nanos
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _unstated_year(budget: Budget) -> Iterator[str]:
    year = _year_nanos(budget)
    if budget.web_year_nanos is None or budget.web_year_nanos < year:
        yield (
            f"[budget] web_year must be at least {_epsilon(year)}, because a browser may delete the ledger after each "
            f"window, and a calendar year overlaps up to {IN_YEAR[budget.window]} windows"
        )


def _year_nanos(budget: Budget) -> int:
    """Return the maximum cost in a calendar year, in billionths of epsilon.

    The maximum is reached if the browser's storage is deleted in every window.
    """
    return IN_YEAR[budget.window] * budget.per_window_nanos


def _promise(budget: Budget, target: Target) -> str:
    within = f"at most epsilon {_epsilon(budget.per_window_nanos)} a {budget.window}"
    if target is Target.NODE:
        return f"a device reveals {within}, and {_epsilon(budget.lifetime_nanos)} in its lifetime\n"
    storage = f"{_epsilon(budget.lifetime_nanos)} until its storage is deleted"
    yearly = f"if it is deleted repeatedly, {_epsilon(_year_nanos(budget))} a year"
    return f"a device reveals {within}, and {storage}; {yearly}\n"


def _epsilon(nanos: int) -> str:
    return f"{nanos / NANOS:g}"


def _compared(files: dict[Path, str], registry: Path) -> Outcome:
    stale = [file for file, text in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
    if stale:
        return Outcome(problems=tuple(f"{file} is out of date with {registry}; compile it again" for file in stale))
    return Outcome(f"{' and '.join(map(str, files))} are up to date with {registry}\n")


def module_of(registry: Registry, target: str) -> str:
    """Return the JavaScript source of the module."""
    metrics = registry.metrics.values()
    mechanisms = sorted({metric.channel.name for metric in metrics})
    kinds = sorted({kind for metric in metrics for kind in kinds_of(metric.kind)})
    document = json.dumps(document_of(registry, target), ensure_ascii=False, indent=1)
    functions = ", ".join(map(function_of, [*kinds, *mechanisms]))
    is_trial = any(metric.is_trial for metric in metrics)
    telling = 'import { trial } from "hearsay-ldp/trial";\n' if is_trial else ""
    tables = f"kinds: {_table(kinds)}, mechanisms: {_table(mechanisms)}{', trial' if is_trial else ''}"
    return (
        f'{HEAD}import {{ {functions} }} from "hearsay-ldp/spec";\n{telling}\n'
        f"const registry = {document};\n\nexport default {{ ...registry, {tables} }};\n"
    )


def kinds_of(kind: Kind) -> tuple[str, ...]:
    """Return the name of a kind and, for a pair, the names of its two kinds."""
    return (kind.name, *(part.name for part in kind.parts if part is not kind))


def document_of(registry: Registry, target: str) -> dict[str, Any]:
    """Return the content of the module, except its functions.

    Keys that have empty values are left out.
    """
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
        "stopped": [encode_stopped([each]) for each in registry.stopped],
    }
    return document | {key: entries for key, entries in lists.items() if entries}


def sentences_for(registry: Registry, language: str) -> dict[str, str]:
    """Return a mapping from key to sentence, for the sentences that users see in a language."""
    say = registry.sentences(language)
    used = {key: text for key, text in say.texts.items() if key.partition(".")[0] in SENTENCES}
    purposes = {f"{PURPOSE}{name}": metric.purpose for name, metric in registry.metrics.items()}
    titles = {f"{TITLE}{name}": name for name in registry.metrics}
    used |= {key: say(key) for key, known in (purposes | titles).items() if say(key) != known} | {HOW: say(HOW)}
    return used | {EVIDENCE: evidence(registry.metrics.values(), say), UNKNOWN: say(UNKNOWN)}


def compiled(metric: Metric) -> dict[str, Any]:
    """Return a metric in the format of the SDK for browsers and Node.

    Keys with empty values are left out.
    """
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
        "terms": terms(metric).meaning,
        "strata": dict(zip(metric.strata, metric.editions[1:], strict=True)) or None,
        "nanos": str(metric.cost.nanos),
        "attos": str(metric.cost.attos),
    }
    return {key: part for key, part in parts.items() if part is not None}


def types_of(registry: Registry) -> str:
    """Return the TypeScript declarations of the module."""
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
    """Return the JavaScript function name of a kind or mechanism, such as projectiveGeometry."""
    first, *others = name.split("-")
    return first + "".join(map(str.capitalize, others))


def _comment(metric: Metric) -> str:
    return metric.purpose.replace("*/", "* /")
