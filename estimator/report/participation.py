"""How many devices take part, and bounds on the figures of all installations.

A device takes part if its user has agreed; it then answers by the schedule of the registry. All
tallies and all figures are of such devices, and nothing in them says how the others would answer.

The schedule asks each device that takes part with the chance s, independently: under ``split`` with
s = 1, under ``sample`` with the number of answers over the number of questions of the window. Of D
devices R reports are therefore a binomial number, which bounds D. What a device without budget, or
without an answer, does not send makes R smaller, and D with it.

Let a share p of all N installations take part, and let x be a figure of theirs, between m and M.
The figure of all is then between p·x + (1 - p)·m and p·x + (1 - p)·M. Both grow apart as p falls.
The bounds are therefore those of the least p and of the ends of the interval of x. They miss if
that interval does, or in one of a thousand tallies if D is below its own interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from estimator.errors import RequestError
from estimator.report.strata import former_questions
from estimator.results.estimate import Figure, Figures
from estimator.results.group import Ends
from estimator.results.metric import PARTICIPATION_CONFIDENCE, AmongAll, MetricEstimate, TakingPart
from estimator.results.report import Request
from estimator.statistics.laws import trials_interval

MISS: Final = (1 - PARTICIPATION_CONFIDENCE) / 2


def unknown_because(registry: Registry) -> str | None:
    """Return why the schedule does not say what share of the devices it asks; None if it does."""
    if registry.budget.strategy is Strategy.PACE:
        return '[budget] strategy = "pace" asks each device in windows that depend on the day of its installation'
    if registry.budget.may_be_wiped:
        return "[budget] web_year is of browsers, and one that wipes its storage reports again as another device"
    return None


def check_installs(registry: Registry, request: Request) -> None:
    """Refuse the number of installations where nothing says what share of devices was asked.

    Raises:
        RequestError: saying why, and what to give.

    """
    reason = unknown_because(registry)
    if request.installs is not None and request.asked is None and reason is not None:
        raise RequestError(
            f"the share of devices that were asked is unknown: {reason}; add that share, as --with asked=SHARE, "
            f"or leave out installs"
        )


def asked_share(registry: Registry, window: Window) -> float | None:
    """Return the share of devices that are asked a question of a window; None if unknown."""
    if unknown_because(registry) is not None:
        return None
    if registry.budget.strategy is Strategy.SPLIT:
        return 1.0
    drawn = sum(metric.window is window.kind and not metric.has_expired(window) for metric in registry.metrics.values())
    return min(1.0, (registry.budget.answers or 0) / max(1, drawn))


def with_participation(
    estimates: Iterable[MetricEstimate], registry: Registry, request: Request
) -> list[MetricEstimate]:
    """Return estimates with the number of devices that take part, and the bounds on request.

    Args:
        estimates: of the registry's questions and of their strata, which have no bounds: nobody
            knows how many installations are of a stratum. Where apps of several releases answered,
            only a question that all of them ask alike tells how many devices there are.
        registry: the registry before its strata are taken apart.
        request: how many installations there are, and what share is asked if that is known.

    """
    every = list(estimates)
    former = {each.metric.name for each in former_questions(registry).values()}
    unknown = former | registry.newcomers if any(each.metric in former and each.reports for each in every) else former
    return [
        each if {each.metric, each.metric.partition("[")[0]} & unknown else _with_participation(each, registry, request)
        for each in every
    ]


def _with_participation(estimated: MetricEstimate, registry: Registry, request: Request) -> MetricEstimate:
    asked = request.asked or asked_share(registry, estimated.span)
    if asked is None:
        return estimated
    low, high = trials_interval(estimated.reports, asked, MISS)
    taking_part = TakingPart(estimated.reports / asked, None, float(low), float(high), asked=asked)
    is_whole = estimated.metric in registry.metrics
    is_bounded = request.installs is not None and is_whole and estimated.reports > 0
    among_all = among_all_of(estimated, taking_part, request.installs or 1) if is_bounded else None
    return replace(estimated, taking_part=taking_part, among_all=among_all)


def among_all_of(estimated: MetricEstimate, taking_part: TakingPart, installs: int) -> AmongAll:
    """Return the bounds on the figures of all installations.

    Args:
        estimated: the figures of the devices that take part.
        taking_part: how many they are.
        installs: the number of all installations.

    """
    low, high = (min(1.0, devices / installs) for devices in (taking_part.low, taking_part.high))
    return AmongAll(
        installs=installs,
        taking_part=Figure.within((low, high), (taking_part.estimate or 0.0) / installs),
        groups=tuple(
            replace(group, figures=_bounds(group.figures, low, group.ends))
            for group in estimated.groups
            if group.about.has_bounds and group.ends is not None
        ),
    )


def _bounds(figures: Figures, share: float, possible: Ends) -> Figures:
    """Return the bounds on figures if at least a share of all installations takes part."""
    least, greatest = possible
    lows, highs = least + share * (figures.lows - least), greatest - share * (greatest - figures.highs)
    return Figures(figures.labels, lows, highs)
