"""Everything together: play, observe, attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from client_sdk.protocol import Registry
from estimator.audit import black_box
from estimator.audit.attack import Proof, attack, level_of
from estimator.audit.features import Observation, observe, tabulate
from estimator.audit.games import LEAST_REPORTS, Contest, Scene, scenes

EFFORT_IN_ALL = 280_000
"""Of an audit by default, in windows: two to three minutes of a core, so that five do where others use it, too."""

MOST_REPORTS = 20_000
"""Of each answer by default, where there are few questions."""

Lives = dict[black_box.Life, list[list[Observation]]]
"""Of each device that lived a life, what was observed window by window."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A contest, and what was proved in it."""

    contest: Contest
    proof: Proof

    @property
    def accused(self) -> bool:
        """Whether the claim is refuted."""
        return self.proof.excess > 0


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything that was found.

    Attributes:
        reports: of each answer of a metric alone, at least.
        findings: of every contest.

    """

    reports: int
    findings: tuple[Finding, ...]

    @property
    def accused(self) -> tuple[Finding, ...]:
        """What refutes a claim; nothing, but for a chance of `attack.FALSE_ACCUSATION`, if the SDK is right."""
        return tuple(finding for finding in self.findings if finding.accused)


def chosen(registry: Registry, names: tuple[str, ...]) -> Registry:
    """Return the registry to play: with the named metrics, or all if none is named; without ceilings."""
    metrics = {name: registry.metric(name) for name in names} if names else registry.metrics
    return black_box.without_ceilings(replace(registry, metrics=metrics))


def windows_played(registry: Registry, reports: int) -> int:
    """Return how many windows an audit plays."""
    return sum(scene.windows for scene in scenes(registry, reports))


def default_reports(registry: Registry) -> int:
    """Return how many reports of each answer take a few minutes."""
    a_report = sum(scene.effort for scene in scenes(registry, MOST_REPORTS)) / MOST_REPORTS
    return max(LEAST_REPORTS, min(MOST_REPORTS, int(EFFORT_IN_ALL / a_report)))


def audit(
    registry: Registry,
    reports: int,
    *,
    after_life: Callable[[int], object] = lambda _: None,
    make_device: black_box.MakeDevice = black_box.INSTALLED,
) -> Audit:
    """Audit the SDK on the questions of a registry.

    Args:
        registry: `chosen`.
        reports: of each answer of a metric alone, at least `LEAST_REPORTS`.
        after_life: called after each device's life with the number of its windows.
        make_device: another `Telemetry`; anything but the default is for tests.

    """
    planned = scenes(registry, reports)
    level = level_of(sum(len(scene.contests) for scene in planned))

    def findings(scene: Scene) -> Iterator[Finding]:
        lived: Lives = {life: [] for life in scene.lives}
        for _ in range(scene.devices):  # lives take turns, so that whatever changes meanwhile changes for all
            for life, seen in lived.items():
                bodies = black_box.play(registry, life, make_device)
                seen.append([observe([window]) for window in bodies])
                after_life(len(bodies))
        for contest in scene.contests:
            first, second = (_observations(contest, lived[life]) for life in contest.lives)
            yield Finding(contest, attack(tabulate(first, second), contest.claim, level))

    return Audit(reports, tuple(finding for scene in planned for finding in findings(scene)))


def _observations(contest: Contest, devices: list[list[Observation]]) -> list[Observation]:
    if contest.by_window:
        return [window for windows in devices for window in windows]
    return [
        {feature._replace(window=at): value for at, window in enumerate(windows) for feature, value in window.items()}
        for windows in devices
    ]
