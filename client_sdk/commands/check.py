"""``hearsay-client check``: every mistake of a registry, and whether it can work."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from client_sdk.commands import Outcome
from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry.limits import remarks
from client_sdk.protocol.registry.registry import Registry


def check(path: Path, today: date) -> Outcome:
    """Return a line for each mistake of a registry, or else each objection to releasing it."""
    try:
        registry = Registry.read(path)
    except RegistryError as error:
        return Outcome(problems=tuple(str(error).splitlines()))
    sentences = registry.objections(today)
    if sentences:
        return Outcome(problems=tuple(f"{path}: {sentence}" for sentence in sentences))
    number = len(registry.metrics)
    questions = "1 question" if number == 1 else f"{number} questions"
    sound = f"{path} is sound: {questions} of {registry.app}; a device can pay for a first answer to each\n"
    sentences = [*remarks(registry, today), *registry.neglected(today)]
    return Outcome(sound + "".join(f"{path}: {sentence}\n" for sentence in sentences))
