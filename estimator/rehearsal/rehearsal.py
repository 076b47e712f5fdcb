"""A rehearsal: known answers through the real laws, so that truth and estimate can be compared before any release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol import Metric, Window
from estimator.estimates.metric import estimate
from estimator.rehearsal.ground_truth import Source
from estimator.rehearsal.population import Crowd
from estimator.rehearsal.tally_sampler import Sampler, sampler_of
from estimator.report.group_differences import corrected_differences
from estimator.results.distribution import Resampled
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.results.report import Report, Skipped
from estimator.results.request import PLAIN, Wanted
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies.tally import Tally

UNIX_EPOCH_S = 0.0
"""A rehearsal takes place in no window; a tally must have one, and the clock's would make a seed's output change."""

COMPARED = Wanted(joint=False)
"""What a round needs: only what is compared with a truth."""

NO_COLUMN = "no column has its name"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the truth, averaged over the values of a metric.

    Attributes:
        rounds: how many times everything was drawn anew.
        population: with new devices each time, sampled from the population whose truth is asked for: what an interval
            promises.
        noise_alone: with the same devices each time, and the truth of these devices: more, because an interval also
            allows for the chance of who reported.

    """

    rounds: int
    population: float
    noise_alone: float


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One metric of a rehearsal.

    Attributes:
        estimated: what its tally tells.
        truths: what is true of the population, one for each that is ``compared``; none without any device.
        coverage: or none, if it was not measured.
        resampled_coverage: that of the variance and the quantiles of a distribution, or none.

    """

    estimated: MetricEstimate
    truths: tuple[float | None, ...]
    coverage: Coverage | None = None
    resampled_coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """Everything that a rehearsal showed.

    Attributes:
        seed: of everything random in it.
        metrics: in the registry's order.
        missing: metrics without a column.

    """

    seed: int
    metrics: tuple[Rehearsed, ...]
    missing: tuple[Metric, ...] = ()

    @property
    def report(self) -> Report:
        """What the report of its tallies says."""
        skipped = (Skipped(one.name, one.edition, _window(one), NO_COLUMN) for one in self.missing)
        return Report(CONFIDENCE, tuple(one.estimated for one in self.metrics), tuple(skipped))


def rehearse(
    source: Source, *, seed: int, rounds: int = 0, after_round: Callable[[], object] = lambda: None
) -> Rehearsal:
    """Let every device of every crowd report once, and estimate; then measure coverage.

    Args:
        source: what is true.
        seed: of everything random; the same one gives the same result (with the same version of numpy).
        rounds: how many times to draw anew for the coverage; 0 for none.
        after_round: called after each of these rounds of each crowd.

    """
    generators = np.random.default_rng(seed).spawn(len(source.crowds))  # so that rounds change no estimate
    made = tuple(
        _rehearse(crowd, rounds, after_round, generator)
        for crowd, generator in zip(source.crowds, generators, strict=True)
    )
    estimated = corrected_differences(one.estimated for one in made)
    corrected = (replace(one, estimated=found) for one, found in zip(made, estimated, strict=True))
    return Rehearsal(seed, tuple(corrected), source.missing)


def _rehearse(
    crowd: Crowd, rounds: int, after_round: Callable[[], object], generator: np.random.Generator
) -> Rehearsed:
    sampler = sampler_of(crowd.metric.channel)
    at_hand = crowd.draw(generator) if crowd.at_hand is None else crowd.at_hand
    estimated = _report(crowd, at_hand, sampler, generator)
    if crowd.devices == 0:
        return Rehearsed(estimated, (None,) * len(compared(estimated)))
    truths = _truths(crowd, crowd.shares, estimated)
    truths_at_hand = _truths(crowd, at_hand, estimated)
    held_of_population = np.zeros(len(truths), dtype=np.int64)
    held_of_devices = np.zeros(len(truths), dtype=np.int64)
    for _ in range(rounds):
        held_of_population += _held(_report(crowd, crowd.draw(generator), sampler, generator, COMPARED), truths)
        held_of_devices += _held(_report(crowd, at_hand, sampler, generator, COMPARED), truths_at_hand)
        after_round()

    def coverage(first: int, end: int) -> Coverage | None:
        if rounds == 0 or first == end:
            return None
        population, devices = (float(held[first:end].mean()) for held in (held_of_population, held_of_devices))
        return Coverage(rounds, population / rounds, devices / rounds)

    figures = len(estimated.estimates)
    smoothed = 0 if estimated.distribution is None else 1 + len(estimated.distribution.quantiles)
    return Rehearsed(estimated, truths, coverage(0, figures), coverage(figures, figures + smoothed))


def _truths(crowd: Crowd, weights: Floats | Counts, estimated: MetricEstimate) -> tuple[float, ...]:
    found = estimated.distribution
    if found is None:
        return crowd.truths(weights)
    probabilities = [probability for probability, _ in found.quantiles]
    return crowd.truths(weights) + crowd.distribution(weights, found.bins, probabilities)


def _report(
    crowd: Crowd, counts: Counts, sampler: Sampler, generator: np.random.Generator, wanted: Wanted = PLAIN
) -> MetricEstimate:
    metric = crowd.metric
    tally = sampler(crowd.inputs(counts, generator), generator)
    return estimate(
        metric,
        Tally(
            metric.name,
            metric.edition,
            _window(metric),
            closed=True,
            reports=crowd.devices,
            counts=tuple(tally.tolist()),
        ),
        wanted,
    )


def _window(metric: Metric) -> Window:
    return Window.of(metric.window, UNIX_EPOCH_S)


def compared(estimated: MetricEstimate) -> tuple[Estimate | Resampled, ...]:
    """Return what stands beside a truth: the estimates; of a distribution variance, quantiles and bins, too."""
    found = estimated.distribution
    if found is None:
        return estimated.estimates
    return (*estimated.estimates, found.variance, *(one for _, one in found.quantiles), *found.shares)


def holds(one: Estimate | Resampled, truth: float) -> bool:
    """Whether an estimate's interval holds the truth."""
    return one.low <= truth <= one.high


def _held(estimated: MetricEstimate, truths: tuple[float, ...]) -> NDArray[np.bool_]:
    return np.array([holds(one, truth) for one, truth in zip(compared(estimated), truths, strict=True)])
