"""A plan, which predicts precision and privacy loss before any data is collected.

The precision is the expected error of each metric's estimates from a given number of devices. The
privacy loss bounds how much all answers of a device reveal within a period.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import Annotated, Any, Final

from msgspec import UNSET, UnsetType

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.epsilon import NANOS, as_float, float_ceiling
from client_sdk.protocol.horizon import Horizon, chance_beyond, most_nanos, windows_left
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry import limits
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import shipped
from client_sdk.protocol.statement import outcome
from client_sdk.protocol.window import WindowKind
from estimator.analyses.analysis import Analysis, metric_fields
from estimator.analyses.clips import Clip, Numbers
from estimator.analyses.metric import analysis_of
from estimator.discovery.power import SHORT
from estimator.plan.amplification import central_of, sampled
from estimator.plan.exposure import Exposure, exposures, own_delta
from estimator.plan.paid_windows import (
    Exhaustion,
    PaidWindows,
    ceiling_notes,
    exhaustions,
    paid_windows,
    participations,
)
from estimator.plan.target_error import smallest_difference, smallest_share, usual_error
from estimator.plan.windows_together import (
    SeenChange,
    Together,
    comparisons,
    needed_together,
    seen_changes,
    together,
)
from estimator.results.estimate import Record, says
from estimator.results.metric import Central, LeastShare, MetricFacts
from estimator.results.statistic import STATISTICS
from estimator.statistics.confidence import Z

OF_DEVICES: Final = "lower lifetime or per_month, or ask less often"
"""Ways to lower the yearly privacy loss of a device that keeps its ledger."""

OF_BROWSERS: Final = "lower per_window, or ask less often"
"""Ways to lower the yearly privacy loss of a browser. If a browser wipes its ledger, the sums under
``lifetime`` and ``per_month`` begin again at 0.
"""


def year_words(registry: Registry, today: date) -> str:
    """Return a sentence on what a device's answers reveal within the year from today."""
    nanos = most_nanos(registry, Horizon.YEAR, today)
    delta = own_delta(registry, Horizon.YEAR, today)
    loss = f"epsilon {as_float(nanos):.9g}" + (f" and delta {float_ceiling(delta):.9g}" if delta else "")
    what = outcome(nanos, chance_beyond(registry, Horizon.YEAR, today), shipped())
    return f"Within a year, all answers of a device reveal at most {loss}: {what}."


def too_much(nanos: int, most: Fraction, *, may_be_wiped: bool) -> list[str]:
    """Return a list with one sentence if a year's answers reveal too much. Otherwise, return [].

    ``nanos`` is the yearly loss in billionths of epsilon, and ``most`` the allowed epsilon.
    ``may_be_wiped`` is true if devices are browsers, which may wipe their ledgers. Only
    ``per_window`` then limits the yearly loss.
    """
    if nanos <= most * NANOS:
        return []
    least, advice = f"up to {as_float(nanos):.9g}", OF_BROWSERS if may_be_wiped else OF_DEVICES
    return [f"within a year, a device reveals {least}, but --at-most allows only {float(most):g}; {advice}"]


COMMON: Final = 0.01
"""The share of devices that have a *common* text in a plan. A plan states how many devices must
report before such a text is found.
"""

DELTA: Final = 1e-6
"""The default delta for the total epsilon of many reports."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The options of a plan.

    Attributes:
        population: the number of devices.
        today: the UTC day on which the plan begins.
        delta: the delta for a device's total epsilon, and for a published tally's epsilon.
        target_errors: for some metrics, the target standard error in the metric's unit. All other
            metrics have the target `usual_error`.
        windows: the number of windows that are pooled to compute an error. None means one window.
            With ``strategy = "pace"``, None means all windows before the metrics expire.
        people: for some metrics, the known distribution of answers. The plan compares clipping
            ranges for these metrics.

    """

    population: int
    today: date
    delta: float = DELTA
    target_errors: Mapping[str, float] = field(default_factory=dict)
    windows: int | None = None
    people: Mapping[str, Numbers] = field(default_factory=dict)


class ShareErrors(Record, frozen=True):
    """The standard errors of a metric's shares."""

    standard_error_uniform: Annotated[float, says("the standard error if all shares are equal.")]
    standard_error_worst: Annotated[float, says("the largest standard error of any value in any population.")]
    smallest_seen: Annotated[
        float | None,
        says("the smallest share whose interval lies above 0 in 4 of 5 cases. None if there is none."),
    ]


