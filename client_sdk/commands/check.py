"""``hearsay-client check``: every mistake of a registry, and whether it can work."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.differences import differences
from client_sdk.protocol.registry.limits import remarks
from client_sdk.protocol.registry.registry import Registry


def check(path: Path, today: date, against: Path | None = None) -> Outcome:
    """Return a line for each mistake of a registry, or else each objection to releasing it.

    Args:
        path: the registry. The history beside it is read, too.
        today: the day of the check.
        against: the registry that was released before, to say what the change means; None for the
            last release in the history, if there is one.

    """
    try:
        registry, releases = history.read(path), history.releases_in(history.path_of(path))
        before = Registry.read(against) if against is not None else releases[-1].registry if releases else None
    except RegistryError as error:
        return Outcome(problems=tuple(str(error).splitlines()))
    sentences = registry.objections(today)
    if sentences:
        return Outcome(problems=tuple(f"{path}: {sentence}" for sentence in sentences))
    number = len(registry.metrics)
    questions = "1 question" if number == 1 else f"{number} questions"
    sound = f"{path} is sound: {questions} of {registry.app}; a device can pay for a first answer to each\n"
    sentences = [*remarks(registry, today), *registry.neglected(today)]
    if before is not None:
        sentences += differences(before, registry) or ["it asks what was released before: reports are counted together"]
    return Outcome(sound + "".join(f"{path}: {sentence}\n" for sentence in sentences))
