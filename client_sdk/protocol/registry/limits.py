"""The limits on privacy loss. A registry may exceed a limit only if it gives a reason.

Published deployments reveal more than these limits allow. Apple's devices reveal epsilon 2 to 16 *a
day* (Desfontaines, "A list of real-world uses of differential privacy"). Tang et al. 2017 criticize
this in "Privacy loss in Apple's implementation of differential privacy on macOS 10.12". Chrome's
RAPPOR reveals epsilon 1.07 in one report, and 4.39 in all reports of an unchanging answer
(Erlingsson, Pihur & Korolova 2014, theorems 1 and 2 with two hash functions, f = 1/2, p = 1/2 and q
= 3/4). NIST SP 800-226, "Guidelines for Evaluating Differential Privacy Guarantees" (2025),
recommends no epsilon, but asks for a justification. A registry gives this justification in
`Budget.accept`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from fractions import Fraction
from typing import Final, NamedTuple

from client_sdk.protocol.budget import Budget
from client_sdk.protocol.epsilon import NANOS, as_float, nanos_ceiling
from client_sdk.protocol.horizon import Asked, Horizon, most_nanos
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window

REPORT_ODDS: Final = 9
"""The limit on one report: the report may raise even odds to at most 9 to 1."""

SENSITIVE_ODDS: Final = 3
"""The limit on one report for a sensitive metric: the report may raise even odds to at most 3 to 1.
"""

YEAR_NANOS: Final = 5 * NANOS
"""The maximum epsilon in a year, in billionths. This epsilon can raise even odds to 149 to 1."""


class _StillAsked(NamedTuple):
    """A registry's ceilings and unexpired metrics."""

    budget: Budget
    metrics: Mapping[str, Metric]


def excesses(registry: Asked, today: date) -> list[str]:
    """Return a sentence for each limit that a registry exceeds, even if it gives a reason."""
    asked = _still_asked(registry, today)
    return [*_of_reports(asked), *_of_a_year(asked)]


def _still_asked(registry: Asked, today: date) -> _StillAsked:
    metrics = registry.metrics.items()
    unexpired = {name: metric for name, metric in metrics if not metric.has_expired(Window.on(metric.window, today))}
    return _StillAsked(registry.budget, unexpired)


def remarks(registry: Asked, today: date) -> list[str]:
    """Return up to two sentences: why limits are exceeded, and what browsers may reveal."""
    accept, web_year = registry.budget.accept, registry.budget.web_year_nanos
    sentences = []
    if accept:
        over = [sentence.split(":")[0] for sentence in excesses(registry, today)]
        places = " and ".join(over) if over else "nothing"
        sentences.append(f"limits are exceeded by {places}; the reason given is: {accept}")
    if web_year is not None:
        year = most_nanos(_still_asked(registry, today), Horizon.YEAR)
        sentences.append(
            f"a browser whose storage is deleted repeatedly reveals up to epsilon {as_float(year):.9g} within a "
            f"year; web_year states {as_float(web_year):.9g}"
        )
    return sentences


def too_revealing(registry: Asked) -> list[Metric]:
    """Return the metrics for which a single report exceeds the limit on epsilon."""
    return [metric for metric in registry.metrics.values() if metric.epsilon_nanos > nanos_ceiling(_odds(metric))]


def reveals_too_much_a_year(registry: Asked) -> bool:
    """Whether the reports of a year can exceed the limit on epsilon.

    The result applies to a device that keeps its storage.
    """
    return _kept_year(registry) > YEAR_NANOS


def _odds(metric: Metric) -> Fraction:
    return Fraction(SENSITIVE_ODDS if metric.is_sensitive else REPORT_ODDS)


def _kept_year(registry: Asked) -> int:
    return most_nanos(_StillAsked(registry.budget._replace(web_year_nanos=None), registry.metrics), Horizon.YEAR)


def _of_reports(registry: Asked) -> Iterator[str]:
    for metric in too_revealing(registry):
        which = "sensitive questions" if metric.is_sensitive else "one report"
        yield (
            f"metric.{metric.name}.epsilon: {as_float(metric.epsilon_nanos):.9g} is above ln {_odds(metric)}, the "
            f'limit for {which}: lower it to "ln {_odds(metric)}" or less, or give the reason in [budget] accept'
        )


def _of_a_year(registry: Asked) -> Iterator[str]:
    year = _kept_year(registry)
    if year > YEAR_NANOS:
        yield (
            f"budget: within a year a device reveals up to epsilon {as_float(year):.9g}, but the limit is "
            f"{YEAR_NANOS // NANOS}; lower lifetime or per_month, ask less often, or give the reason in [budget] accept"
        )