class MeanError(Record, frozen=True):
    """The standard error of a mean."""

    standard_error_worst: Annotated[float, says("the largest standard error in any population.")]
    name: Annotated[
        str, says("the name of the mean, such as ``mean position``. Omitted for the mean of the answers themselves.")
    ] = "mean"
    is_relative: Annotated[
        bool,
        says(
            "whether the error is a fraction of 1 + the geometric mean, because the mean is one of logarithms. "
            "Omitted if false."
        ),
    ] = False


class StrataPlan(Record, frozen=True):
    """The precision of comparisons between strata of equal size."""

    strata: Annotated[int, says("the number of strata.")]
    reports: Annotated[int, says("the number of reports in each stratum.")]
    smallest_difference: Annotated[
        float | None,
        says(
            "the smallest difference in a share between two strata that is detected in 9 of 10 cases. For questions "
            "without shares, the difference is one in the mean. None without reports."
        ),
    ]


class TextPlan(Record, frozen=True):
    """The texts that a search would find, and the number of devices to find a common text."""

    least_shares: Annotated[
        tuple[LeastShare, ...],
        says(
            "the smallest share of a short text that is found in 9 of 10 cases, and the same for a text of maximum "
            "length. Empty if the question does not discover texts."
        ),
    ]
    share: Annotated[float, says("the share of the common text for which the numbers of devices are stated.")]
    letters: Annotated[int, says("the number of letters in this common text.")]
    devices_to_find: Annotated[
        int | None,
        says(
            "the number of devices that is enough to find the common text in 9 of 10 cases. None if texts are not "
            "discovered."
        ),
    ]
    devices_if_named: Annotated[
        int | None,
        says(
            "the number of devices that is enough to confirm the common text in 9 of 10 cases, if an analyst requests "
            "its share. None if this number is impracticably large."
        ),
    ]


class MetricPlan(MetricFacts, frozen=True, kw_only=True):
    """The expected precision of a metric in one window."""

    window: Annotated[WindowKind, says("how often the question is asked: once a day, week or month.")]
    permanent_epsilon: Annotated[
        float | None, says("the epsilon of a permanent answer. None if answers are not permanent.")
    ]
    reports: Annotated[int, says("the expected number of reports.")]
    paid_windows: Annotated[
        PaidWindows | None,
        says("the windows in which the budget pays for the expected reports. None for all windows."),
    ]
    share: Annotated[
        ShareErrors | None,
        says("the errors of the shares. None if there are no shares, or if no report is expected."),
    ]
    rotations: Annotated[
        float | None,
        says(
            "the error that remains with any number of reports if all vectors are identical, as a fraction of the "
            "vector's norm. None for questions about other kinds of answers."
        ),
    ]
    mean: Annotated[MeanError | None, says("the error of the mean. None without a mean, or if no report is expected.")]
    least_difference_of_means: Annotated[
        float | UnsetType | None,
        says(
            "the smallest detectable difference between the means of two groups. Null if no difference is detectable. "
            "Omitted for questions without groups."
        ),
    ] = UNSET
    together: Annotated[
        Together | None,
        says("the error of a figure pooled over several windows. None if it cannot be pooled, or without reports."),
    ]
    changes: Annotated[
        tuple[SeenChange, ...],
        says("the smallest change that is detected within each period. Empty if changes are not tested."),
    ]
    wanted_error: Annotated[float, says("the target standard error of a share or, without shares, of the mean.")]
    reports_needed: Annotated[
        int, says("the number of reports per window that achieves the target error in every population.")
    ]
    devices_needed: Annotated[
        int | None, says("the number of devices that send ``reports_needed`` reports. None if no device answers.")
    ]
    central: Annotated[
        Central | None,
        says(
            "the privacy loss from a window's tally, if only closed tallies are published and nobody knows which "
            "devices reported. None if no such bound is proved."
        ),
    ]
    is_named: Annotated[bool, says("whether the target error was set explicitly. Omitted if not.")] = False
    strata: Annotated[
        StrataPlan | None, says("the precision of comparisons between public strata. None without strata.")
    ] = None
    texts: Annotated[
        TextPlan | None, says("the texts that will be found. None if the question is not about texts.")
    ] = None
    clips: Annotated[
        tuple[Clip, ...],
        says(
            "ranges for clipping that bring the mean closer to the mean of the unclipped numbers. Omitted if the "
            "answers are not known, or if no range does so."
        ),
    ] = ()


