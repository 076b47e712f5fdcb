"""Describes a change to a registry: which metrics change, and what happens to their reports.

The old registry is read from a file, or from a git revision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry

KEEP = "run `hearsay-client release` on the old registry before you deploy this one, or reports of old apps are refused"


UNCOUNTED: Final = "old and new reports are still counted together"


def between(old: Registry, new: Registry) -> list[str]:
    """Return a sentence for each metric that is new or removed, or has another `Metric.edition`.

    Changes of `Metric.title` and `Metric.is_public` are included, because outsiders see them.
    Changes of purposes and similar texts are left out. Both registries should include the former
    metrics in their histories.
    """
    sentences = []
    for name, metric in new.metrics.items():
        before = old.metrics.get(name)
        if before is None:
            sentences.append(f"metric.{name}: is a new question; it costs a device up to {_price(metric)}")
        elif before.edition != metric.edition:
            sentences.append(
                f"metric.{name}: {with_and(list(changes(before, metric)))}; {_consequence(before, metric)}"
            )
        elif before.strata != metric.strata:
            sentences.append(
                f"metric.{name}: its strata changed; reports of each stratum are counted separately from now on"
            )
    sentences += [
        f"metric.{name}: is no longer asked; reports of released apps count while the history contains the question"
        for name in old.metrics
        if name not in new.metrics
    ]
    sentences += [
        f"metric.{each.metric.name}: its former edition {each.metric.edition} is no longer in a history; reports of "
        "apps that still ask this question are refused"
        for each in old.former
        if any(new.asked_as(each.metric.name, edition) is None for edition in each.metric.editions)
    ]
    is_counted = all(
        new.asked_as(name, edition) is not None for name, metric in old.metrics.items() for edition in metric.editions
    )
    sentences += _shown_otherwise(old, new)
    return sentences if is_counted else [*sentences, KEEP]


def _shown_otherwise(old: Registry, new: Registry) -> Iterator[str]:
    """Yield a sentence for each change that affects only how results are shown or published."""
    for name, metric in new.metrics.items():
        before = old.metrics.get(name)
        if before is None or before.edition != metric.edition:
            continue
        if before.title != metric.title:
            yield f'metric.{name}: its title is now "{metric.title}"; {UNCOUNTED}'
        if before.is_public != metric.is_public:
            yield f"metric.{name}: its figures may now {'' if metric.is_public else 'not '}be published; {UNCOUNTED}"
        if before.kind.approved != metric.kind.approved:
            yield f"metric.{name}: other texts may now be published; {UNCOUNTED}"
    if old.events != new.events:
        yield "event: the labels in charts changed; no question has a new edition"


def with_and(words: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    >>> with_and(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _consequence(old: Metric, new: Metric) -> str:
    again = "draws a new permanent answer and " if new.channel.permanent_nanos else ""
    return (
        f"this is a new edition ({new.edition}), counted separately from the released one ({old.edition}); "
        f"a device {again}pays up to {_price(new)} for it, in addition to what the device has paid; a device that has "
        "spent its lifetime budget never answers it"
    )


def _price(metric: Metric) -> str:
    return f"epsilon {as_float(metric.epsilon_nanos):.9g} a {metric.window}"


def changes(old: Metric, new: Metric) -> Iterator[str]:
    """Yield the reasons for a metric's new edition, each as a clause of a sentence."""
    if old.kind.name != new.kind.name:
        yield f"its kind changed from {old.kind.name} to {new.kind.name}"
    else:
        before, after = definition(old), definition(new)
        for key in dict.fromkeys((*before, *after)):
            yield from _of_key(key, before.get(key), after.get(key))
    if old.window is not new.window:
        yield f"it changed from once a {old.window} to once a {new.window}"
    if old.epsilon_nanos != new.epsilon_nanos:
        yield f"epsilon changed from {as_float(old.epsilon_nanos):.9g} to {as_float(new.epsilon_nanos):.9g}"
    if old.channel.name != new.channel.name:
        yield f"its mechanism changed from {old.channel.name} to {new.channel.name}"
    if old.channel.permanent_nanos != new.channel.permanent_nanos:
        yield "its permanent epsilon changed"
    if not old.strata and new.strata:
        yield "its reports are counted by strata"


