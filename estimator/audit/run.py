"""The audit by attacks, which infer answers from the bytes that simulated devices send.

A *life* is the sequence of a device's answers. A *game* consists of two lives that an attack tries
to tell apart, and the SDK's claimed epsilon and delta for these lives. The *horizon* of a game is
the part of a life that the attack sees, such as one report or one month. The functions
`one_report`, `months` and `windows` create games with different horizons. The lives contain a
metric's first and last possible answers, and a few answers in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Annotated, cast

import numpy as np

from client_sdk.protocol.epsilon import as_float, float_ceiling
from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.kind import NamedAnswer, word
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.audit import black_box
from estimator.audit.attack import FALSE_ACCUSATION, LEAST_OBSERVATIONS, LowerBound, PrivacyClaim, attack, level_of
from estimator.audit.black_box import Life
from estimator.audit.distinguishers import Observation, observe, tabulate
from estimator.errors import metric_named
from estimator.results.estimate import Record, says

BETWEEN = 2
"""The maximum number of simulated answers between the first and the last possible answers.

Four answers make six pairs.
"""

SEED = 1
"""The fixed seed for the choice of answers, which makes audits of a registry comparable."""


def extremes(metric: Metric) -> tuple[NamedAnswer, ...]:
    """Return the answers for attacks to tell apart: the first, the last, and some in between."""
    named = metric.kind.extremes(midpoint=metric.channel.permanent_nanos > 0)  # permanent answers keep their rounding
    if named:
        return tuple(named)
    labels = metric.labels
    answers = labels if metric.has_no_answer else cast("Labels", metric.kind).answers  # other kinds have extremes
    inner = np.random.default_rng(SEED).permutation(np.arange(1, len(labels) - 1))[:BETWEEN]
    chosen = dict.fromkeys((0, len(labels) - 1, *sorted(inner.tolist())))
    return tuple(NamedAnswer(answers[at], word(labels[at])) for at in chosen)


MONTH = 30
"""The number of windows in the longest observation."""

LEAST_REPORTS = LEAST_OBSERVATIONS * MONTH
"""The minimum number of reports of each answer.

An attack needs `LEAST_OBSERVATIONS` observations, each with the reports of up to `MONTH` windows.
"""

REPORTS_A_WINDOW = 6
"""The time to simulate a device's first window, divided by the time to simulate a later window."""


@dataclass(frozen=True, slots=True)
class Game:
    """Two lives that an observer of the devices' reports tries to tell apart.

    A *life* is the sequence of a device's answers, window by window.

    Attributes:
        metric: the metric with different answers. None if the answers to all metrics differ.
        horizon: a description of the observations and of the windows with different answers, such
            as ``30 windows, one answer differs``.
        names: the names of the two answers.
        lives: the lives of the two devices.
        claim: the SDK's claim about the two lives.
        by_window: whether each window of a life, rather than the whole life, is an observation.
        windows: the number of windows that an observation covers, beginning with the first window.
    """

    metric: str | None
    horizon: str
    names: tuple[str, str]
    lives: tuple[Life, Life]
    claim: PrivacyClaim
    by_window: bool = False
    windows: int = MONTH


@dataclass(frozen=True, slots=True)
class GameGroup:
    """Games that share lives and the simulated devices of these lives.

    Attributes:
        games: the games that share the devices.
        devices: the number of simulated devices for each life.
    """

    games: tuple[Game, ...]
    devices: int

    @property
    def lives(self) -> list[Life]:
        """All different lives in the games."""
        return list(dict.fromkeys(life for game in self.games for life in game.lives))

    @property
    def windows(self) -> int:
        """The total number of windows to simulate."""
        return self.devices * sum(len(life.answers) for life in self.lives)

    @property
    def effort(self) -> int:
        """The cost of the simulation. A first window counts as `REPORTS_A_WINDOW` windows."""
        return self.windows + (REPORTS_A_WINDOW - 1) * self.devices * len(self.lives)