class Plan(Record, frozen=True):
    """The expected precision of a registry's metrics, and the privacy loss of a device."""

    population: Annotated[int, says("the number of devices.")]
    day: Annotated[date, says("the UTC day on which the plan begins.")]
    answering: Annotated[float, says("the fraction of devices that answer a question in a window.")]
    metrics: Annotated[tuple[MetricPlan, ...], says("a plan for each question, in the registry's order.")]
    device: Annotated[tuple[Exposure, ...], says("the maximum privacy loss of a device, by period.")]
    year: Annotated[str, says("a sentence on how much all answers of a device reveal within a year.")]
    notes: Annotated[tuple[str, ...], says("advice, and sentences on answers that the ceilings do not pay for.")]
    may_be_wiped: Annotated[bool, says("whether devices are browsers that may wipe their ledger.")] = False


def make_plan(registry: Registry, request: PlanRequest) -> Plan:
    """Return the expected precision of a registry's metrics, and the privacy loss of a device."""
    part = answering(registry, request.today)
    exhausted = exhaustions(registry, request.today)
    of_changes = comparisons(registry, request.today)
    metrics = tuple(
        _plan(
            metric,
            request,
            part,
            paid=(paid := paid_windows(metric, exhausted, request.today)),
            windows=_windows_judged(registry, metric, request, paid),
            of_changes=of_changes.get(metric.name, 0),
        )
        for metric in registry.metrics.values()
    )
    return Plan(
        population=request.population,
        day=request.today,
        answering=float(part),
        metrics=metrics,
        device=exposures(registry, request.today, request.delta),
        year=year_words(registry, request.today),
        notes=(*_notes(registry, request.today, exhausted), *_without_clips(metrics, request.people)),
        may_be_wiped=registry.budget.may_be_wiped,
    )


def answering(registry: Registry, today: date) -> Fraction:
    """Return the average fraction of devices that answer a metric in a window.

    With ``strategy = "sample"``, a device answers only some metrics. With ``strategy = "pace"``, a
    device answers only in some windows. The fraction includes answers that a ceiling may prevent
    (see `MetricPlan.paid_windows`).
    """
    left = {name: windows_left(metric, today) for name, metric in registry.metrics.items()}
    metrics = [metric for name, metric in registry.metrics.items() if left[name] != 0]
    match registry.budget.strategy:
        case Strategy.SAMPLE:
            return min(Fraction(1), Fraction(registry.budget.answers or 1, max(1, len(metrics))))
        case Strategy.PACE:
            return participations(registry, today)
    return Fraction(1)


def _windows_judged(registry: Registry, metric: Metric, request: PlanRequest, paid: PaidWindows | None) -> int:
    """Return the number of windows that are pooled to compute a metric's error.

    Windows that the ceilings do not pay for are not counted. With ``strategy = "pace"``, a device
    answers in only a few windows. All windows before the metrics expire are therefore pooled by
    default.
    """
    left = windows_left(metric, request.today) if paid is None else paid.paid
    if request.windows is None and registry.budget.strategy is not Strategy.PACE:
        return 1
    wanted = request.windows or left or 1
    return max(1, wanted if left is None else min(wanted, left))


def _plan(  # noqa: PLR0913 facts about the registry
    metric: Metric, request: PlanRequest, part: Fraction, *, paid: PaidWindows | None, windows: int, of_changes: int
) -> MetricPlan:
    expired = windows_left(metric, request.today) == 0
    reports = 0 if expired else int(request.population * part)
    wanted_error = request.target_errors.get(metric.name, usual_error(metric))
    analysis = analysis_of(metric)
    needed = needed_together(analysis, windows, wanted_error)
    variance = analysis.mean_variance
    error = math.sqrt(variance / reports) if variance is not None and reports else None
    permanent = metric.channel.permanent_nanos
    return MetricPlan(
        **metric_fields(metric),
        window=metric.window,
        permanent_epsilon=as_float(permanent) if permanent else None,
        reports=reports,
        paid_windows=paid,
        share=_share_errors(analysis, reports),
        rotations=analysis.rotation_error,
        mean=None if error is None else _mean_error(analysis, error),
        least_difference_of_means=analysis.least_difference(reports) if analysis.compares_groups else UNSET,
        together=together(analysis, windows, reports),
        changes=seen_changes(analysis, reports, of_changes, None if paid is None else paid.paid),
        wanted_error=wanted_error,
        is_named=metric.name in request.target_errors,
        reports_needed=needed,
        devices_needed=math.ceil(needed / part) if part else None,
        central=_central(metric, reports, request.delta, part),
        strata=_strata(analysis, reports),
        texts=_texts(analysis, reports, part),
        clips=analysis.clips(request.people[metric.name], reports) if metric.name in request.people else (),
    )


