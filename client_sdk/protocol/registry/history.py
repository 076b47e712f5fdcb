"""The history of a registry: former metrics, which older versions of the app may still answer.

``hearsay-client release`` copies each released registry into the history, a file next to the
registry, such as ``metrics.history.toml`` for ``metrics.toml``. The collector and the estimator
process the metrics in both files. A device needs only the registry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry.lines import line_of, lines_of
from client_sdk.protocol.registry.registry import WHOLE, Former, Registry
from client_sdk.protocol.toml_table import suggestion
from client_sdk.protocol.wire.verdict import stopped_entry

SUFFIX: Final = ".history.toml"

HEAD: Final = """\
# Earlier releases, written by `hearsay-client release`. When no device runs a release any more, you may delete its
# entry. Deploy this file to the collector and the estimator, beside the registry. Apps do not need it.
schema = 1
"""

RESTORE: Final = "restore it from version control"


class Release(NamedTuple):
    """A released registry.

    Attributes:
        day: the day of the release.
        registry: the released registry.
        line: the number of the release's first line in the history; 0 if the history lacks the
            release.
    """

    day: date
    registry: Registry
    line: int = 0


def path_of(registry: Path) -> Path:
    """Return the path of a registry's history.

    >>> path_of(Path("app/metrics.toml")).name
    'metrics.history.toml'
    """
    return registry.with_name(registry.stem + SUFFIX)


def read(path: Path) -> Registry:
    """Read a registry and, if it has a history, its history.

    Raises:
        RegistryError: if a file cannot be used. The error names the file and every mistake.
    """
    return _with_history(Registry.read(path), path)


def load(path: Path) -> Registry:
    """Read a registry and its history, and log problems as `Registry.load` does."""
    return _with_history(Registry.load(path), path)


def _with_history(registry: Registry, path: Path) -> Registry:
    return with_releases(registry, releases_in(path_of(path)), path_of(path))


def unknown_stops(registry: Registry) -> list[str]:
    """Return a sentence for each stopped metric that the registry and its history do not define."""
    known = [stopped_entry((metric.name, edition)) for metric in registry.counted for edition in metric.editions]
    sentences = []
    for entry in map(stopped_entry, registry.stopped):
        if entry not in known:
            own = [each for each in known if each.partition(":")[0] == entry.partition(":")[0]]
            meant = f'; did you mean "{own[-1]}"?' if len(own) == 1 else suggestion(entry, own or known)
            advice = meant or "; correct or remove it, or add the registry of its release to the history"
            sentences.append(f'stopped: neither the registry nor its history defines "{entry}"{advice}')
    return sentences


def with_releases(registry: Registry, releases: Sequence[Release], history: Path) -> Registry:
    """Return a registry to which the former metrics in ``releases`` are added."""
    require_same_app(registry, releases, history)
    return with_former(registry, releases)


def require_same_app(registry: Registry, releases: Sequence[Release], history: Path) -> None:
    """Check that every release in a history belongs to the registry's app."""
    for number, release in enumerate(releases, 1):
        if release.registry.app != registry.app:
            raise RegistryError(
                f"{history}:{release.line}: release {number}",
                f"is from {release.registry.app}, but the registry is from {registry.app}: use the history of "
                f"{registry.app}; if the app was renamed, change app.name in the history, too",
            )


def releases_in(history: Path) -> tuple[Release, ...]:
    """Return the releases in a history, the oldest first; empty if the file does not exist."""
    try:
        text = history.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise RegistryError(str(history), f"cannot be read: {error.strerror}; name a readable file") from error
    except UnicodeDecodeError as error:
        raise RegistryError(str(history), f"is not UTF-8 text; {RESTORE}") from error
    return parsed(text, str(history))


def with_former(registry: Registry, releases: Sequence[Release]) -> Registry:
    """Return a registry to which the former metrics are added.

    Former metrics are those that only ``releases`` contain.

    Former metrics are sorted by their last release. `Registry.newcomers` is set to the present
    metrics that some release lacks or defines with another meaning.
    """
    covered = {f"{name}:{edition}" for name, metric in registry.metrics.items() for edition in metric.editions}
    former: list[Former] = []
    for position in reversed(range(len(releases))):
        following = releases[position + 1] if position + 1 < len(releases) else None
        for name, metric in reversed(list(releases[position].registry.metrics.items())):
            editions = {f"{name}:{edition}" for edition in metric.editions}
            if not editions <= covered:
                covered |= editions
                since = min(each.day for each in releases if _asks(each.registry, name, metric.edition))
                then = (registry if following is None else following.registry).metrics.get(name)
                former.append(Former(metric, since, None if following is None else following.day, then))
    newcomers = frozenset(
        name
        for name, metric in registry.metrics.items()
        if not all(_asks(each.registry, name, metric.edition) for each in releases)
    )
    return replace(registry, former=tuple(reversed(former)), newcomers=newcomers)


