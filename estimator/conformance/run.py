"""Run the conformance cases of the requested classes, such as ``windows`` or ``ledger``."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Final

from estimator.conformance import functions
from estimator.conformance.histories import histories_of, play_histories
from estimator.conformance.outcome import Case, CaseClass
from estimator.conformance.program import Program

HERE: Final = Path(__file__).resolve().parent

FOLDERS: Final = (HERE / "vectors", HERE.parents[1] / "tests" / "vectors")
"""The folders of the vectors: next to this module in a wheel, or under ``tests`` in a checkout."""


def vectors(name: str) -> Any:  # noqa: ANN401 any JSON value
    """Return the content of a file of test vectors, given its name without ``.json``."""
    folder = next(folder for folder in FOLDERS if folder.is_dir())
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))


def play(program: Program, classes: Collection[CaseClass]) -> Iterator[Case]:
    """Run the cases of the given classes, and yield their outcomes."""
    if CaseClass.LAWS in classes:
        yield from functions.laws(program, vectors("coins"))
    if CaseClass.ANSWERS in classes:
        yield from functions.answers(program, vectors("coins"), vectors("invalid"), vectors("compiled"))
    if CaseClass.EDITIONS in classes:
        yield from functions.editions(program, vectors("editions"), vectors("compiled"))
    if CaseClass.WINDOWS in classes:
        yield from functions.windows(program, vectors("windows"))
    document = vectors("histories")
    chosen = [
        history
        for history in histories_of(document, vectors("verdicts"))
        if history["class"] in {each.label for each in classes}
    ]
    yield from play_histories(program, document["registries"], chosen)
