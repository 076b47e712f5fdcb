"""The audit: play, observe, attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated

from client_sdk.protocol.registry.registry import Registry
from estimator.audit import black_box
from estimator.audit.attack import FALSE_ACCUSATION, LowerBound, attack, level_of
from estimator.audit.features import Observation, observe, tabulate
from estimator.audit.games import LEAST_REPORTS, Contest, Scene, scenes
from estimator.results.record import Record, says

EFFORT_IN_ALL = 280_000
"""The cost of an audit by default, in windows: two to three minutes of a core that nobody else
uses.
"""

MOST_REPORTS = 20_000
"""The most reports of each answer by default, reached where there are few questions."""

Lives = dict[black_box.Life, list[list[Observation]]]
"""For each life, the observations of each device that lived it, window by window."""


class Finding(Record, frozen=True, kw_only=True):
    """Two answers that were to be told apart, and what the attack proved."""

    metric: Annotated[str | None, says("the metric whose answers differ. None if the answers to all metrics do.")]
    horizon: Annotated[str, says("how much of a life is observed and how much of it differs, in words.")]
    answers: Annotated[tuple[str, str], says("the names of the two answers.")]
    claimed_epsilon: Annotated[float, says("rounded up.")]
    claimed_delta: Annotated[float, says("rounded up; 0 for most mechanisms.")]
    proved_epsilon: Annotated[float, says("a lower bound of the true epsilon.")]
    provable_epsilon: Annotated[
        float,
        says("the bound that so many observations prove of a device that always gives the answer away."),
    ]
    observations: Annotated[int, says("how often each answer was observed.")]
    detectable_excess: Annotated[
        float | None,
        says("the least excess over the claim that would be proved about every other time. None if there is none."),
    ]
    accused: Annotated[bool, says("whether the claim is refuted.")]


class Audit(Record, frozen=True):
    """The outcome of an audit."""

    reports: Annotated[int, says("the least number of reports of each answer to a single metric.")]
    false_accusation: Annotated[float, says("the probability with which a correct SDK is accused, at most.")]
    accused: Annotated[bool, says("whether any claim is refuted.")]
    findings: Annotated[tuple[Finding, ...], says("of every pair of answers.")]


def chosen(registry: Registry, names: tuple[str, ...]) -> Registry:
    """Return the registry to play: without ceilings, with the named metrics or all.

    Raises:
        UnknownMetricError: if a name is not that of a metric.

    """
    metrics = {name: registry.metric(name) for name in names} if names else registry.metrics
    return black_box.without_ceilings(replace(registry, metrics=metrics))


def windows_played(registry: Registry, reports: int) -> int:
    """Return how many windows an audit plays."""
    return sum(scene.windows for scene in scenes(registry, reports))


def default_reports(registry: Registry) -> int:
    """Return how many reports of each answer take a few minutes."""
    effort_of_report = sum(scene.effort for scene in scenes(registry, MOST_REPORTS)) / MOST_REPORTS
    return max(LEAST_REPORTS, min(MOST_REPORTS, int(EFFORT_IN_ALL / effort_of_report)))


def audit(
    registry: Registry,
    reports: int,
    *,
    after_life: Callable[[int], object] = lambda _: None,
    make_device: black_box.MakeDevice = black_box.INSTALLED,
) -> Audit:
    """Audit the SDK on the questions of a registry.

    Args:
        registry: as `chosen` returns it.
        reports: the least number of reports of each answer to a single metric, at least
            `LEAST_REPORTS`.
        after_life: called after each device's life with the number of its windows.
        make_device: makes a `Telemetry`, or what behaves like it, such as
            `other_sdk.OtherSdk.device`.

    Raises:
        AuditError: if a device does not record or send its reports.

    """
    planned = scenes(registry, reports)
    level = level_of(sum(len(scene.contests) for scene in planned))

    def findings_of(scene: Scene) -> Iterator[Finding]:
        lived: Lives = {life: [] for life in scene.lives}
        for _ in range(scene.devices):
            # lives take turns, so that a change of the machine affects all of them
            for life, devices in lived.items():
                bodies = black_box.play(registry, life, make_device)
                devices.append([observe([window]) for window in bodies])
                after_life(len(bodies))
        for contest in scene.contests:
            first, second = (_observations(contest, lived[life]) for life in contest.lives)
            yield _finding(contest, attack(tabulate(first, second), contest.claim, level))

    findings = tuple(finding for scene in planned for finding in findings_of(scene))
    return Audit(reports, FALSE_ACCUSATION, any(finding.accused for finding in findings), findings)


def _finding(contest: Contest, bound: LowerBound) -> Finding:
    return Finding(
        metric=contest.metric,
        horizon=contest.horizon,
        answers=contest.names,
        claimed_epsilon=bound.claim.epsilon,
        claimed_delta=bound.claim.delta,
        proved_epsilon=bound.epsilon,
        provable_epsilon=bound.at_best,
        observations=bound.observations,
        detectable_excess=bound.detectable,
        accused=bound.excess > 0,
    )


def _observations(contest: Contest, devices: list[list[Observation]]) -> list[Observation]:
    if contest.by_window:
        return [window for windows in devices for window in windows]
    return [
        {feature._replace(window=at): value for at, window in enumerate(windows) for feature, value in window.items()}
        for windows in devices
    ]
