"""The audit: play, observe, attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from client_sdk.protocol.registry.registry import Registry
from estimator.audit import black_box
from estimator.audit.attack import LowerBound, attack, level_of
from estimator.audit.features import Observation, observe, tabulate
from estimator.audit.games import LEAST_REPORTS, Contest, Scene, scenes

EFFORT_IN_ALL = 280_000
"""The cost of an audit by default, in windows: two to three minutes of a core that nobody else
uses.
"""

MOST_REPORTS = 20_000
"""The most reports of each answer by default, reached where there are few questions."""

Lives = dict[black_box.Life, list[list[Observation]]]
"""For each life, the observations of each device that lived it, window by window."""


@dataclass(frozen=True, slots=True)
class ContestResult:
    """A contest and what its attack proved.

    Attributes:
        contest: what was told apart.
        bound: what was proved.

    """

    contest: Contest
    bound: LowerBound

    @property
    def accused(self) -> bool:
        """Whether the claim is refuted."""
        return self.bound.excess > 0


@dataclass(frozen=True, slots=True)
class Audit:
    """The outcome of an audit.

    Attributes:
        reports: the least number of reports of each answer to a single metric.
        results: the result of every contest.

    """

    reports: int
    results: tuple[ContestResult, ...]

    @property
    def accused(self) -> tuple[ContestResult, ...]:
        """The results that refute a claim.

        If the SDK is correct there are none, except with a probability of
        `attack.FALSE_ACCUSATION`.
        """
        return tuple(result for result in self.results if result.accused)


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

    def results_of(scene: Scene) -> Iterator[ContestResult]:
        lived: Lives = {life: [] for life in scene.lives}
        for _ in range(scene.devices):
            # lives take turns, so that a change of the machine affects all of them
            for life, devices in lived.items():
                bodies = black_box.play(registry, life, make_device)
                devices.append([observe([window]) for window in bodies])
                after_life(len(bodies))
        for contest in scene.contests:
            first, second = (_observations(contest, lived[life]) for life in contest.lives)
            yield ContestResult(contest, attack(tabulate(first, second), contest.claim, level))

    return Audit(reports, tuple(result for scene in planned for result in results_of(scene)))


def _observations(contest: Contest, devices: list[list[Observation]]) -> list[Observation]:
    if contest.by_window:
        return [window for windows in devices for window in windows]
    return [
        {feature._replace(window=at): value for at, window in enumerate(windows) for feature, value in window.items()}
        for windows in devices
    ]
