"""``hearsay-client release``: puts a registry into its history, whose reports go on counting."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.registry import Registry


def release(path: Path, into: Path | None, today: date, *, only_checks: bool) -> Outcome:
    """Append a registry to its history, unless the last release asks the same questions.

    Args:
        path: the registry.
        into: the history; None for the one beside the registry.
        today: the day of the release.
        only_checks: whether to say only if the registry is released already.

    Raises:
        RegistryError: if the registry or the history cannot be used.

    """
    file = into or history.path_of(path)
    registry, releases = Registry.read(path), history.releases_in(file)
    text = file.read_text(encoding="utf-8") if releases else ""
    if history.is_released(registry, releases):
        return Outcome(f"{path} asks what {file} has as its last release, of {releases[-1].day}: nothing to do\n")
    if only_checks:
        return Outcome(problems=(f"{path} is not in {file} yet: run hearsay-client release --registry {path}",))
    try:
        _replace(file, history.appended(text, registry, today))
    except OSError as error:
        return Outcome(problems=(f"{file} cannot be written: {error.strerror}; name another file",))
    return Outcome(f"released {path} on {today}: ship it with {file} to the collector and the estimator\n")


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
