"""``hearsay-client release``: puts a registry into its history, whose questions go on counting."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry


def release(path: Path, into: Path | None, day: date | None, today: date, *, only_checks: bool) -> Outcome:
    """Put a registry into its history, unless a release asks the same questions already.

    Args:
        path: the registry.
        into: the history; None for the one beside the registry.
        day: the day of the release; None for today.
        today: the present day.
        only_checks: whether to say only if the registry is released already.

    Raises:
        RegistryError: if the registry or the history cannot be used.

    """
    registry = Registry.read(path)
    file = into or history.path_of(path)
    releases = history.releases_in(file)
    history.require_same_app(registry, releases, file)
    if history.is_released(registry, releases):
        return Outcome(f"{path} is in {file} already: nothing to do\n")
    if only_checks:
        first = "; if apps with another registry are out, release theirs first" if not releases else ""
        run = f"hearsay-client release --registry {path}"
        return Outcome(problems=(f"{path} is not in its history, {file}: run {run}{first}",))
    if day is not None and day > today:
        return Outcome(problems=(f"--day {day} is in the future; name the day on which the app was released",))
    if objections := registry.objections(today):
        return Outcome(problems=tuple(f"{path}: {sentence}" for sentence in objections))
    more = history.with_release(releases, history.Release(day or today, registry))
    try:
        _replace(file, history.written(more))
    except OSError as error:
        return Outcome(problems=(f"{file} cannot be written: {error.strerror}; name another file",))
    first = "" if releases else "; it is the first there: if apps with another registry are out, release theirs, too"
    return Outcome(
        f"wrote {file}: {path} was released on {day or today}{first}\n"
        f"ship both files to the collector and the estimator, side by side\n"
    )


def _replace(file: Path, text: str) -> None:
    """Replace a file as a whole, or leave it as it was.

    Raises:
        OSError: if it cannot be written.

    """
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)  # noqa: PTH105 as one step
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
