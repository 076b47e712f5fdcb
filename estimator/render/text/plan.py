"""The forms of a plan and of an allocation: a table of 80 columns, and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Any, Final

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.horizon import Horizon
from estimator.analyses.metric import analysis_of
from estimator.analyses.question_fields import question_fields
from estimator.formats.to_json import builtins_of, json_text
from estimator.plan.allocation import Allocation
from estimator.plan.paid_windows import PaidWindows
from estimator.plan.plan import MetricPlan, Plan, TextPlan
from estimator.privacy.exposure import Exposure
from estimator.render.rounding import size_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style
from estimator.render.words import mechanism_words, short_loss
from estimator.render.year import year_words
from estimator.results.question import Question
from estimator.statistics.confidence import Z
from estimator.words import mean_word, plural

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
ceilings. At delta: by composing their losses. No chance exceeds e^epsilon times
what it is for other answers by more than delta.
A month touches 6 ISO weeks at most, a year 54.
"""

LIFE_FOOTNOTE: Final = """\
Year and life: of a device that begins on the day of the plan.
"""

BROWSER_FOOTNOTE: Final = """\
Browsers may wipe the ledger: month and year are those of a browser that wipes it
again and again. Storage: the life of one storage, from the day of the plan on.
"""


def plan_as_table(plan: Plan, style: Style = PLAIN) -> str:
    """Return a plan as text of 80 columns."""
    part = "" if plan.answering == 1 else f", of which {float(plan.answering):.1%} answer a question in a window"
    head = f"{plural(plan.request.population, 'device')}{part}\n"
    blocks = ["".join(f"{line.rstrip()}\n" for line in _metric_lines(metric)) for metric in plan.metrics]
    device = "".join(f"{line.rstrip()}\n" for line in _device_lines(plan))
    life = BROWSER_FOOTNOTE if plan.registry.budget.may_be_wiped else LIFE_FOOTNOTE
    year = fill(year_words(plan.registry, plan.request.today), WIDTH)
    about_device = f"{year}\n\n{DEVICE_FOOTNOTE}{life}{_own_deltas(plan)}"
    notes = "".join(f"{fill(f'note: {note}', WIDTH)}\n" for note in plan.notes)
    return style.shown("\n".join([head, *blocks, FOOTNOTES, device, about_device, *([notes] if notes else [])]))


def plan_as_json(plan: Plan) -> str:
    """Return a plan as JSON."""
    document = {
        "population": plan.request.population,
        "day": plan.request.today.isoformat(),
        "answering": float(plan.answering),
        "metrics": [_metric_document(metric) for metric in plan.metrics],
        "device": [_exposure_document(exposure) for exposure in plan.exposures],
        "notes": list(plan.notes),
    }
    return json_text(document)


PLAN_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": plan_as_table, "json": plan_as_json}
"""The values of ``--format``. Every form ends with a line break."""


def allocation_as_table(allocation: Allocation, patch: str, style: Style = PLAIN) -> str:
    """Return the errors before and after, then the patch.

    The command ``patch`` skips what stands above it.
    """
    lines = [f"{'':17} {'epsilon':>10} {'error':>11}   {'epsilon':>10} {'error':>11} {'wanted':>11}"]
    for row in allocation.rows:
        before = f"{row.epsilon_before:10.6g} {row.error_before:11.4g}"
        name = style.cut(row.name, VALUE_WIDTH)
        after = f"{row.epsilon_after:10.6g} {row.error_after:11.4g}"
        lines.append(f"{name:{VALUE_WIDTH}} {before} > {after} {row.target_error:11.4g}")
    before_worst, after_worst = allocation.worst
    lines.append(f"largest error, in units of its target: {before_worst:.4g} before, {after_worst:.4g} after")
    if allocation.answers_after is not None:
        lines.append(f"answers in a window: {allocation.answers_before} before, {allocation.answers_after} after")
    lines.append("(errors: of a share where all are alike, or of a mean in the worst population)")
    return "".join(f"{line}\n" for line in [*lines, ""]) + (patch or "nothing to change: no allocation is better\n")


