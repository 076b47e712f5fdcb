"""``hearsay-client compile``: the questions as a module for the SDK of browsers and Node.

A browser reads no TOML and derives no law: it gets integers. What a target cannot keep its promises
for is refused here, before anything ships.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.commands.javascript import HEAD, MECHANISMS, module_of, types_of
from client_sdk.protocol.budget import Budget, Strategy
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.horizon import IN_YEAR
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.same_file import replaced, replaces_another_kind


class Target(StrEnum):
    """Where the SDK runs."""

    WEB = "web"
    NODE = "node"


def compile_registry(path: Path, target: Target, output: Path | None, *, check: bool) -> Outcome:
    """Write the module and its types, or compare them with what is there.

    Without a file, return the module.

    Raises:
        RegistryError: if the registry cannot be used.

    """
    registry = Registry.read(path)
    problems = tuple(f"{path}: {problem}" for problem in refusals(registry, target))
    if problems:
        return Outcome(problems=problems)
    module = module_of(registry, target)
    if output is None:
        return Outcome(module)
    files = {output: module, output.with_suffix(".d.ts"): types_of(registry)}
    if check:
        return _compared(files, path)
    return _write(files, path, _promise(registry.budget, target))


def _write(files: dict[Path, str], registry: Path, promise: str) -> Outcome:
    if replaced(files, [registry]) is not None:
        return Outcome(problems=(f"{registry} is the registry, and the module would replace it; name another file",))
    foreign = [file for file in files if replaces_another_kind(file, lambda head: head.startswith(HEAD.encode()))]
    if foreign:
        return Outcome(problems=(f"{foreign[0]} was not written by compile, and is left as it is; name another file",))
    try:
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        return Outcome(problems=(f"{error.filename} cannot be written: {error.strerror}; name another file",))
    return Outcome(f"wrote {' and '.join(map(str, files))}\n{promise}")


def refusals(registry: Registry, target: Target) -> Iterator[str]:
    """Yield a sentence for everything that a target cannot keep its promises for."""
    if registry.budget.strategy is not Strategy.SPLIT:
        yield f'[budget] strategy = "{registry.budget.strategy}" needs a secret, and this SDK keeps none; remove it'
    for name, metric in registry.metrics.items():
        reason = refusal(metric)
        if reason is not None:
            yield f"metric.{name}: {reason}"
    if target is Target.WEB:
        yield from _unstated_year(registry.budget)


def refusal(metric: Metric) -> str | None:
    """Return why the SDK does not take a question, and what to do about it; None if it takes it."""
    mechanism = metric.channel.name.removeprefix("permanent ")
    reasons = {
        metric.kind.browser_refusal: bool(metric.kind.browser_refusal),
        "fill_in needs a device that runs in every window; a page runs only while it is open": metric.fill is not None,
        f"this SDK does not have the mechanism {mechanism}; name another one": mechanism not in MECHANISMS,
        "permanent_epsilon needs a secret that outlives the storage of a browser; this SDK keeps none": bool(
            metric.channel.permanent_nanos
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _unstated_year(budget: Budget) -> Iterator[str]:
    year = _year_nanos(budget)
    if budget.web_year_nanos is None or budget.web_year_nanos < year:
        yield (
            f"[budget] web_year must be at least {_epsilon(year)}: browsers wipe storage, and with it the ledger, so "
            f"that only per_window holds, and a calendar year may touch {IN_YEAR[budget.window]} windows"
        )


def _year_nanos(budget: Budget) -> int:
    """Return the most of a calendar year without a ledger that outlives a window."""
    return IN_YEAR[budget.window] * budget.per_window_nanos


def _promise(budget: Budget, target: Target) -> str:
    within = f"at most {_epsilon(budget.per_window_nanos)} per {budget.window}"
    if target is Target.NODE:
        return f"{within}, and {_epsilon(budget.lifetime_nanos)} for life\n"
    storage = f"{_epsilon(budget.lifetime_nanos)} per life of the storage"
    return f"{within}, and {storage}; if it is wiped again and again, {_epsilon(_year_nanos(budget))} per year\n"


def _epsilon(nanos: int) -> str:
    return f"{nanos / NANOS:g}"


def _compared(files: dict[Path, str], registry: Path) -> Outcome:
    stale = [file for file, text in files.items() if not file.is_file() or file.read_text(encoding="utf-8") != text]
    if stale:
        return Outcome(problems=tuple(f"{file} is not what {registry} says; compile it again" for file in stale))
    return Outcome(f"{' and '.join(map(str, files))} are what {registry} says\n")
