"""What a reviewer wants to know about a question: how it was asked, and what a report costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import odds, one_report
from estimator.render.words import short_loss
from estimator.results.central import Central
from estimator.results.metric import MetricEstimate
from estimator.words import in_unit, plural, short


def facts_of(metric: Metric, windows: Sequence[MetricEstimate], central: Central | None) -> tuple[tuple[str, str], ...]:
    """Return terms and their values for one question.

    Args:
        metric: its definition.
        windows: its estimates, window by window.
        central: what the tally of the shown window reveals. None where that was not requested.

    """
    return tuple(_facts(metric, windows, central))


def _facts(metric: Metric, windows: Sequence[MetricEstimate], central: Central | None) -> Iterator[tuple[str, str]]:
    yield "Kind of question", f"{in_unit(metric.kind.name, metric.unit)}, asked once a {metric.window}"
    yield "Mechanism", metric.channel.name
    epsilon = as_float(metric.epsilon_nanos)
    yield "Epsilon of a report", f"{epsilon:.9f}: even odds can become {''.join(one_report(metric, shipped()))}"
    if metric.delta:
        yield "Delta of a report", f"at most {short_loss(float_ceiling(metric.delta))}"
    if metric.channel.permanent_nanos:
        permanent = as_float(metric.channel.permanent_nanos)
        yield (
            "Epsilon of all reports of an answer that never changes, in this edition",
            f"{permanent:.9f}: even odds can become {odds(metric.channel.permanent_nanos, shipped())}",
        )
    if central is not None:
        loss = f"epsilon {short_loss(central.epsilon)} at delta {short_loss(central.delta)}"
        yield "If only tallies are published", f"{loss}; it holds if the reports counted are honest"
    yield "Edition", metric.edition
    if windows:
        total = sum(window.reports for window in windows)
        yield "Reports", f"{plural(total, 'report')} in {plural(len(windows), 'window')}"
    if metric.owner:
        yield "Owner", short(metric.owner)
    yield "Asked until", _end(metric)


def _end(metric: Metric) -> str:
    if metric.expires is None:
        return "further notice"
    return f"the end of the {metric.window} that holds {metric.expires}"
