"""The index of an archive: a page for people and a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final

from jinja2 import Environment, PackageLoader

from estimator.formats.to_json import json_text

INDEX_SCHEMA: Final = 1
"""The schema number of ``index.json``."""


@dataclass(frozen=True, slots=True)
class ArchivedWindow:
    """One window of an archive.

    Attributes:
        window: its name.
        kind: day, week or month.
        metrics: how many tallies were estimated. None where the report cannot be read.
        reports: how many reports these tallies hold together. None where the report cannot be read.
        skipped: how many tallies could not be estimated. None where the report cannot be read.
        files: the names of the files in its folder.

    """

    window: str
    kind: str
    metrics: int | None
    reports: int | None
    skipped: int | None
    files: tuple[str, ...]


def index_as_json(entries: Sequence[ArchivedWindow]) -> str:
    """Return the index for programs."""
    return json_text({"schema": INDEX_SCHEMA, "windows": [asdict(entry) for entry in entries]})


def index_as_html(entries: Sequence[ArchivedWindow]) -> str:
    """Return the index for people."""
    templates = Environment(loader=PackageLoader("estimator.render.html"), autoescape=True)
    return templates.get_template("index.html.jinja").render(entries=entries)
