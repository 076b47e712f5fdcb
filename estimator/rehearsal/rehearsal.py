"""A rehearsal: known answers go through the real laws, beside the truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from estimator.estimates.metric import estimate
from estimator.rehearsal.ground_truth import GroundTruth
from estimator.rehearsal.population import Crowd
from estimator.rehearsal.tally_sampler import Sampler, sampler_of
from estimator.report.group_differences import corrected_differences
from estimator.results.distribution import Figure
from estimator.results.estimate import Estimate
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport, Skipped
from estimator.results.request import PLAIN, Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies.tally import Tally

UNIX_EPOCH_S = 0.0
"""A tally must have a window, and a rehearsal has none. The present one would change the output of
a seed."""

COMPARED = Request(joint=False)
"""A round estimates only what is compared with a truth."""

NO_COLUMN = "no column has its name"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals held the truth, averaged over the values of a metric.

    Attributes:
        rounds: how many times everything was drawn anew.
        population: the fraction that holds the population's truth, with new devices in each round.
            This is what an interval promises.
        noise_alone: the fraction that holds the devices' own truth, with the same devices in each
            round. It is larger, because an interval also allows for the chance of who reported.

    """

    rounds: int
    population: float
    noise_alone: float


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One metric of a rehearsal.

    Attributes:
        estimated: its estimates.
        truths: the population's truth for each estimate that is ``compared``. None without any
            device.
        coverage: of shares and the mean. None if it was not measured.
        distribution_coverage: of the variance and the quantiles of a distribution, or None.

    """

    estimated: MetricEstimate
    truths: tuple[float | None, ...]
    coverage: Coverage | None = None
    distribution_coverage: Coverage | None = None


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The outcome of a rehearsal.

    Attributes:
        seed: of all randomness.
        metrics: in the registry's order.
        missing: metrics without a column.

    """

    seed: int
    metrics: tuple[Rehearsed, ...]
    missing: tuple[Metric, ...] = ()

    @property
    def report(self) -> EstimateReport:
        """The report of its tallies."""
        skipped = (Skipped(metric.name, metric.edition, _window(metric).text, NO_COLUMN) for metric in self.missing)
        metrics = tuple(rehearsed.estimated for rehearsed in self.metrics)
        return EstimateReport(CONFIDENCE, metrics, tuple(skipped), simultaneous=False)


def rehearse(
    truth: GroundTruth, *, seed: int, rounds: int = 0, after_round: Callable[[], object] = lambda: None
) -> Rehearsal:
    """Let every device of every crowd report once, and estimate; then measure coverage.

    Args:
        truth: the true answers.
        seed: of all randomness. The same seed gives the same result with the same version of numpy.
        rounds: how many times everything is drawn anew to measure coverage.
        after_round: called after each round of each crowd.

    """
    generators = np.random.default_rng(seed).spawn(len(truth.crowds))  # so that rounds change no estimate
    metrics = tuple(
        _rehearse(crowd, rounds, after_round, generator)
        for crowd, generator in zip(truth.crowds, generators, strict=True)
    )
    corrected = corrected_differences(rehearsed.estimated for rehearsed in metrics)
    return Rehearsal(
        seed=seed,
        metrics=tuple(
            replace(rehearsed, estimated=estimated) for rehearsed, estimated in zip(metrics, corrected, strict=True)
        ),
        missing=truth.missing,
    )


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

    figures = len(estimated.shares_and_mean)
    smoothed = 0 if estimated.distribution is None else 1 + len(estimated.distribution.quantiles)
    return Rehearsed(estimated, truths, coverage(0, figures), coverage(figures, figures + smoothed))


def _truths(crowd: Crowd, weights: Floats | Counts, estimated: MetricEstimate) -> tuple[float, ...]:
    distribution = estimated.distribution
    if distribution is None:
        return crowd.truths(weights)
    probabilities = [quantile.quantile for quantile in distribution.quantiles]
    bins = [(share.start, share.end) for share in distribution.bins]
    return crowd.truths(weights) + crowd.distribution(weights, bins, probabilities)


def _report(
    crowd: Crowd, counts: Counts, sampler: Sampler, generator: np.random.Generator, request: Request = PLAIN
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
        request,
    )


def _window(metric: Metric) -> Window:
    return Window.of(metric.window, UNIX_EPOCH_S)


def compared(estimated: MetricEstimate) -> tuple[Estimate | Figure, ...]:
    """Return the estimates that have a truth: shares, mean, variance, quantiles and bins."""
    distribution = estimated.distribution
    if distribution is None:
        return estimated.shares_and_mean
    return (*estimated.shares_and_mean, distribution.variance, *distribution.quantiles, *distribution.bins)


def holds(estimate: Estimate | Figure, truth: float) -> bool:
    """Return whether the interval of an estimate holds the truth."""
    return estimate.low <= truth <= estimate.high


def _held(estimated: MetricEstimate, truths: tuple[float, ...]) -> NDArray[np.bool_]:
    return np.array([holds(estimate, truth) for estimate, truth in zip(compared(estimated), truths, strict=True)])