def _mean_error(analysis: Analysis[Any], error: float) -> MeanError:
    about = STATISTICS.get(analysis.mean_statistic)  # None for the means of vectors and of models
    is_relative = about is not None and about.scale.is_relative
    return MeanError(error * analysis.width, analysis.mean_name, is_relative=is_relative)


def unseen(registry: Registry, population: int, today: date) -> list[str]:
    """Return a sentence for each metric about which ``population`` devices would show nothing."""
    part = answering(registry, today)
    asked = [metric for metric in registry.metrics.values() if windows_left(metric, today) != 0]
    shows_nothing = [metric for metric in asked if _shows_nothing(metric, int(population * part))]
    least = "raise its epsilon, narrow its range, ask more devices or remove the question"
    return [f"metric.{metric.name} would show nothing with {population:,} devices: {least}" for metric in shows_nothing]


def _shows_nothing(metric: Metric, reports: int) -> bool:
    """Return whether no share is detectable, or whether the mean's interval covers its range."""
    analysis, reports = analysis_of(metric), reports // max(1, len(metric.strata))
    if reports == 0:
        return True
    if analysis.power is not None:
        found = analysis.power.least_shares(reports) if analysis.kind.discover else ()
        return bool(found) and all(least.share is None for least in found)
    shares, variance = _share_errors(analysis, reports), analysis.mean_variance
    if shares is not None:
        return shares.smallest_seen is None
    return variance is not None and 2 * Z * math.sqrt(variance / reports) >= 1


def _texts(analysis: Analysis[Any], reports: int, part: Fraction) -> TextPlan | None:
    power, domain = analysis.power, analysis.kind
    if power is None:
        return None
    letters = min(SHORT, domain.max_length)
    to_find = power.reports_to_find(COMMON, letters) if domain.discover else None
    if_named = power.reports_to_see(COMMON, letters)
    return TextPlan(
        least_shares=power.least_shares(reports) if domain.discover and reports else (),
        share=COMMON,
        letters=letters,
        devices_to_find=math.ceil(to_find / part) if to_find and part else None,
        devices_if_named=math.ceil(if_named / part) if if_named and part else None,
    )


def _strata(analysis: Analysis[Any], reports: int) -> StrataPlan | None:
    strata = analysis.metric.strata
    if not strata:
        return None
    each, worst = reports // len(strata), analysis.report_variance
    return StrataPlan(len(strata), each, None if worst is None else smallest_difference(worst, each))


def _central(metric: Metric, reports: int, delta: float, part: Fraction) -> Central | None:
    """Return the privacy loss from the tally of one window.

    ``part`` is the fraction of devices that report. The result is valid only if nobody knows which
    devices reported. For a metric with public strata, the result is the loss from the tally of one
    stratum. All strata are assumed to have the same size.
    """
    shuffled = central_of(metric, reports // max(1, len(metric.strata)), delta, closed=True)
    if shuffled is None or part == 1:
        return shuffled
    epsilon, at_delta = sampled(shuffled.epsilon, shuffled.delta, float_ceiling(part))
    return Central(delta=at_delta, epsilon=epsilon)


def _share_errors(analysis: Analysis[Any], reports: int) -> ShareErrors | None:
    squares, factor = analysis.squares, analysis.factor
    if squares is None or reports == 0:
        return None
    uniform, worst = (math.sqrt(variance / reports) for variance in (squares.uniform, squares.worst))
    smallest = smallest_share(squares, reports)
    possible = smallest is not None and smallest * factor <= 1
    return ShareErrors(factor * uniform, factor * worst, factor * smallest if smallest and possible else None)


def _without_clips(metrics: Sequence[MetricPlan], people: Mapping[str, Numbers]) -> Iterator[str]:
    """Yield a sentence for each metric whose clipping range should remain unchanged.

    According to the known answers to such a metric, no other range clearly lowers the error of the
    mean.
    """
    for metric in metrics:
        if metric.metric in people and not metric.clips:
            yield (
                f"keep the range of {metric.metric}: according to the answers of --shares or --pilot, no other range "
                "brings its mean closer to the mean of all numbers"
            )


def _notes(registry: Registry, today: date, exhausted: Sequence[Exhaustion]) -> list[str]:
    notes = [*limits.remarks(registry, today), *ceiling_notes(registry, today, exhausted)]
    notes.extend(
        f"how well {metric.name} predicts depends on the answers: given the true answers of some people, "
        "rehearse-model --loss computes the number of devices that the model needs"
        for metric in registry.metrics.values()
        if (observation := analysis_of(metric).observation) and observation.is_of_yes_and_no
    )
    return notes
