"""A report that a notebook can show and a program can print.

`EstimateReport` is plain data without rendering code. This module adds the rendering.
"""

from __future__ import annotations

from itertools import groupby
from os import PathLike
from typing import IO, Any, NamedTuple, Self

from markupsafe import Markup
from msgspec.structs import asdict

from estimator.formats.json_documents import read_report
from estimator.results.report import EstimateReport
from estimator.words import plural

NOTHING = "There is nothing to report."


class ShownReport(EstimateReport, frozen=True):
    """An `EstimateReport` that can be printed as a summary and shown in a notebook."""

    @classmethod
    def from_report(cls, report: EstimateReport) -> Self:
        """Return a copy of a report, as an object that can be printed and shown."""
        return cls(**asdict(report))

    def summary(self) -> str:
        """Return a line on each metric's main figure, and a line on the participating devices."""
        answers, participation = _answers(self)
        lines = [f"{each.metric}, {each.window}: {each.answer} ({each.reports})" for each in answers]
        return "\n".join([*lines, participation] if lines else [NOTHING])

    def _repr_html_(self) -> str:
        """Return the summary as an HTML table for notebooks."""
        answers, participation = _answers(self)
        head = Markup().join(Markup("<th>{}</th>").format(name) for name in ("question", *_Answer._fields[1:]))
        rows = Markup().join(
            Markup("<tr>{}</tr>").format(Markup().join(Markup("<td>{}</td>").format(text) for text in each))
            for each in answers
        )
        whole = Markup("<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>")
        return str(whole.format(participation, head, rows))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, FBT001 the interface of IPython
        """Print the summary when a notebook or IPython prints the object."""
        printer.text("…" if cycle else self.summary())


class _Answer(NamedTuple):
    """The summary of one metric, in words.

    ``window`` contains the word "preliminary" if the window is still open.
    """

    metric: str
    window: str
    answer: str
    reports: str


def _answers(report: EstimateReport) -> tuple[list[_Answer], str]:
    from estimator.render.words import answer_of, participation_of, titled  # noqa: PLC0415 90 ms
    from estimator.report.conclusions import first_shown  # noqa: PLC0415 60 ms

    windows = groupby(titled(report).metrics, key=lambda each: each.metric)
    shown = [first_shown(list(estimates)) for _, estimates in windows]
    answers = [
        _Answer(
            each.target,
            each.window if each.closed else f"{each.window} (preliminary)",
            answer_of(each),
            plural(each.reports, "report"),
        )
        for each in shown
    ]
    return answers, participation_of(shown)


def load_report(source: str | PathLike[str] | IO[str] | IO[bytes]) -> ShownReport:
    """Read the JSON of a report.

    Args:
        source: a path, or an open file.

    Raises:
        ReportError: if the source cannot be read, is not a report, or has an unknown schema.

    """
    return ShownReport.from_report(read_report(source))
