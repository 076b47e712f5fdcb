"""The number of the most frequent texts that the estimator finds: ``python -m benchmarks text``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from statistics import fmean, stdev
from typing import Final, NamedTuple

from benchmarks.results import NONE, table, verdict
from benchmarks.text.corpus import CorpusError
from benchmarks.text.costs import costs
from benchmarks.text.listed import HELD, listed
from benchmarks.text.peers import peers_section
from benchmarks.text.populations import Population, natural_words, random_strings
from benchmarks.text.scores import TOP, Score, measured
from benchmarks.text.surveys import WHOLE, Survey
from benchmarks.text.windows import windows

RUNS: Final = 20
"""The number of random tallies for each `Cell`."""

EPSILONS: Final = (1, 2, 4)

WANTED: Final = {
    ("random", 10**6): (0.14, 0.29, 0.79),
    ("random", 10**7): (0.39, 0.83, 0.97),
    ("words", 10**6): (None, 0.16, 0.91),
}
"""For a population and a number of devices, the target F1 score by epsilon (see `Score`)."""

FALSE_STRINGS: Final = 0.1

HEADING: Final = (
    "population",
    "devices",
    "epsilon",
    "F1",
    "wanted",
    "NCR",
    "proved",
    "false",
    "unclear",
    "true shares held",
)


class Cell(NamedTuple):
    """The scores of each random tally for one population, number of devices and epsilon."""

    population: str
    devices: int
    epsilon: float
    target: float | None
    scores: list[Score]

    @property
    def f1(self) -> float:
        return fmean(score.f1 for score in self.scores)

    @property
    def true(self) -> int:
        return sum(score.proved - score.false for score in self.scores)

    @property
    def held(self) -> int:
        return sum(score.held for score in self.scores)

    @property
    def false(self) -> float:
        return fmean(score.false for score in self.scores)

    @property
    def is_met(self) -> bool:
        return self.target is None or round(self.f1, 2) >= self.target


def measure_text() -> str:
    cells = []
    for cell in _cells():
        cells.append(cell)
        sys.stderr.write(f"  {' '.join(_row(cell))}\n")
    return (
        "## Texts that nobody listed\n\n"
        f"For each row, {RUNS} tallies are drawn from their distribution. One population has 100,000 random strings\n"
        "with frequencies by Zipf(1.1), and is generated anew for each tally. The other has the words of Jane\n"
        "Austen's novels, from Debian's `r-cran-janeaustenr`. F1 and NCR (normalized cumulative rank) are means\n"
        f"for the {TOP} most frequent strings, where an empty place on the list counts as a miss. F1 is shown with\n"
        "its standard error. The last columns are means per list: *proved* is the number of listed strings,\n"
        "*false* the number of listed strings that no device had, and *unclear* the number of strings of the\n"
        f"population that are not listed because groups disagree. Above {WHOLE:,} devices, the number of reports\n"
        "that support a hash cell is drawn from its exact distribution, cell by cell.\n\n"
        + table(HEADING, [_row(cell) for cell in cells])
        + "\n"
        + _verdicts(cells)
        + listed()
        + costs()
        + windows()
        + peers_section()
    )


def _cells() -> Iterator[Cell]:
    populations: dict[str, list[Callable[[], Population]]] = {
        "random": [partial(random_strings, seed=seed) for seed in range(RUNS)],
        "words": [natural_words],
    }
    for (kind, devices), targets in WANTED.items():
        for epsilon, target in zip(EPSILONS, targets, strict=True):
            try:
                yield _cell(populations[kind], devices, epsilon, target)
            except CorpusError as error:
                sys.stderr.write(f"  {kind}: {error}\n")


def _cell(populations: list[Callable[[], Population]], devices: int, epsilon: float, target: float | None) -> Cell:
    scores = [_scores(make(), devices, epsilon, RUNS // len(populations), at) for at, make in enumerate(populations)]
    return Cell(populations[0]().name, devices, epsilon, target, list(chain.from_iterable(scores)))


def _scores(population: Population, devices: int, epsilon: float, runs: int, at: int) -> list[Score]:
    survey = Survey.asked(population, epsilon)
    return [measured(survey, devices, RUNS * at + run) for run in range(runs)]


def _row(cell: Cell) -> list[str]:
    error = stdev(score.f1 for score in cell.scores) / len(cell.scores) ** 0.5
    return [
        cell.population,
        f"{cell.devices:,}",
        f"{cell.epsilon:g}",
        f"{cell.f1:.3f} ± {error:.3f}",
        NONE if cell.target is None else f"≥ {cell.target:g}{'' if cell.is_met else ', **missed**'}",
        f"{fmean(score.ncr for score in cell.scores):.2f}",
        f"{fmean(score.proved for score in cell.scores):.1f}",
        f"{cell.false:.2f}",
        f"{fmean(score.unclear for score in cell.scores):.2f}",
        f"{cell.held:,} of {cell.true:,}",
    ]


def _verdicts(cells: list[Cell]) -> str:
    false, worst = fmean(cell.false for cell in cells), max(cells, key=lambda cell: cell.false)
    held = sum(cell.held for cell in cells) / sum(cell.true for cell in cells)
    return (
        f"False strings per list, as a mean over all rows (at most {worst.false:.2f} in a row): "
        + verdict(false <= FALSE_STRINGS, f"{false:.3f}", f"≤ {FALSE_STRINGS:g}")
        + "\nProportion of the listed true strings whose share lies within its interval, over all rows: "
        + verdict(held >= HELD, f"{held:.3f}", f"≥ {HELD:g}")
    )