def _asks(registry: Registry, name: str, edition: str) -> bool:
    return name in registry.metrics and registry.metrics[name].edition == edition


def written(releases: Sequence[Release]) -> str:
    """Return the text of a history."""
    return HEAD + "".join(
        f"\n[[release]]\nday = {each.day}\nregistry = {_quoted(each.registry.source)}\n" for each in releases
    )


def with_release(releases: Sequence[Release], release: Release) -> tuple[Release, ...]:
    """Return all releases, sorted by day.

    If several releases have the same day, ``release`` is the last of them.
    """
    return tuple(sorted((*releases, release), key=lambda each: each.day))


def is_released(registry: Registry, releases: Sequence[Release]) -> bool:
    """Whether a release defines the same metrics as a registry, with the same meanings."""
    return any(_editions(each.registry) == _editions(registry) for each in releases)


def _editions(registry: Registry) -> set[tuple[str, str]]:
    return {(name, edition) for name, metric in registry.metrics.items() for edition in metric.editions}


def _quoted(text: str) -> str:
    import json  # noqa: PLC0415 as in `Registry.parse`

    is_printable = all(char in "\n\t" or char.isprintable() for char in text)
    if is_printable and "'''" not in text and not text.endswith("'"):
        return f"'''\n{text}'''"
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def parsed(text: str, name: str) -> tuple[Release, ...]:
    """Return the releases in the text of a history, the oldest first.

    Error messages contain ``name``, which is the name of the history's file.
    """
    import tomllib  # noqa: PLC0415 as in `Registry.parse`

    try:
        document = tomllib.loads(text)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise RegistryError(name, f"is not TOML: {error}; {RESTORE}") from error
    entries = document.get("release", [])
    unknown = next(iter(document.keys() - {"schema", "release"}), None)
    if unknown or document.get("schema") != 1 or not isinstance(entries, list):
        line = line_of(unknown or ("release" if document.get("schema") == 1 else "schema"), lines_of(text))
        raise RegistryError(f"{name}:{line}", f"must contain schema = 1 and a list of [[release]]; {RESTORE}")
    lines = lines_of(text)
    releases = tuple(_release(entry, name, number, text, lines) for number, entry in enumerate(entries, 1))
    for earlier, later in pairwise(releases):
        if later.day < earlier.day:
            place = f"{name}:{later.line}"
            raise RegistryError(place, f"must list its releases by date; {RESTORE}")
    return releases


def _release(entry: object, name: str, number: int, text: str, lines: Mapping[str, int]) -> Release:
    fields = entry if isinstance(entry, dict) else {}
    day, source = fields.get("day"), fields.get("registry")
    line, release = line_of(f"release.{number}", lines), f"release {number}"
    if fields.keys() != {"day", "registry"} or type(day) is not date or not isinstance(source, str):
        problem = f"must have a date, such as 2026-11-28, and the text of a registry; {RESTORE}"
        raise RegistryError(f"{name}:{line}: {release}", problem)
    try:
        return Release(day, Registry.parse(source), line)
    except RegistryError as error:
        within = {} if error.mistakes[0][0] == WHOLE else lines_of(source)
        begin = line_of(f"release.{number}.registry", lines)
        at = [_line_in(text, begin, source, line_of(place, within)) for place, _ in error.mistakes]
        raise RegistryError.from_mistakes(error.mistakes, [f"{name}:{each}: {release}" for each in at]) from None


def _line_in(text: str, begin: int, source: str, line: int) -> int:
    """Return the number of the line in a history that corresponds to ``line`` in ``source``.

    ``source`` is the registry that the history contains from line ``begin`` on.
    """
    outer, inner = text.splitlines(), source.splitlines()
    places = (place for place in (begin + line, begin + line - 1) if outer[place - 1 : place] == inner[line - 1 : line])
    return next(places, begin)