def _of_key(key: str, before: object, after: object) -> Iterator[str]:
    if before == after:
        return
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        added, dropped = [each for each in after if each not in before], [each for each in before if each not in after]
        if added:
            yield f"{_named(added)} added to {key}"
        if dropped:
            yield f"{_named(dropped)} removed from {key}"
        if not added and not dropped:
            yield f"the {key} are in a different order"
    elif before is None:
        yield f"{key} {after} was added"
    elif after is None:
        yield f"{key} was removed"
    else:
        yield f"{key} changed from {before} to {after}"


def _named(values: Sequence[object]) -> str:
    words = ['"' + value + '"' if isinstance(value, str) else str(value) for value in values]
    return f"{with_and(words)} {'was' if len(words) == 1 else 'were'}"


HELP = "a registry, named as FILE or, in git, as REVISION:FILE, such as origin/main:metrics.toml"
"""The part of a command's help that says how to name a registry."""


def nothing_at(place: Path) -> str:
    """Return a sentence that says that a git revision lacks the registry."""
    return f"{place} does not exist: this registry is new"


def read(place: Path) -> Registry | None:
    """Read a registry and its history. Return None if a git revision lacks the registry.

    Args:
        place: a file, or ``REVISION:FILE`` as for ``git show``. ``FILE`` is relative to the top of
            the repository, and ``./FILE`` is relative to the working directory.

    Raises:
        RegistryError: if a file has mistakes or cannot be read, if the revision does not exist, or
            if the file exists neither in the revision nor in the working directory.
    """
    revision, colon, path = place.as_posix().partition(":")
    if place.exists():
        return history.read(place)
    is_revision = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}") is not None
    if not path:
        if colon or is_revision:
            raise RegistryError(
                str(place), f"does not name a file; write REVISION:FILE, such as {revision}:metrics.toml"
            )
        return history.read(place)
    if not is_revision:
        problem = "is neither a file nor a revision in git; fetch the revision, or name another file"
        raise RegistryError(str(place), problem)
    text, beside = _in_git(place), history.path_of(place)
    if text is None:
        _require_new(place)
        return None
    releases = history.parsed(_in_git(beside) or "schema = 1", str(beside))
    return history.with_releases(Registry.parse_file(text, str(place)), releases, beside)


def _require_new(place: Path) -> None:
    """Refuse a path that exists neither in the revision nor in the working directory.

    A check in CI accepts every change if there is no old registry. A mistyped path must not have
    this effect.
    """
    path = place.as_posix().partition(":")[2]
    is_here = path.startswith(("./", "../"))
    top = Path() if is_here else Path((_git("rev-parse", "--show-toplevel") or b"").decode().strip())
    if not (top / path).exists():
        raise RegistryError(
            str(place),
            "exists neither in that revision nor here; FILE is relative to the top of the repository, and ./FILE to "
            "this folder",
        )


def _in_git(place: Path) -> str | None:
    """Return the text of a file in an existing revision; None if the revision lacks the file."""
    blob = _git("rev-parse", "--verify", "--quiet", "--end-of-options", place.as_posix())
    if blob is None:
        return None
    content = _git("cat-file", "blob", blob.decode().strip())
    try:
        return (content or b"").decode()
    except UnicodeDecodeError:
        raise RegistryError(str(place), "is not UTF-8 text; save it as UTF-8") from None


def _git(*words: str) -> bytes | None:
    """Return the output of git; None if git fails or is not installed."""
    import subprocess  # noqa: PLC0415 importing the SDK must stay quick

    try:
        done = subprocess.run(["git", *words], check=False, capture_output=True)  # noqa: S603, S607 no shell
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
