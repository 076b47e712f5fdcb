"""The history of a registry: what released apps may still answer after a question has changed.

``hearsay-client release`` appends each released registry, whole, to a file beside it:
``metrics.history.toml`` beside ``metrics.toml``. The collector counts, and the estimator reports,
the questions of both. A device needs the registry alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry.registry import Former, Registry

SUFFIX = ".history.toml"

HEAD = """\
# What was released before: written by `hearsay-client release`, and not by hand.
# Ship it to the collector and the estimator, beside the registry. Apps do without it.
schema = 1
"""


class Release(NamedTuple):
    """A registry as it was released.

    Attributes:
        day: the day of the release.
        registry: its questions.

    """

    day: date
    registry: Registry


def path_of(registry: Path) -> Path:
    """Return the path of a registry's history.

    >>> path_of(Path("app/metrics.toml")).name
    'metrics.history.toml'
    """
    return registry.with_name(registry.stem + SUFFIX)


def read(path: Path) -> Registry:
    """Read a registry and the history beside it, if there is one.

    Raises:
        RegistryError: if either cannot be used; it names the file and every mistake.

    """
    return with_former(Registry.read(path), releases_in(path_of(path)))


def load(path: Path) -> Registry:
    """Read both as `read` does, and log what `check` would refuse, as `Registry.load` does.

    Raises:
        RegistryError: as `read` does.

    """
    return with_former(Registry.load(path), releases_in(path_of(path)))


def releases_in(history: Path) -> tuple[Release, ...]:
    """Return the releases that a history holds, the oldest first; none if there is no such file.

    Raises:
        RegistryError: if the file cannot be used.

    """
    try:
        text = history.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RegistryError(str(history), f"cannot be read: {error.strerror}; name a readable file") from error
    except UnicodeDecodeError as error:
        raise RegistryError(str(history), "is not UTF-8 text; restore it from version control") from error
    return _parsed(text, history)


def with_former(registry: Registry, releases: Sequence[Release]) -> Registry:
    """Return a registry that also knows the questions of earlier releases that it asks no more."""
    known = {f"{name}:{edition}" for name, metric in registry.metrics.items() for edition in metric.editions}
    last: dict[str, tuple[int, Former]] = {}
    for position, (_, released) in enumerate(releases):
        until = releases[position + 1].day if position + 1 < len(releases) else None
        for name, metric in released.metrics.items():
            if not all(f"{name}:{edition}" in known for edition in metric.editions):
                last[f"{name}:{metric.edition}"] = position, Former(metric, until)
    return replace(registry, former=tuple(former for _, former in sorted(last.values(), key=lambda each: each[0])))


def appended(history: str, registry: Registry, day: date) -> str:
    """Return the text of a history with one more release.

    Args:
        history: its text so far; empty if there was none.
        registry: the released registry, as it was read.
        day: the day of the release.

    """
    return f"{history or HEAD}\n[[release]]\nday = {day}\nregistry = {_quoted(registry.source)}\n"


def is_released(registry: Registry, releases: Sequence[Release]) -> bool:
    """Whether the last release asks exactly the questions of a registry, of the same meaning."""
    return bool(releases) and _editions(releases[-1].registry) == _editions(registry)


def _editions(registry: Registry) -> set[tuple[str, str]]:
    return {(name, edition) for name, metric in registry.metrics.items() for edition in metric.editions}


def _quoted(text: str) -> str:
    """Return a text as a string of TOML that a reviewer can read, wherever that is possible."""
    import json  # noqa: PLC0415 as in `Registry.parse`

    is_plain = (
        "'''" not in text and not text.endswith("'") and all(char in "\n\t" or char.isprintable() for char in text)
    )
    if is_plain:
        return f"'''\n{text}'''"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parsed(text: str, path: Path) -> tuple[Release, ...]:
    import tomllib  # noqa: PLC0415 as in `Registry.parse`

    try:
        document = tomllib.loads(text)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise RegistryError(str(path), f"is not TOML: {error}") from error
    if document.keys() - {"schema", "release"} or document.get("schema") != 1:
        raise RegistryError(str(path), "must hold schema = 1 and releases: restore it from version control")
    entries = document.get("release", [])
    return tuple(_release(entry, number, path) for number, entry in enumerate(_tables(entries, path), 1))


def _tables(entries: object, path: Path) -> Iterable[object]:
    if not isinstance(entries, list):
        raise RegistryError(str(path), "must list releases: [[release]]")
    return entries


def _release(entry: object, number: int, path: Path) -> Release:
    fields = entry if isinstance(entry, dict) else {}
    day, text = fields.get("day"), fields.get("registry")
    if fields.keys() != {"day", "registry"} or type(day) is not date or not isinstance(text, str):
        raise RegistryError(f"{path}: release {number}", "must have a day and the text of a registry")
    try:
        return Release(day, Registry.parse(text))
    except RegistryError as error:
        raise RegistryError.of(error.mistakes, [f"{path}, release {number}"] * len(error.mistakes)) from None
