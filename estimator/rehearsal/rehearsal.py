"""A rehearsal: known answers go through the real laws, beside the truth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import asdict

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.window import Window
from estimator.analyses.analysis import Draws
from estimator.analyses.metric import analysis_of, estimate
from estimator.rehearsal.ground_truth import GroundTruth
from estimator.rehearsal.population import Crowd
from estimator.rehearsal.rehearsed import MissedText, NotRehearsed, Rehearsal, Rehearsed, RehearsedTexts
from estimator.rehearsal.truths import Truths, coverages_of, held, truths_of
from estimator.report.group_differences import corrected_differences
from estimator.results.extras import TextFindings
from estimator.results.metric import MetricEstimate
from estimator.results.request import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import CONFIDENCE
from estimator.tallies.tally import Tally

UNIX_EPOCH_S = 0.0
"""A tally must have a window, and a rehearsal has none. The present one would change the output of
a seed.
"""

LONGEST_WINDOW_S = 31 * 86_400


def rehearse(
    truth: GroundTruth,
    *,
    seed: int,
    rounds: int = 0,
    ranges: Sequence[tuple[str, float, float]] = (),
    after_round: Callable[[], object] = lambda: None,
) -> Rehearsal:
    """Let every device of every crowd report once, and estimate; then measure coverage.

    Args:
        truth: the true answers.
        seed: of all randomness. The same seed gives the same result with the same version of numpy.
        rounds: how many times everything is drawn anew to measure coverage.
        ranges: of answers to numbers whose shares are wanted: the metric, the start and the end.
        after_round: called after each round of each crowd.

    """
    generators = np.random.default_rng(seed).spawn(len(truth.crowds))  # so that rounds change no estimate
    metrics = tuple(
        _rehearse(crowd, rounds, tuple(ranges), after_round, generator)
        for crowd, generator in zip(truth.crowds, generators, strict=True)
    )
    corrected = corrected_differences(metrics)
    skipped = (NotRehearsed(metric.name, metric.edition, None, reason) for metric, reason in truth.missing)
    return Rehearsal(
        seed=seed,
        confidence=CONFIDENCE,
        metrics=corrected,
        skipped=tuple(skipped),
        simultaneous=False,
    )


def _rehearse(
    crowd: Crowd,
    rounds: int,
    ranges: tuple[tuple[str, float, float], ...],
    after_round: Callable[[], object],
    generator: np.random.Generator,
) -> Rehearsed:
    sampler = crowd.draws()
    at_hand = crowd.draw(generator) if crowd.at_hand is None else crowd.at_hand
    estimated = _report(crowd, at_hand, 0, sampler, generator, Request(ranges=ranges))
    if crowd.devices == 0:
        return Rehearsed.beside({}, estimated, {})
    truths, truths_at_hand = (truths_of(crowd, weights, estimated) for weights in (crowd.shares, at_hand))
    has_means = analysis_of(crowd.metric).compares_groups
    request = Request(joint=has_means, ranges=ranges)  # a round estimates only what is compared with a truth

    def held_by(counts: Counts, weights: Floats | Counts, truths: Truths, number: int) -> dict[str, float]:
        drawn = _report(crowd, counts, number, sampler, generator, request)
        if drawn.texts is not None:  # other texts are found in every round
            truths = truths_of(crowd, weights, drawn)
        return held(drawn, truths)

    of_population, of_devices = [], []
    for number in range(1, rounds + 1):
        of_population.append(held_by(crowd.draw(generator), crowd.shares, truths, number))
        of_devices.append(held_by(at_hand, at_hand, truths_at_hand, number))
        after_round()
    texts = None if estimated.texts is None else _texts(estimated, estimated.texts, crowd)
    return Rehearsed.beside(truths, estimated, coverages_of(of_population, of_devices), texts)


def _texts(estimated: MetricEstimate, findings: TextFindings, crowd: Crowd) -> RehearsedTexts:
    """Compare the found texts with the shares of all that occur."""
    found = set(map(str, estimated.figures("found_text").labels))
    truth = {str(text): share for text, share in crowd.shares_of(crowd.shares).items()}
    least = min((truth[text] for text in found & truth.keys()), default=1.0)
    others = sorted(
        (MissedText(text, share) for text, share in truth.items() if text not in found), key=lambda each: -each.truth
    )
    return RehearsedTexts(
        **asdict(findings),
        false=tuple(sorted(found - truth.keys())),
        missed=tuple(each for each in others if each.truth >= least),
        commonest=next(iter(others), None),
    )


def _report(  # noqa: PLR0913, PLR0917 what one round is made of
    crowd: Crowd,
    counts: Counts,
    number: int,
    sampler: Draws,
    generator: np.random.Generator,
    request: Request,
) -> MetricEstimate:
    """Return the estimates of a round in which given numbers of devices give each answer."""
    metric, window = crowd.metric, _window(crowd.metric, number)
    return estimate(
        metric,
        Tally(
            metric.name,
            metric.edition,
            window,
            closed=True,
            reports=crowd.devices,
            counts=tuple(sampler(counts, window, generator).tolist()),
        ),
        request,
    )


def _window(metric: Metric, number: int = 0) -> Window:
    """Return the window of a round. Each has its own: rotations of vectors differ by window."""
    return Window.of(metric.window, UNIX_EPOCH_S + number * LONGEST_WINDOW_S)
