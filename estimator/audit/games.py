"""What is told apart, at which horizon, and what is claimed of it. A horizon is one function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, cycle, islice

from client_sdk.protocol import Metric, Number, Registry
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from estimator.audit.answers import Answer, beside, extremes
from estimator.audit.attack import LEAST_OBSERVATIONS, Claim
from estimator.audit.black_box import Life
from estimator.privacy.horizon import Counted

MONTH = 30
"""Windows of the longest horizon."""

LEAST_REPORTS = LEAST_OBSERVATIONS * MONTH
"""Of each answer, so that there are months enough to learn, choose and prove."""

REPORTS_A_WINDOW = 6
"""Of one answer for one window of all metrics: such a window needs a device of its own, and costs so much more."""


APART = f"{MONTH} windows, not kept together"
"""The horizon of histories that permanent answers do not keep together; each report that differs counts."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Two lives to tell apart.

    Attributes:
        metric: which metric's answers differ; none if those of all do.
        horizon: how much of a life is observed, and how much of it differs, in words.
        names: of the two answers.
        lives: of the two devices.
        claim: what the device promises.
        by_window: whether each window is an observation of its own, or only the whole life.

    """

    metric: str | None
    horizon: str
    names: tuple[str, str]
    lives: tuple[Life, Life]
    claim: Claim
    by_window: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """Contests that share lives.

    Attributes:
        contests: of these lives.
        devices: how many devices live each of the lives.

    """

    contests: tuple[Contest, ...]
    devices: int

    @property
    def lives(self) -> list[Life]:
        """Every life once."""
        return list(dict.fromkeys(life for contest in self.contests for life in contest.lives))

    @property
    def windows(self) -> int:
        """How many windows are played in all."""
        return self.devices * sum(len(life.answers) for life in self.lives)

    @property
    def effort(self) -> int:
        """How long that takes, in windows: a device's first one costs as much as `REPORTS_A_WINDOW`."""
        return self.windows + (REPORTS_A_WINDOW - 1) * self.devices * len(self.lives)


