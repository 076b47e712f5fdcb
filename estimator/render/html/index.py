"""The index of an archive: a page for people and a document for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from client_sdk.protocol.window import Window
from estimator.formats.to_json import json_text
from estimator.render.html.files import PACKAGE, STYLE, asset, policy
from estimator.render.html.filters import breakable
from estimator.render.sentences import answer_of
from estimator.results.report import EstimateReport

INDEX_SCHEMA: Final = 2
"""The schema number of ``index.json``."""


OPEN_WINDOWS: Final = 7
"""The newest windows are unfolded: a week of days."""


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """The answer to one question in a window.

    Attributes:
        metric: the name of the question.
        answer: a sentence or two, with the intervals.

    """

    metric: str
    answer: str


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
        answers: to its questions. Empty where the report cannot be read.

    """

    window: str
    kind: str
    metrics: int | None
    reports: int | None
    skipped: int | None
    files: tuple[str, ...]
    answers: tuple[ArchivedAnswer, ...] = ()

    @classmethod
    def of(cls, window: Window, files: Sequence[str], report: EstimateReport | None) -> ArchivedWindow:
        """Return a window with the answers of its report, which is None if it cannot be read."""
        if report is None:
            return cls(window.text, window.kind, None, None, None, tuple(files))
        answers = tuple(ArchivedAnswer(estimated.metric, answer_of(estimated)) for estimated in report.metrics)
        reports = sum(estimated.reports for estimated in report.metrics)
        return cls(window.text, window.kind, len(report.metrics), reports, len(report.skipped), tuple(files), answers)

    @classmethod
    def from_json(cls, entry: dict[str, Any]) -> ArchivedWindow:
        """Return a window that an index holds.

        Raises:
            TypeError: if it is not one.

        """
        answers = tuple(ArchivedAnswer(**answer) for answer in entry["answers"])
        return cls(**entry | {"files": tuple(entry["files"]), "answers": answers})


def index_as_json(entries: Sequence[ArchivedWindow]) -> str:
    """Return the index for programs."""
    return json_text({"schema": INDEX_SCHEMA, "windows": [asdict(entry) for entry in entries]})


def index_as_html(entries: Sequence[ArchivedWindow]) -> str:
    """Return the index for people."""
    style = asset(STYLE)
    templates = Environment(loader=PackageLoader(PACKAGE), autoescape=True, trim_blocks=True, lstrip_blocks=True)
    templates.filters["breakable"] = breakable
    return templates.get_template("index.html.jinja").render(
        entries=entries,
        open_windows=OPEN_WINDOWS,
        policy=policy([], [style]),
        style=Markup(style),  # noqa: S704 a file of this package
    )
