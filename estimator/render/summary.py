"""The answers of a report in a few lines, or as a table for notebooks."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from estimator.render.words import answer_of, participation_of
from estimator.report.highlights import first_shown
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport
from estimator.words import plural

NOTHING = "There is nothing to report."


class Line(NamedTuple):
    """What is said of one question.

    Attributes:
        question: its name.
        window: the window that the answer is from, with a word if it is still open.
        answer: a sentence or two.
        reports: how many, in words.

    """

    question: str
    window: str
    answer: str
    reports: str


def summary(report: EstimateReport) -> str:
    """Return the answer to each question in its last closed window, a line each."""
    lines = [f"{line.question}, {line.window}: {line.answer} ({line.reports})" for line in _lines(report)]
    return "\n".join([*lines, participation_of(_windows(report))] if lines else [NOTHING])


def as_table(report: EstimateReport) -> str:
    """Return the same as an HTML table."""
    head = Markup().join(Markup("<th>{}</th>").format(name) for name in ("question", "window", "answer", "reports"))
    rows = Markup().join(
        Markup("<tr>{}</tr>").format(Markup().join(Markup("<td>{}</td>").format(text) for text in line))
        for line in _lines(report)
    )
    caption = participation_of(_windows(report))
    whole = Markup("<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>")
    return str(whole.format(caption, head, rows))


def _lines(report: EstimateReport) -> list[Line]:
    return [_line(estimated) for estimated in _windows(report)]


def _windows(report: EstimateReport) -> list[MetricEstimate]:
    """Return the window of each question that is shown."""
    return [
        first_shown(list(windows)) for _, windows in groupby(report.metrics, key=lambda estimated: estimated.metric)
    ]


def _line(estimated: MetricEstimate) -> Line:
    window = estimated.window if estimated.closed else f"{estimated.window} (preliminary)"
    return Line(estimated.metric, window, answer_of(estimated), plural(estimated.reports, "report"))