def allocation_as_json(allocation: Allocation, patch: str) -> str:
    """Return an allocation as JSON."""
    before_worst, after_worst = allocation.worst
    document = {
        "metrics": [
            {
                "metric": row.name,
                "wanted": row.target_error,
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
"""The values of ``--format`` with ``--allocate``."""


def _metric_lines(plan: MetricPlan) -> Iterator[str]:
    metric = plan.metric
    yield f"{metric.name}: {metric.kind.name}, every {metric.window}"
    yield f"  {mechanism_words(Question(**question_fields(metric)))}"
    if metric.channel.permanent_nanos:
        yield f"  permanent answer: epsilon {as_float(metric.channel.permanent_nanos):.9f}"
    yield f"  {'reports expected':34} {plan.reports:>14,}"
    if plan.paid is not None:
        until = "" if plan.paid.until is None else f", until {plan.paid.until}"
        yield f"  {'windows that are paid for':34} {plan.paid.paid:>14,} of {plan.paid.windows:,}{until}"
    if plan.shares is not None:
        yield f"  {'error of a share, all alike':34} {plan.shares.uniform:>14.5f}"
        yield f"  {'error of a share, worst':34} {plan.shares.worst:>14.5f}"
        smallest = "none" if plan.shares.smallest is None else f"{plan.shares.smallest:.5f}"
        yield f"  {'smallest share seen':34} {smallest:>14}"
    unit = f" {metric.unit}" if metric.unit else ""
    if plan.rotations is not None:
        yield f"  {'error by rotations, of the length':34} {plan.rotations:>14.2g}"
    if plan.mean is not None:
        yield f"  {f'error of the {mean_word(metric.kind.name)}, worst':34} {plan.mean:>14.5g}{unit}"
    if analysis_of(metric).compares_groups:
        least = "none" if plan.difference is None else f"{plan.difference:.5g}{unit}"
        yield f"  {'difference of two means seen':34} {least:>14}"
    yield from _last_lines(plan, unit)


def _last_lines(plan: MetricPlan, unit: str) -> Iterator[str]:
    """Yield what the tally reveals, what a target takes, and what that means."""
    if plan.central is not None:
        label = f"epsilon of the tally, delta {short_loss(plan.central.delta)}"
        yield f"  {label:34} {short_loss(plan.central.epsilon):>14}"
    of_mean = unit if plan.shares is None else ""
    devices = "" if plan.needed_devices is None else f" of {plural(plan.needed_devices, 'device')}"
    yield f"  {f'reports for an error of {plan.target_error:.4g}{of_mean}':34} {plan.needed_reports:>14,}{devices}"
    if plan.strata is not None and plan.strata.difference is not None:
        yield f"  {'difference of two strata seen':34} {plan.strata.difference:>14.5g}{of_mean}"
        yield f"    9 times in 10, with {plan.strata.reports:,} reports in each of {plan.strata.strata}"
    if plan.texts is not None:
        yield from _text_lines(plan.texts)
    else:
        yield fill(_judgement(plan), WIDTH, initial_indent="  ", subsequent_indent="  ")


def _text_lines(plan: TextPlan) -> Iterator[str]:
    """Yield which texts will be found, and that naming them takes fewer devices."""
    for least in plan.least:
        share = "none" if least.share is None else f"{least.share:.5f}"
        label = f"share found, {plural(least.letters, 'letter')}"
        yield f"  {label:34} {share:>14}"
    common = f"a text of {plan.share:.0%}, {plural(plan.letters, 'letter')}"
    if plan.devices_to_find is not None:
        yield f"  {f'devices to find {common}':44} {round_up(plan.devices_to_find):>14,}"
    if plan.devices_if_named is not None:
        yield f"  {f'devices to see {common}, if named':44} {round_up(plan.devices_if_named):>14,}"
    yield "  9 times in 10. A list of likely texts takes fewer devices than finding them:"
    yield "  name them with report --with candidates=FILE, or ask for a category with other."


def _judgement(plan: MetricPlan) -> str:
    """Return whether the expected reports are enough for the requested error, in words."""
    if not plan.reports:
        return "no report is expected"
    is_share = plan.shares is not None
    error = plan.shares.worst if plan.shares is not None else plan.mean or 0.0
    unit = " points" if is_share else f" {plan.metric.unit}".rstrip()
    what = "a share" if is_share else f"the {mean_word(plan.metric.kind.name)}"

    def within(standard_error: float) -> str:
        reach = Z * standard_error * (100 if is_share else 1)
        return f"{what} to within {size_of(reach)}{unit} (95 %)"

    if plan.reports >= plan.needed_reports:
        return f"enough to tell {within(error)}"
    needed = "" if plan.needed_devices is None else f": needs about {round_up(plan.needed_devices):,} devices"
    return f"too few to tell {within(plan.target_error)}{needed}"


def round_up(devices: int) -> int:
    """Return a number of devices with two figures, rounded up."""
    step: int = 10 ** max(0, len(str(devices)) - 2)
    return -(-devices // step) * step


def _device_lines(plan: Plan) -> Iterator[str]:
    (delta,) = {exposure.delta for exposure in plan.exposures}
    is_wiped = plan.registry.budget.may_be_wiped
    yield "A device reveals at most (epsilon)"
    yield f"  {'within a':10} {'any two histories':>20} {f'at delta {delta:g}':>18}"
    for exposure in plan.exposures:
        numbers = (
            f"{as_float(exposure.any_nanos):.9f}",
            NO_BOUND if exposure.tight is None else f"{exposure.tight:.4f}",
        )
        horizon = "storage" if is_wiped and exposure.horizon is Horizon.LIFE else exposure.horizon
        yield f"  {horizon:10} {numbers[0]:>20} {numbers[1]:>18}"


def _own_deltas(plan: Plan) -> str:
    """Return at which deltas sums of epsilon hold; nothing if they hold at 0."""
    if not any(exposure.own_delta for exposure in plan.exposures):
        return ""
    deltas = ", ".join(f"{exposure.horizon} {short_loss(exposure.own_delta)}" for exposure in plan.exposures)
    return f"{fill(f'Any two histories hold at the sum of the deltas of all reports: {deltas}.', WIDTH)}\n"


def _metric_document(plan: MetricPlan) -> dict[str, Any]:
    metric, shares = plan.metric, plan.shares
    document: dict[str, Any] = {
        "metric": metric.name,
        "edition": metric.edition,
        "kind": metric.kind.name,
        "unit": metric.unit,
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "epsilon": as_float(metric.epsilon_nanos),
        "delta": float(metric.delta),
        "permanent_epsilon": as_float(metric.channel.permanent_nanos) if metric.channel.permanent_nanos else None,
        "reports": plan.reports,
        "paid_windows": None if plan.paid is None else _paid_document(plan.paid),
        "share": None,
        "rotations": plan.rotations,
        "mean": None if plan.mean is None else {"standard_error_worst": plan.mean},
        "least_difference_of_means": plan.difference,
        "wanted_error": plan.target_error,
        "reports_needed": plan.needed_reports,
        "devices_needed": plan.needed_devices,
        "central": None if plan.central is None else builtins_of(plan.central),
    }
    if plan.strata is not None:
        document["strata"] = {
            "strata": plan.strata.strata,
            "reports": plan.strata.reports,
            "smallest_difference": plan.strata.difference,
        }
    if shares is not None:
        document["share"] = {
            "standard_error_uniform": shares.uniform,
            "standard_error_worst": shares.worst,
            "smallest_seen": shares.smallest,
        }
    if plan.texts is not None:
        document["texts"] = {
            "least_shares": [builtins_of(least) for least in plan.texts.least],
            "share": plan.texts.share,
            "letters": plan.texts.letters,
            "devices_to_find": plan.texts.devices_to_find,
            "devices_if_named": plan.texts.devices_if_named,
        }
    return document


def _paid_document(paid: PaidWindows) -> dict[str, Any]:
    until = None if paid.until is None else paid.until.isoformat()
    return {"paid": paid.paid, "windows": paid.windows, "until": until}


def _exposure_document(exposure: Exposure) -> dict[str, Any]:
    return {
        "within": exposure.horizon.value,
        "any_two_histories": as_float(exposure.any_nanos),
        "delta_of_any_two_histories": exposure.own_delta,
        "any_two_histories_at_delta": exposure.tight,
        "delta": exposure.delta,
    }
