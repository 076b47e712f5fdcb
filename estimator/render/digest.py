"""The digest for mail or chat: a summary of all metrics in at most 20 lines."""

from __future__ import annotations

from typing import Final, NamedTuple

from estimator.results.standing import Standing, StandingMetric
from estimator.words import plural, short

MOST_LINES: Final = 20
"""The maximum number of lines. Chat programs collapse messages with more lines than this."""

FRAME: Final = 6
"""The number of lines that are not about a single metric. Three of these lines are empty."""

LONGEST_LINE: Final = 400
"""The maximum number of characters in a metric's sentences. The text on the number of reports is
not counted.
"""

ORDER: Final = ("changed", "perhaps", "same", "unknown")
"""The conclusions on whether answers changed, in the order of the digest."""

WITH_CHANGE: Final = ("changed", "perhaps")
"""For these conclusions, the digest contains a sentence on the change, followed by the latest
result.
"""


class Digest(NamedTuple):
    """The parts of a digest.

    ``more`` is a line on the metrics that are left out. This line is empty if all metrics are
    shown.
    """

    heading: str
    summary: str
    lines: tuple[tuple[str, str], ...]
    more: str
    participation: str


def digest_of(standing: Standing) -> Digest:
    """Return the digest of an archive."""
    metrics = sorted(standing.metrics, key=lambda metric: ORDER.index(metric.code))
    room = MOST_LINES - FRAME
    shown = metrics if len(metrics) <= room else metrics[: room - 1]
    hidden = len(metrics) - len(shown)
    last = max((window.window for window in standing.windows), default="")
    return Digest(
        heading=f"{standing.app}: telemetry digest{last and f', {last}'}",
        summary=_summary(metrics),
        lines=tuple((_target(metric), _sentences(metric)) for metric in shown),
        more=f"… and {plural(hidden, 'more question')}: see index.html" if hidden else "",
        participation=standing.participation,
    )


def _summary(metrics: list[StandingMetric]) -> str:
    changed, perhaps = (sum(metric.code == code for metric in metrics) for code in WITH_CHANGE)
    doubt = f", {perhaps:,} perhaps" if perhaps else ""
    all_metrics = plural(len(metrics), "question")
    return (
        f"{changed:,} of {all_metrics} changed{doubt}."
        if changed or perhaps
        else f"No change detected in {all_metrics}."
    )


def _target(metric: StandingMetric) -> str:
    return f"{metric.title}, {metric.counted}" if metric.counted else metric.title


def _sentences(metric: StandingMetric) -> str:
    change = f"{metric.change} " if metric.code in WITH_CHANGE else ""
    reports = f" {plural(metric.reports, 'report')} in {metric.last}." if metric.reports else ""
    return f"{short(f'{change}{metric.answer}', LONGEST_LINE)}{reports}"


def digest_text(standing: Standing) -> str:
    """Return the digest as plain text."""
    digest = digest_of(standing)
    lines = [f"{title}: {sentences}" for title, sentences in digest.lines]
    more = [digest.more] if digest.more else []
    return "\n".join([digest.heading, "", digest.summary, "", *lines, *more, "", digest.participation]) + "\n"
