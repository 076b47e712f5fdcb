"""The history of a registry: what released apps may still answer after a question has changed.

``hearsay-client release`` keeps each released registry, whole, in a file beside the registry:
``metrics.history.toml`` beside ``metrics.toml``. The collector counts, and the estimator reports,
the questions of both. A device needs the registry alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry.registry import Former, Registry

SUFFIX: Final = ".history.toml"

HEAD: Final = """\
# What was released before: written by `hearsay-client release`, and not by hand. When no app of a release is left, its
# entry may be deleted. Ship the file to the collector and the estimator, beside the registry. Apps do without it.
schema = 1
"""

RESTORE: Final = "restore it from version control"


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
    return _with_history(Registry.read(path), path)


def load(path: Path) -> Registry:
    """Read both as `read` does, and log what `check` would refuse, as `Registry.load` does.

    Raises:
        RegistryError: as `read` does.

    """
    return _with_history(Registry.load(path), path)


def _with_history(registry: Registry, path: Path) -> Registry:
    history = path_of(path)
    releases = releases_in(history)
    require_same_app(registry, releases, history)
    return with_former(registry, releases)


def require_same_app(registry: Registry, releases: Sequence[Release], history: Path) -> None:
    """Refuse the history of another app: its questions are none that these apps ask.

    Raises:
        RegistryError: naming the first release of another app.

    """
    for number, (_, released) in enumerate(releases, 1):
        if released.app != registry.app:
            raise RegistryError(
                f"{history}: release {number}",
                f"is of {released.app}, and the registry of {registry.app}: bring the history of this app, or change "
                "app.name there, too, if the app was renamed",
            )


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
        raise RegistryError(str(history), f"is not UTF-8 text; {RESTORE}") from error
    return _parsed(text, history)


def with_former(registry: Registry, releases: Sequence[Release]) -> Registry:
    """Return a registry that also knows what earlier releases ask otherwise.

    The former questions come in the order of the releases that asked them last. A question is a
    newcomer if a release does not ask it as the registry does.
    """
    covered = {f"{name}:{edition}" for name, metric in registry.metrics.items() for edition in metric.editions}
    former: list[Former] = []
    for position in reversed(range(len(releases))):
        following = releases[position + 1] if position + 1 < len(releases) else None
        for name, metric in reversed(list(releases[position].registry.metrics.items())):
            editions = {f"{name}:{edition}" for edition in metric.editions}
            if not editions <= covered:
                covered |= editions
                since = min(day for day, released in releases if _asks(released, name, metric.edition))
                then = (registry if following is None else following.registry).metrics.get(name)
                former.append(Former(metric, since, None if following is None else following.day, then))
    newcomers = frozenset(
        name
        for name, metric in registry.metrics.items()
        if not all(_asks(released, name, metric.edition) for _, released in releases)
    )
    return replace(registry, former=tuple(reversed(former)), newcomers=newcomers)


def _asks(registry: Registry, name: str, edition: str) -> bool:
    return name in registry.metrics and registry.metrics[name].edition == edition


def written(releases: Sequence[Release]) -> str:
    """Return the text of a history."""
    return HEAD + "".join(
        f"\n[[release]]\nday = {day}\nregistry = {_quoted(registry.source)}\n" for day, registry in releases
    )


def with_release(releases: Sequence[Release], release: Release) -> tuple[Release, ...]:
    """Return the releases with one more, after those of its day and before."""
    return tuple(sorted((*releases, release), key=lambda each: each.day))


def is_released(registry: Registry, releases: Sequence[Release]) -> bool:
    """Whether a release asks exactly the questions of a registry, of the same meaning."""
    return any(_editions(released) == _editions(registry) for _, released in releases)


def _editions(registry: Registry) -> set[tuple[str, str]]:
    return {(name, edition) for name, metric in registry.metrics.items() for edition in metric.editions}


def _quoted(text: str) -> str:
    """Return a text as a string of TOML that a reviewer can read, wherever that is possible."""
    import json  # noqa: PLC0415 as in `Registry.parse`

    is_printable = all(char in "\n\t" or char.isprintable() for char in text)
    if is_printable and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _parsed(text: str, path: Path) -> tuple[Release, ...]:
    import tomllib  # noqa: PLC0415 as in `Registry.parse`

    try:
        document = tomllib.loads(text)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise RegistryError(str(path), f"is not TOML: {error}; {RESTORE}") from error
    entries = document.get("release", [])
    if document.keys() - {"schema", "release"} or document.get("schema") != 1 or not isinstance(entries, list):
        raise RegistryError(str(path), f"must hold schema = 1 and a list of [[release]]; {RESTORE}")
    releases = tuple(_release(entry, f"{path}: release {number}") for number, entry in enumerate(entries, 1))
    if any(later.day < earlier.day for earlier, later in pairwise(releases)):
        raise RegistryError(str(path), f"must have its releases in the order of their days; {RESTORE}")
    return releases


def _release(entry: object, place: str) -> Release:
    fields = entry if isinstance(entry, dict) else {}
    day, text = fields.get("day"), fields.get("registry")
    if fields.keys() != {"day", "registry"} or type(day) is not date or not isinstance(text, str):
        raise RegistryError(place, f"must have a day, such as 2026-11-28, and the text of a registry; {RESTORE}")
    try:
        return Release(day, Registry.parse(text))
    except RegistryError as error:
        raise RegistryError.of(error.mistakes, [place] * len(error.mistakes)) from None
