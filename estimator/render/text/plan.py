"""The output of a plan and of an allocation, as text 80 columns wide or as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from textwrap import fill
from typing import Final

from msgspec import UNSET

from client_sdk.protocol.horizon import Horizon
from estimator.analyses.clips import Clip
from estimator.formats.json_documents import as_json
from estimator.plan.allocation import Allocation
from estimator.plan.plan import MeanError, MetricPlan, Plan, ShareErrors, TextPlan
from estimator.plan.windows_together import SeenChange
from estimator.render.rounding import digits_for, relative_size, size_of, text_of
from estimator.render.text.style import PLAIN, VALUE_WIDTH, Style, wrapped
from estimator.render.words import exact_loss, mechanism_words, short_loss
from estimator.statistics.confidence import Z
from estimator.words import plural

NO_BOUND: Final = "no bound"

WIDTH: Final = 80

FOOTNOTES: Final = """\
Errors are standard errors of the unbiased estimates in one window, for devices
that are a random sample of a population. Worst: the error in the population
with the largest error. Detectable share: its 95% interval lies above 0 in 8 of
10 draws. Detectable change in a period: report --since finds this change in 8
of 10 draws. It compares the period with as many windows before it, allows for
people who answer in both, and corrects for all questions.
Epsilon of the tally: the privacy loss of a device from a window's tally, if
only tallies of closed windows are published and all devices are honest.
"""

DEVICE_FOOTNOTE: Final = """\
Any two histories: the sum of the epsilons of all reports, within the ceilings.
At delta: the epsilon from composing their privacy losses.
A month overlaps up to 6 ISO weeks, a year up to 54.
"""

LIFE_FOOTNOTE: Final = """\
Year and life are for a device that begins on the day of the plan.
"""

BROWSER_FOOTNOTE: Final = """\
Browsers may delete the ledger. Month and year are for a browser that deletes it
again and again. Storage is the time from the day of the plan until deletion.
"""


def plan_as_table(plan: Plan, style: Style = PLAIN) -> str:
    """Return a plan as text."""
    part = "" if plan.answering == 1 else f", of which {plan.answering:.1%} answer a question in a window"
    head = f"{plural(plan.population, 'device')}{part}\n"
    blocks = ["".join(f"{line.rstrip()}\n" for line in _metric_lines(metric)) for metric in plan.metrics]
    device = "".join(f"{line.rstrip()}\n" for line in _device_lines(plan))
    life = BROWSER_FOOTNOTE if plan.may_be_wiped else LIFE_FOOTNOTE
    about_device = f"{fill(plan.year, WIDTH)}\n\n{DEVICE_FOOTNOTE}{life}{_own_deltas(plan)}"
    notes = "".join(f"{fill(f'note: {note}', WIDTH)}\n" for note in plan.notes)
    return style.shown("\n".join([head, *blocks, FOOTNOTES, device, about_device, *([notes] if notes else [])]))


PLAN_FORMATS: Final[dict[str, Callable[..., str]]] = {"table": plan_as_table, "json": as_json}
"""The values of ``--format``. Every output ends with a line break."""


def allocation_as_table(allocation: Allocation, style: Style = PLAIN) -> str:
    """Return the errors before and after an allocation, followed by a patch of the registry.

    The command ``patch`` accepts the output and skips the text above the patch.
    """
    lines = [f"{'':17} {'epsilon':>10} {'error':>11}   {'epsilon':>10} {'error':>11} {'wanted':>11}"]
    for row in allocation.metrics:
        before, after = (f"{side.epsilon:10.6g} {side.standard_error:11.4g}" for side in (row.before, row.after))
        lines.append(f"{style.cut(row.metric, VALUE_WIDTH):{VALUE_WIDTH}} {before} > {after} {row.wanted:11.4g}")
    largest, answers = allocation.largest, allocation.answers
    lines.append(f"largest error, in units of its target: {largest.before:.4g} before, {largest.after:.4g} after")
    if answers.after is not None:
        lines.append(f"answers in a window: {answers.before} before, {answers.after} after")
    lines.append("(Errors are those of a share if all are equal, or of a mean in the worst case.)")
    patch = allocation.diff or "nothing to change: no allocation lowers the largest error\n"
    return "".join(f"{line}\n" for line in [*lines, ""]) + patch


ALLOCATION_FORMATS: Final[dict[str, Callable[..., str]]] = {
    "table": allocation_as_table,
    "json": as_json,
}


def _metric_lines(plan: MetricPlan) -> Iterator[str]:
    yield f"{plan.target}: {plan.kind}, every {plan.window}"
    yield f"  {mechanism_words(plan)}"
    if plan.permanent_epsilon is not None:
        yield f"  permanent answer: epsilon {exact_loss(plan.permanent_epsilon)}"
    yield f"  {'reports expected':34} {plan.reports:>14,}"
    if (paid := plan.paid_windows) is not None:
        until = "" if paid.until is None else f", until {paid.until}"
        yield f"  {'windows that are paid for':34} {paid.paid:>14,} of {paid.windows:,}{until}"
    if plan.share is not None:
        yield f"  {'error of a share, if all are equal':34} {size_of(plan.share.standard_error_uniform):>14}"
        yield f"  {'error of a share, worst':34} {size_of(plan.share.standard_error_worst):>14}"
        smallest = "none" if plan.share.smallest_seen is None else size_of(plan.share.smallest_seen)
        yield f"  {'smallest detectable share':34} {smallest:>14}"
    unit = f" {plan.unit}" if plan.unit else ""
    if plan.rotations is not None:
        yield f"  {'rotation error (fraction of norm)':34} {size_of(plan.rotations):>14}"
    if plan.mean is not None:
        error = plan.mean.standard_error_worst
        size = relative_size(error) if plan.mean.is_relative else size_of(error)
        yield f"  {f'error of the {plan.mean.name}, worst':34} {size:>14}{'' if plan.mean.is_relative else unit}"
    if plan.together is not None and plan.together.windows > 1:
        error = plan.together.standard_error_worst
        size = relative_size(error) if _is_relative(plan) else f"{size_of(error):>14}{'' if plan.share else unit}"
        yield f"  {f'error over {_windows_of(plan)}, worst':34} {size:>14}"
    if plan.least_difference_of_means is not UNSET:
        least = plan.least_difference_of_means
        yield f"  {'detectable difference of means':34} {'none' if least is None else f'{size_of(least)}{unit}':>14}"
    for seen in plan.changes:
        yield f"  {f'detectable change in a {seen.period}':34} {_change(plan, seen):>14}"
    yield from _last_lines(plan)


def _is_relative(plan: MetricPlan) -> bool:
    return plan.share is None and plan.mean is not None and plan.mean.is_relative


def _windows_of(plan: MetricPlan) -> str:
    return plural(1 if plan.together is None else plan.together.windows, str(plan.window))


def _change(plan: MetricPlan, seen: SeenChange) -> str:
    if seen.smallest is None:
        return "none"
    if _is_relative(plan):
        return relative_size(seen.smallest)
    if plan.share is not None:
        return f"{size_of(100 * seen.smallest):>14} points"
    return f"{size_of(seen.smallest):>14}{f' {plan.unit}' if plan.unit else ''}"


def _last_lines(plan: MetricPlan) -> Iterator[str]:
    if plan.central is not None:
        label = f"epsilon of the tally, delta {short_loss(plan.central.delta)}"
        yield f"  {label:34} {short_loss(plan.central.epsilon):>14}"
    is_relative = plan.mean is not None and plan.mean.is_relative
    of_mean = f" {plan.unit}" if plan.unit and plan.share is None else ""
    wanted = relative_size(plan.wanted_error) if is_relative else f"{plan.wanted_error:.4g}{of_mean}"
    devices = "" if plan.devices_needed is None else f" from {plural(plan.devices_needed, 'device')}"
    each = "" if plan.together is None else f" a {plan.window}"
    yield f"  {f'reports for an error of {wanted}':34} {plan.reports_needed:>14,}{each}{devices}"
    if plan.strata is not None and plan.strata.smallest_difference is not None:
        least = plan.strata.smallest_difference
        seen = relative_size(least) if is_relative else f"{size_of(least):>14}{of_mean}"
        yield f"  {'detectable difference of strata':34} {seen:>14}"
        yield f"    9 times in 10, with {plan.strata.reports:,} reports in each of {plan.strata.strata}"
    if plan.texts is not None:
        yield from _text_lines(plan.texts)
    else:
        yield fill(_judgement(plan), WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield from clip_lines(plan.clips, plan.unit)


def clip_lines(clips: Sequence[Clip], unit: str) -> Iterator[str]:
    """Yield a line with the error of each range that answers may be limited to.

    The last line recommends the range with the smallest error.
    """
    if not clips:
        return
    yield f"  {'counted up to':>17} {'bias':>10} {'noise':>10} {'error':>10} {'detectable':>13}"
    for clip in clips:
        bias = text_of(clip.bias, digits_for(clip.error))
        seen = "none" if clip.smallest_change is None else f"+{size_of(clip.smallest_change, power=2)}%"
        yield f"  {clip.high:17,.10g} {bias:>10} {size_of(clip.noise):>10} {size_of(clip.error):>10} {seen:>13}"
    best, behind = next(clip for clip in clips if clip.is_best), f" {unit}" if unit else ""
    off = f"the estimated mean is about {size_of(best.error)}{behind} off the mean of all numbers"
    yield from wrapped(f"recommended: count up to {best.high:,.10g}{behind}; {off}", WIDTH, "  ", "  ")


def _text_lines(plan: TextPlan) -> Iterator[str]:
    for least in plan.least_shares:
        share = "none" if least.share is None else size_of(least.share)
        label = f"share found, {plural(least.letters, 'letter')}"
        yield f"  {label:34} {share:>14}"
    common = f"a text of {plan.share:.0%}, {plural(plan.letters, 'letter')}"
    if plan.devices_to_find is not None:
        yield f"  {f'devices to find {common}':44} {round_up(plan.devices_to_find):>14,}"
    if plan.devices_if_named is not None:
        yield f"  {f'devices to see {common}, if named':44} {round_up(plan.devices_if_named):>14,}"
    yield "  Each number is enough 9 times in 10. Fewer devices are enough for texts that"
    yield "  you name: use report --with candidates=FILE, or a category with the key other."


def _judgement(plan: MetricPlan) -> str:
    errors = plan.share or plan.mean
    if not plan.reports or errors is None:
        return "no report is expected"
    if is_share := isinstance(errors, ShareErrors):
        what, unit = "a share", " points"
    else:
        what, unit = f"the {errors.name}", f" {plan.unit}".rstrip()

    def within(standard_error: float) -> str:
        reach = Z * standard_error
        if isinstance(errors, MeanError) and errors.is_relative:
            return f"{what} to within {relative_size(reach)} (95%)"
        return f"{what} to within {size_of(reach * (100 if is_share else 1))}{unit} (95%)"

    windows = 1 if plan.together is None else plan.together.windows
    error = errors.standard_error_worst if plan.together is None else plan.together.standard_error_worst
    if not plan.is_named:
        return f"{_windows_of(plan)} {'estimates' if windows == 1 else 'together estimate'} {within(error)}"
    over = "" if windows == 1 else f" over {_windows_of(plan)}"
    if plan.reports >= plan.reports_needed:
        return f"enough to estimate {within(error)}{over}"
    needed = "" if plan.devices_needed is None else f": needs about {round_up(plan.devices_needed):,} devices"
    return f"too few to estimate {within(plan.wanted_error)}{over}{needed}"


def round_up(devices: int) -> int:
    """Return a number of devices rounded up to two significant digits."""
    step: int = 10 ** max(0, len(str(devices)) - 2)
    return -(-devices // step) * step


def _device_lines(plan: Plan) -> Iterator[str]:
    (delta,) = {exposure.delta for exposure in plan.device}
    yield "A device reveals at most (epsilon)"
    yield f"  {'within a':10} {'any two histories':>20} {f'at delta {delta:g}':>18}"
    for exposure in plan.device:
        tight = exposure.any_two_histories_at_delta
        horizon = "storage" if plan.may_be_wiped and exposure.within is Horizon.LIFE else exposure.within
        at_delta = NO_BOUND if tight is None else f"{tight:.4f}"
        yield f"  {horizon:10} {exact_loss(exposure.any_two_histories):>20} {at_delta:>18}"


def _own_deltas(plan: Plan) -> str:
    if not any(exposure.delta_of_any_two_histories for exposure in plan.device):
        return ""
    deltas = ", ".join(
        f"{exposure.within} {short_loss(exposure.delta_of_any_two_histories)}" for exposure in plan.device
    )
    return f"{fill(f'The epsilons for any two histories are valid at these sums of deltas: {deltas}.', WIDTH)}\n"
