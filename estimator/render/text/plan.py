"""The forms of a plan and of an allocation: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Any, Final

from client_sdk.protocol.epsilon import as_float
from estimator.formats.to_json import json_text
from estimator.plan.allocation import Allocation
from estimator.plan.plan import MetricPlan, Plan
from estimator.privacy.exposure import Exposure
from estimator.render.text import central
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import mechanism_words, short_loss
from estimator.text import mean_word, plural

NO_BOUND: Final = "no bound"

WIDTH: Final = 80

FOOTNOTES: Final = """\
Errors are standard errors of the unbiased estimates in one window, for devices
that are a random sample of a population. Worst: in the population where it is
largest. Seen: the 95 % interval of the share lies above 0 in 8 of 10 draws.
Epsilon of the tally: what a window's tally reveals of a device, if nothing but
tallies of closed windows is published and all who report are honest.
"""

DEVICE_FOOTNOTE: Final = """\
Any two histories: epsilon of all reports together, by addition, within the
ceilings. At delta: but for that chance, by their losses composed; not above it.
A month touches 6 ISO weeks at most, a year 54.
Life: from the day of the plan on.
"""

PATTERN_FOOTNOTE: Final = """\
One pattern: two histories in which the same windows have equal answers: where
two windows agree in one of them, they agree in the other. So of questions with
protects = "pattern", but for numbers; of all others any two. The pattern itself
is not protected, and that answers change at the same times is not enough.
Opting out and in again draws such answers anew, and the figure counts again.
"""


def plan_as_table(plan: Plan, style: Style = PLAIN) -> str:
    """Return the plan as text of 80 columns."""
    part = "" if plan.answering == 1 else f", of which {float(plan.answering):.1%} answer a question in a window"
    head = f"{plural(plan.wish.population, 'device')}{part}\n"
    blocks = ["".join(f"{line.rstrip()}\n" for line in _metric_lines(one)) for one in plan.metrics]
    device = "".join(f"{line.rstrip()}\n" for line in _device_lines(plan))
    about_device = DEVICE_FOOTNOTE + PATTERN_FOOTNOTE * _keeps_patterns(plan)
    notes = "".join(f"{fill(f'note: {note}', WIDTH)}\n" for note in plan.notes)
    return style.shown("\n".join([head, *blocks, FOOTNOTES, device, about_device, *([notes] if notes else [])]))


def plan_as_json(plan: Plan) -> str:
    """Return the plan for programs."""
    document = {
        "population": plan.wish.population,
        "day": plan.wish.today.isoformat(),
        "answering": float(plan.answering),
        "metrics": [_metric_document(one) for one in plan.metrics],
        "device": [_exposure_document(one) for one in plan.exposures],
        "notes": list(plan.notes),
    }
    return json_text(document)


PLAN_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": plan_as_table, "json": plan_as_json}
"""What ``--format`` may name; every form ends with a line break."""


def allocation_as_table(allocation: Allocation, patch: str, style: Style = PLAIN) -> str:
    """Return the errors before and after, then a patch, which ``patch`` finds beneath them."""
    lines = [f"{'':17} {'epsilon':>10} {'error':>11}   {'epsilon':>10} {'error':>11} {'wanted':>11}"]
    for row in allocation.rows:
        before = f"{row.epsilon_before:10.6g} {row.error_before:11.4g}"
        name = style.cut(row.name, VALUE_WIDTH)
        after = f"{row.epsilon_after:10.6g} {row.error_after:11.4g}"
        lines.append(f"{name:{VALUE_WIDTH}} {before} > {after} {row.wanted:11.4g}")
    before_worst, after_worst = allocation.worst
    lines.append(f"largest error, in units of what is wanted: {before_worst:.4g} before, {after_worst:.4g} after")
    if allocation.answers_after is not None:
        lines.append(f"answers in a window: {allocation.answers_before} before, {allocation.answers_after} after")
    lines.append("(errors: of a share where all are alike, or of a mean in the worst population)")
    return "".join(f"{line}\n" for line in [*lines, ""]) + (patch or "nothing to change: no allocation is better\n")


def allocation_as_json(allocation: Allocation, patch: str) -> str:
    """Return the allocation for programs."""
    before_worst, after_worst = allocation.worst
    document = {
        "metrics": [
            {
                "metric": row.name,
                "wanted": row.wanted,
                "before": {"epsilon": row.epsilon_before, "standard_error": row.error_before},
                "after": {"epsilon": row.epsilon_after, "standard_error": row.error_after},
            }
            for row in allocation.rows
        ],
        "largest": {"before": before_worst, "after": after_worst},
        "answers": {"before": allocation.answers_before, "after": allocation.answers_after},
        "diff": patch,
    }
    return json_text(document)


ALLOCATION_FORMATS: Final[dict[str, Callable[..., str]]] = {
    "table": allocation_as_table,
    "json": allocation_as_json,
}
"""What ``--format`` may name of an allocation."""


def _metric_lines(one: MetricPlan) -> Iterator[str]:
    metric = one.metric
    yield f"{metric.name}: {metric.kind}, every {metric.window}"
    yield f"  {mechanism_words(metric)}"
    if metric.permanent_nanos:
        yield f"  permanent answer: epsilon {as_float(metric.permanent_nanos):.9f}"
    yield f"  {'reports expected':34} {one.reports:>14,}"
    if one.shares is not None:
        yield f"  {'error of a share, all alike':34} {one.shares.uniform:>14.5f}"
        yield f"  {'error of a share, worst':34} {one.shares.worst:>14.5f}"
        smallest = "none" if one.shares.smallest is None else f"{one.shares.smallest:.5f}"
        yield f"  {'smallest share seen':34} {smallest:>14}"
    if one.mean is not None:
        yield f"  {f'error of the {mean_word(metric.kind)}, worst':34} {one.mean:>14.5g}"
    if one.central is not None:
        label = f"epsilon of the tally, delta {short_loss(one.central.delta)}"
        yield f"  {label:34} {short_loss(one.central.epsilon):>14}"
    devices = "" if one.needed_devices is None else f" of {plural(one.needed_devices, 'device')}"
    yield f"  {f'reports for an error of {one.wanted:.4g}':34} {one.needed_reports:>14,}{devices}"


def _device_lines(plan: Plan) -> Iterator[str]:
    (delta,) = {one.delta for one in plan.exposures}
    yield "A device reveals at most (epsilon)"
    yield f"  {'within a':10} {'any two histories':>20} {f'at delta {delta:g}':>18}{_last(plan, 'one pattern')}"
    for one in plan.exposures:
        numbers = (_bound(one.any_nanos), NO_BOUND if one.tight is None else f"{one.tight:.4f}")
        yield f"  {one.horizon:10} {numbers[0]:>20} {numbers[1]:>18}{_last(plan, _bound(one.pattern_nanos))}"


def _last(plan: Plan, text: str) -> str:
    """Return the last column, which is there only where something is claimed of histories of one pattern."""
    return f" {text:>22}" if _keeps_patterns(plan) else ""


def _keeps_patterns(plan: Plan) -> bool:
    return any(metric.keeps_patterns for metric in plan.registry.metrics.values())


def _bound(nanos: int | None) -> str:
    return NO_BOUND if nanos is None else f"{as_float(nanos):.9f}"


def _metric_document(one: MetricPlan) -> dict[str, Any]:
    metric, shares = one.metric, one.shares
    document: dict[str, Any] = {
        "metric": metric.name,
        "edition": metric.edition,
        "kind": metric.kind,
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "epsilon": as_float(metric.epsilon_nanos),
        "delta": float(metric.delta),
        "permanent_epsilon": as_float(metric.permanent_nanos) if metric.permanent_nanos else None,
        "reports": one.reports,
        "share": None,
        "mean": None if one.mean is None else {"standard_error_worst": one.mean},
        "wanted_error": one.wanted,
        "reports_needed": one.needed_reports,
        "devices_needed": one.needed_devices,
        "central": central.document_of(one.central),
    }
    if shares is not None:
        document["share"] = {
            "standard_error_uniform": shares.uniform,
            "standard_error_worst": shares.worst,
            "smallest_seen": shares.smallest,
        }
    return document


def _exposure_document(one: Exposure) -> dict[str, Any]:
    any_two, pattern = (None if nanos is None else as_float(nanos) for nanos in (one.any_nanos, one.pattern_nanos))
    return {
        "within": one.horizon.value,
        "any_two_histories": any_two,
        "any_two_histories_at_delta": one.tight,
        "one_pattern": pattern,
        "delta": one.delta,
    }