def game_groups(registry: Registry, reports: int) -> list[GameGroup]:
    """Return all games of an audit. The games in a group use the same simulated devices.

    In games about a single metric, each answer is reported at least ``reports`` times.
    """
    lifetime = registry.budget.lifetime_nanos
    played = [
        game_group for metric in registry.metrics.values() for game_group in _of_metric(metric, reports, lifetime)
    ]
    if len(registry.metrics) > 1:
        games = tuple(windows(registry))
        played.append(GameGroup(games, max(LEAST_OBSERVATIONS, reports // REPORTS_A_WINDOW)))
    return played


def _of_metric(metric: Metric, reports: int, lifetime: int) -> Iterator[GameGroup]:
    """Yield the games about one metric, for one report and for a month's reports.

    The games about one report use the lives of a month. Each window of these lives is an
    observation. With permanent answers, the reports of a month are not independent, so the games
    about one report use separate lives of a single window. A game about two lives that differ in
    all windows covers only the windows that the lifetime ceiling pays for.
    """
    paid = max(1, min(MONTH, lifetime // metric.epsilon_nanos))
    answers, devices = extremes(metric), -(-reports // MONTH)
    lives = [_life(metric, [answer] * MONTH) for answer in answers]
    if metric.channel.permanent_nanos:
        single = [_life(metric, [answer]) for answer in answers]
        yield GameGroup(tuple(one_report(metric, answers, single)), reports // REPORTS_A_WINDOW)
        yield GameGroup(tuple(months(metric, answers, lives, paid)), devices)
    else:
        yield GameGroup((*one_report(metric, answers, lives), *months(metric, answers, lives, paid)), devices)


def one_report(metric: Metric, answers: Sequence[NamedAnswer], lives: Sequence[Life]) -> Iterator[Game]:
    """Yield a game about one report, for every pair of answers."""
    claim = claim_of([metric])
    for (answer, life), (other, other_life) in combinations(zip(answers, lives, strict=True), 2):
        yield Game(metric.name, "one report", (answer.name, other.name), (life, other_life), claim, by_window=True)


def months(metric: Metric, answers: Sequence[NamedAnswer], lives: Sequence[Life], paid: int = MONTH) -> Iterator[Game]:
    """Yield the games about the reports of many windows together.

    * First game: the two lives differ in all of the first ``paid`` windows.
    * Second game: the two lives differ only in the first window.
    * Third game, only for permanent numbers: one life contains the lowest number, and the other a
      number in the middle of the range. The device rounds the middle number at random to either
      end.

    Args:
        metric: the metric.
        answers: the answers, from `extremes`.
        lives: for each answer, a `Life` of a device with this answer in every window.
        paid: the number of windows in which the lifetime ceiling allows a report, at most `MONTH`.
    """
    first, second, *between = answers
    names = (first.name, second.name)
    claim = permanent_claim_of(metric, paid) if metric.channel.permanent_nanos else claim_of([metric] * paid)
    if paid > 1:
        yield Game(metric.name, f"{paid} windows, all answers differ", names, (lives[0], lives[1]), claim, windows=paid)
    differing = _life(metric, [second, *[first] * (MONTH - 1)])
    yield Game(metric.name, f"{MONTH} windows, one answer differs", names, (lives[0], differing), claim_of([metric]))
    if metric.channel.permanent_nanos and between and not metric.labels:
        pair = (first.name, between[0].name)
        yield Game(
            metric.name, f"{paid} windows, intermediate answers", pair, (lives[0], lives[2]), claim, windows=paid
        )


def windows(registry: Registry) -> Iterator[Game]:
    """Yield the games about one window's reports on all metrics.

    In the first game, the two lives differ in the answers to all metrics that the ceilings pay for.
    In each other game, the lives differ in the answer to a single metric.
    """
    metrics = tuple(registry.metrics.values())
    ends = {metric.name: extremes(metric)[:2] for metric in metrics}
    paid = list(_paid_together(registry))
    first = {name: pair[0].value for name, pair in ends.items()}
    second = first | {metric.name: ends[metric.name][1].value for metric in paid}
    base, opposite = (Life((answers,), registry.budget.window) for answers in (first, second))
    which = "all answers" if len(paid) == len(metrics) else f"answers to {len(paid)} of {len(metrics)} metrics"
    horizon = f"a window, {which} differ"
    yield Game(None, horizon, ("first", "second"), (base, opposite), claim_of(paid))
    for metric in metrics:
        first_end, second_end = ends[metric.name]
        life = Life((first | {metric.name: second_end.value},), registry.budget.window)
        yield Game(
            metric.name,
            "a window, one answer differs",
            (first_end.name, second_end.name),
            (base, life),
            claim_of([metric]),
        )


def _paid_together(registry: Registry) -> Iterator[Metric]:
    left = min(registry.budget.per_window_nanos, registry.budget.lifetime_nanos)
    for metric in registry.metrics.values():
        if metric.epsilon_nanos <= left:
            left -= metric.epsilon_nanos
            yield metric


def claim_of(charged: Sequence[Metric]) -> PrivacyClaim:
    """Return the claim about several reports: the sums of the charged epsilons and of the deltas.

    Source: Dwork & Roth 2014, theorem 3.16.
    """
    delta = sum((metric.delta for metric in charged), Fraction(0))
    return PrivacyClaim(as_float(sum(metric.epsilon_nanos for metric in charged)), float_ceiling(delta))


def permanent_claim_of(metric: Metric, windows: int = MONTH) -> PrivacyClaim:
    """Return the claim about several windows' reports of an unchanged permanent answer."""
    return PrivacyClaim(as_float(min(windows * metric.epsilon_nanos, metric.channel.permanent_nanos)))


def _life(metric: Metric, answers: Sequence[NamedAnswer]) -> Life:
    return Life(tuple({metric.name: answer.value} for answer in answers), metric.window)


EFFORT_IN_ALL = 280_000
"""The default cost of an audit (see `GameGroup.effort`): two to three minutes on an idle core."""

MOST_REPORTS = 20_000
"""The default maximum number of reports of each answer."""

Lives = dict[black_box.Life, list[list[Observation]]]
"""For each life, the observations of each device with this life, window by window."""


class Finding(Record, frozen=True, kw_only=True):
    """Two answers, and the bound on epsilon that an attack on these answers proved."""

    metric: Annotated[str | None, says("the metric whose answers differ. None if the answers to all metrics differ.")]
    horizon: Annotated[str, says("a description of what the attack sees, and in which windows the answers differ.")]
    answers: Annotated[tuple[str, str], says("the names of the two answers.")]
    claimed_epsilon: Annotated[float, says("the claimed epsilon, rounded up.")]
    claimed_delta: Annotated[float, says("the claimed delta, rounded up. It is 0 for most mechanisms.")]
    proved_epsilon: Annotated[float, says("a lower bound on the true epsilon.")]
    used: Annotated[float, says("the proved epsilon divided by the claimed epsilon.")]
    provable_epsilon: Annotated[
        float,
        says(
            "the largest lower bound that this number of observations can prove, for a device that always reveals its "
            "answer."
        ),
    ]
    observations: Annotated[int, says("the number of observations of each answer.")]
    detectable_excess: Annotated[
        float | None,
        says(
            "the smallest excess over the claim that about half of all audits would prove. None if there is no such "
            "excess."
        ),
    ]
    accused: Annotated[bool, says("whether the claim is refuted.")]


class Audit(Record, frozen=True):
    """The outcome of an audit."""

    reports: Annotated[int, says("the minimum number of reports of each answer to a single metric.")]
    false_accusation: Annotated[float, says("the maximum probability that the audit accuses a correct SDK.")]
    accused: Annotated[bool, says("whether any claim is refuted.")]
    lifetime: Annotated[float, says("the ceiling on the total epsilon of all reports of a device.")]
    findings: Annotated[tuple[Finding, ...], says("one finding for each pair of answers.")]


def chosen(registry: Registry, names: tuple[str, ...]) -> Registry:
    """Return a registry with only the named metrics, or with all metrics if ``names`` is empty.

    Raises:
        UnknownMetricError: if a name is not in the registry.
    """
    metrics = {name: metric_named(registry, name) for name in names} if names else registry.metrics
    return replace(registry, metrics=metrics)


def windows_played(registry: Registry, reports: int) -> int:
    """Return the number of windows that an audit simulates."""
    return sum(game_group.windows for game_group in game_groups(registry, reports))


def default_reports(registry: Registry) -> int:
    """Return the number of reports of each answer for an audit that takes a few minutes."""
    effort_of_report = sum(game_group.effort for game_group in game_groups(registry, MOST_REPORTS)) / MOST_REPORTS
    return max(LEAST_REPORTS, min(MOST_REPORTS, int(EFFORT_IN_ALL / effort_of_report)))


def audit(
    registry: Registry,
    reports: int,
    *,
    after_life: Callable[[int], object] = lambda _: None,
    make_device: black_box.MakeDevice = black_box.INSTALLED,
) -> Audit:
    """Audit the SDK on the metrics of a registry.

    Devices are simulated without ceilings, because a device that stops reporting would reveal less
    than a device that continues.

    Args:
        registry: the registry to audit, from `chosen`.
        reports: the minimum number of reports of each answer to a single metric, at least
            `LEAST_REPORTS`.
        after_life: a function that is called after the simulation of each device. The argument is
            the number of windows that were simulated for the device.
        make_device: a function that returns a `Telemetry`, or an object that behaves like one, such
            as `black_box.OtherSdk.device`.

    Raises:
        AuditError: if a device does not record its answers or does not send its reports.
    """
    planned, bare = game_groups(registry, reports), black_box.without_ceilings(registry)
    level = level_of(sum(len(game_group.games) for game_group in planned))

    def findings_of(game_group: GameGroup) -> Iterator[Finding]:
        lived: Lives = {life: [] for life in game_group.lives}
        for _ in range(game_group.devices):
            # lives alternate, so that a change of the machine's load affects all of them
            for life, devices in lived.items():
                bodies = black_box.play(bare, life, make_device)
                devices.append([observe([window]) for window in bodies])
                after_life(len(bodies))
        for game in game_group.games:
            first, second = (observations(game, lived[life]) for life in game.lives)
            yield _finding(game, attack(tabulate(first, second), game.claim, level))

    findings = tuple(finding for game_group in planned for finding in findings_of(game_group))
    lifetime = as_float(registry.budget.lifetime_nanos)
    return Audit(reports, FALSE_ACCUSATION, any(finding.accused for finding in findings), lifetime, findings)


def _finding(game: Game, bound: LowerBound) -> Finding:
    return Finding(
        metric=game.metric,
        horizon=game.horizon,
        answers=game.names,
        claimed_epsilon=bound.claim.epsilon,
        claimed_delta=bound.claim.delta,
        proved_epsilon=bound.epsilon,
        used=bound.epsilon / bound.claim.epsilon,
        provable_epsilon=bound.at_best,
        observations=bound.observations,
        detectable_excess=bound.detectable,
        accused=bound.excess > 0,
    )


def observations(game: Game, devices: list[list[Observation]]) -> list[Observation]:
    """Return a game's observations. Each observation covers one window or several."""
    if game.by_window:
        return [window for windows in devices for window in windows]
    return [
        {
            feature._replace(window=at): value
            for at, window in enumerate(windows[: game.windows])
            for feature, value in window.items()
        }
        for windows in devices
    ]