def scenes(registry: Registry, reports: int) -> list[Scene]:
    """Return everything to be played, so that each answer of a metric alone is reported at least so many times."""
    made = [scene for metric in registry.metrics.values() for scene in _of_metric(metric, reports)]
    if len(registry.metrics) > 1:
        contests = tuple(windows(registry))
        made.append(Scene(contests, max(LEAST_OBSERVATIONS, reports // REPORTS_A_WINDOW)))
    return made


def _of_metric(metric: Metric, reports: int) -> Iterator[Scene]:
    """Yield months whose windows are single reports, too, unless their answers are permanent: then none is like new."""
    answers, devices = extremes(metric), -(-reports // MONTH)
    lives = [_life(metric, [answer] * MONTH) for answer in answers]
    if metric.permanent_nanos:
        single = [_life(metric, [answer]) for answer in answers]
        yield Scene(tuple(one_report(metric, answers, single)), reports // REPORTS_A_WINDOW)
        yield Scene((*months(metric, answers, lives), *patterns(metric, answers, lives)), devices)
    else:
        yield Scene((*one_report(metric, answers, lives), *months(metric, answers, lives)), devices)


def one_report(metric: Metric, answers: Sequence[Answer], lives: Sequence[Life]) -> Iterator[Contest]:
    """Yield every pair of answers, told apart by one report: each window of a life is one."""
    claim = claim_of([metric])
    for (answer, life), (other, other_life) in combinations(zip(answers, lives, strict=True), 2):
        yield Contest(metric.name, "one report", (answer.name, other.name), (life, other_life), claim, by_window=True)


def months(metric: Metric, answers: Sequence[Answer], lives: Sequence[Life]) -> Iterator[Contest]:
    """Yield a month of windows that all differ, and one of which only the first does."""
    first, second, *_ = answers
    names = (first.name, second.name)
    claim = claim_of([metric] * MONTH)
    if metric.permanent_nanos:
        claim = permanent_claim_of(metric, 1)
    yield Contest(metric.name, f"{MONTH} windows, all differ", names, (lives[0], lives[1]), claim)
    differing = _life(metric, [second, *[first] * (MONTH - 1)])
    yield Contest(metric.name, f"{MONTH} windows, one differs", names, (lives[0], differing), claim_of([metric]))


def patterns(metric: Metric, answers: Sequence[Answer], lives: Sequence[Life]) -> Iterator[Contest]:
    """Yield months of permanent answers: what their epsilon keeps together, and what nothing does but report by report.

    Kept together are histories of one pattern and, of numbers, those that never change. Not kept together are numbers
    of one pattern, which rounding breaks, and other histories that change at the same times, of three values or more.
    """
    first, second, *between = answers
    if isinstance(metric.domain, Number) and not metric.domain.labels:
        names, pair = (first.name, between[0].name), (lives[0], lives[2])
        yield Contest(metric.name, f"{MONTH} windows, all between", names, pair, permanent_claim_of(metric, 1))
        near = (between[0], beside(metric.domain, between[0]))
        yield _in_turns(metric, APART, (near, (first, second)), _claim_of_any(metric, MONTH))
        return
    one_pattern = ((first, second), (second, first))
    yield _in_turns(metric, f"{MONTH} windows, one pattern", one_pattern, permanent_claim_of(metric, 2))
    if between:
        same_times = ((first, between[0]) * 2, (first, between[0], second, between[0]))
        yield _in_turns(metric, APART, same_times, _claim_of_any(metric, len(range(2, MONTH, 4))))


def _in_turns(metric: Metric, horizon: str, turns: tuple[Sequence[Answer], Sequence[Answer]], claim: Claim) -> Contest:
    """Return a contest of two months in which a few answers take turns."""
    lives = tuple(_life(metric, list(islice(cycle(answers), MONTH))) for answers in turns)
    names = tuple(", ".join(answer.name for answer in answers) for answers in turns)
    return Contest(metric.name, horizon, (names[0], names[1]), (lives[0], lives[1]), claim)


def windows(registry: Registry) -> Iterator[Contest]:
    """Yield a window of all metrics, all of whose answers differ, and for each metric one where only its own does."""
    metrics = tuple(registry.metrics.values())
    ends = {metric.name: extremes(metric)[:2] for metric in metrics}
    first, second = ({name: pair[side].value for name, pair in ends.items()} for side in (0, 1))
    base, opposite = (Life((answers,), registry.budget.window) for answers in (first, second))
    yield Contest(None, "a window, all differ", ("first", "second"), (base, opposite), claim_of(metrics))
    for metric in metrics:
        one, other = ends[metric.name]
        life = Life((first | {metric.name: other.value},), registry.budget.window)
        yield Contest(metric.name, "a window, one differs", (one.name, other.name), (base, life), claim_of([metric]))


def claim_of(charged: Sequence[Metric]) -> Claim:
    """Return what is claimed of differing reports: the sums of what they are charged (Dwork & Roth 2014, 3.16)."""
    delta = sum((metric.delta for metric in charged), Fraction(0))
    return Claim(as_float(sum(metric.epsilon_nanos for metric in charged)), float_ceiling(delta))


def permanent_claim_of(metric: Metric, different: int) -> Claim:
    """Return what is claimed of two months of one pattern that have so many different answers."""
    speaking = min(different, metric.max_values or different)
    return Claim(as_float(min(MONTH * metric.epsilon_nanos, speaking * metric.permanent_nanos)))


def _claim_of_any(metric: Metric, differing: int) -> Claim:
    """Return what is claimed of any two histories of which so many answers differ."""
    return Claim(as_float(int(Counted(metric, differing).any_nanos)))


def _life(metric: Metric, answers: Sequence[Answer]) -> Life:
    return Life(tuple({metric.name: answer.value} for answer in answers), metric.window)
