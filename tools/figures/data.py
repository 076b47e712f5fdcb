"""The data of the plots: exact variances, formulas for other mechanisms, and measurements."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.peers.means_of_theory import hybrid, piecewise
from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.decoders.inversions import decoder_of, inverse_of

ROOT: Final = Path(__file__).parents[2]
RESULTS: Final = ROOT / "benchmarks" / "RESULTS.md"

REPORTS: Final = 10_000
EPSILONS: Final = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0)
SIZES: Final = (2, 32, 1024)
COUNTS: Final = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512, 1024)
FINE: Final = 1001
"""The number of evenly spaced answers among which the worst answer is searched."""

DEVICES: Final = (300, 1_000, 10_000, 100_000, 1_000_000)
COUNTED_PLAINLY: Final = 0.25
"""The variance of one answer without noise, if half of all people say yes and half say no."""

REACHES: Final = (10, 5, 2, 1)
"""The half-widths of intervals in the table, in percentage points."""

BUDGET: Final = 2.0
ANSWERS: Final = (1, 2, 4)
SPENDERS: Final = 1000
"""The number of devices that spend the budget on several answers."""

OF_MEANS: Final = ("optimal-mean", "one-bit", "laplace")

OTHERS_OF_MEANS: Final = {"piecewise": piecewise, "hybrid": hybrid}
"""Other mechanisms for means, each with a function from epsilon to its variance.

The range of answers is -1 to 1 (Wang et al. 2019, section III).
"""

Row = tuple[str, ...]
Supported = Callable[[int, float], tuple[float, float]]
"""A function that describes a mechanism for categories.

The arguments are the number of values and epsilon. The function returns two probabilities: that a
report supports the device's own value, and that a report supports any given other value.
"""


def k_ary(values: int, epsilon: float) -> tuple[float, float]:
    """Return the probabilities under k-ary randomized response (Wang et al. 2017, section 4.1)."""
    total = math.exp(epsilon) + values - 1
    return math.exp(epsilon) / total, 1 / total


def unary(_: int, epsilon: float) -> tuple[float, float]:
    """Return the probabilities under optimized unary encoding (Wang et al. 2017, section 4.3)."""
    return 0.5, 1 / (math.exp(epsilon) + 1)


def subsets(values: int, epsilon: float) -> tuple[float, float]:
    """Return the probabilities under the best subset selection (Ye & Barg 2018, section III)."""
    odds = math.exp(epsilon)

    def chances(size: int) -> tuple[float, float]:
        own = size * odds / (size * odds + values - size)
        return own, (own * (size - 1) + (1 - own) * size) / (values - 1)

    near = values / (odds + 1)
    sizes = {max(1, math.floor(near)), max(1, math.ceil(near))}
    return min(map(chances, sizes), key=lambda pair: share_variance(values, pair))


CLOSED_FORMS: Final[Mapping[str, Supported]] = {
    "subset selection": subsets,
    "unary encoding": unary,
    "k-ary response": k_ary,
}


def share_variance(values: int, chances: tuple[float, float]) -> float:
    """Return the variance that one report adds to a share, if all values are equally common."""
    own, other = chances
    supported = (own + (values - 1) * other) / values
    return supported * (1 - supported) / (own - other) ** 2


def our_share_variance(values: int, epsilon: float) -> float:
    """Return the `share_variance` of the channel that ``auto`` selects."""
    domain = Category(tuple(map(str, range(values))))
    channel = channel_for(domain, RequestedEpsilon.parse(epsilon), "auto")
    squares = inverse_of(channel).squares(channel.inputs)
    assert squares is not None  # noqa: S101 the channel of a category has shares
    return squares.uniform


def shares(values: int, epsilon: float) -> Row:
    """Return a row of standard errors of a share, by mechanism."""
    variances = [our_share_variance(values, epsilon)]
    variances += [share_variance(values, chances(values, epsilon)) for chances in CLOSED_FORMS.values()]
    return str(values), f"{epsilon:g}", *(f"{math.sqrt(each / REPORTS):.4g}" for each in variances)


def means(epsilon: float) -> Row:
    """Return a row of standard errors of a mean, as fractions of the range.

    The errors are caused by noise alone, for the answer with the largest error.
    """
    variances = [_of_mean(name, epsilon) for name in OF_MEANS]
    variances += [of_others(epsilon) / 4 for of_others in OTHERS_OF_MEANS.values()]
    return f"{epsilon:g}", *(f"{math.sqrt(each / REPORTS):.4g}" for each in variances)


def _of_mean(mechanism: str, epsilon: float) -> float:
    text = (
        'schema = 1\n[app]\nname = "a"\nowner = "o"\n[budget]\nper_window = 9\nlifetime = 9\n[metric.m]\n'
        'purpose = "p"\n'
        f'epsilon = {epsilon}\nkind = "number"\nlow = 0\nhigh = 1\nstatistic = "mean"\nmechanism = "{mechanism}"\n'
    )
    channel = Registry.parse(text).metric("m").channel
    if (decoder := decoder_of(channel)) is not None:
        answers = np.linspace(0.0, 1.0, decoder.squares.size)
        return float((decoder.squares - answers**2).max())
    squares = inverse_of(channel).squares(channel.inputs)
    assert squares is not None  # noqa: S101 a channel without a decoder has shares
    answers = np.linspace(0.0, 1.0, FINE)
    return float((squares.own[0] * answers + squares.other[0] * (1 - answers) - answers**2).max())


def measured() -> list[Row]:
    """Return the errors of unbiased shares that the benchmark of other libraries measured."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    tables = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    (head,) = (row for row in tables if row[0] == "channel, post-processing")
    rows = [row for row in tables if row[0].endswith(", raw") and len(row) == len(head)]
    return [
        (row[0].removesuffix(", raw").strip("*"), *cell.split(", "), value)
        for row in rows
        for cell, value in zip(head[1:], row[1:], strict=True)
        if value != "none"
    ]


def tables() -> dict[str, list[Row]]:
    """Return the content of each plot's CSV file, with a header row, by file name."""
    head = ("values", "epsilon", "ours", *CLOSED_FORMS)
    return {
        "shares_by_epsilon.csv": [head, *(shares(size, epsilon) for size in SIZES for epsilon in EPSILONS)],
        "shares_by_values.csv": [head, *(shares(count, 1.0) for count in COUNTS)],
        "means_by_epsilon.csv": [("epsilon", *OF_MEANS, *OTHERS_OF_MEANS), *map(means, EPSILONS)],
        "shares_measured.csv": [("channel", "values", "epsilon", "mean squared error"), *measured()],
    }


def excess() -> str:
    """Return a sentence that compares our errors of shares with the smallest in the table."""
    rows = [row for row in tables()["shares_by_epsilon.csv"][1:] if row[0] != "2"]
    values, epsilon, ours, least = max(rows, key=lambda row: float(row[2]) / float(row[3]))[:4]
    above = float(ours) / float(least) - 1
    return (
        f"In the data of this plot, our error exceeds the smallest possible one by at most {above:.1%}, namely at\n"
        f"{int(values):,} values and epsilon {epsilon}.\n"
    )


def devices_table() -> str:
    """Return a table of half-widths of 95% intervals in points, by metric and number of devices."""
    rows = {
        "yes or no, epsilon 1": our_share_variance(2, 1.0),
        "yes or no, epsilon 2": our_share_variance(2, 2.0),
        "one of 32 values, epsilon 1": our_share_variance(32, 1.0),
        "one of 32 values, epsilon 2": our_share_variance(32, 2.0),
        "yes or no, without noise": COUNTED_PLAINLY,
    }
    lines = [
        ["", *(f"{devices:,}" for devices in DEVICES)],
        ["---", *("---:" for _ in DEVICES)],
        *(
            [metric, *(f"±{196 * math.sqrt(variance / devices):.2g}" for devices in DEVICES)]
            for metric, variance in rows.items()
        ),
    ]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def needed_table() -> str:
    """Return a table of the numbers of devices needed for intervals of certain half-widths."""
    variances = {
        "yes or no, epsilon 0.5": our_share_variance(2, 0.5),
        "yes or no, epsilon 1": our_share_variance(2, 1.0),
        "yes or no, epsilon 2": our_share_variance(2, 2.0),
        "one of 8 values, epsilon 1": our_share_variance(8, 1.0),
        "one of 32 values, epsilon 1": our_share_variance(32, 1.0),
        "yes or no, without noise": COUNTED_PLAINLY,
    }
    lines = [
        ["", *(f"±{points} point{'s' * (points > 1)}" for points in REACHES)],
        ["---", *("---:" for _ in REACHES)],
        *(
            [metric, *(two_digits(variance * (196 / points) ** 2) for points in REACHES)]
            for metric, variance in variances.items()
        ),
    ]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def two_digits(count: float) -> str:
    """Return a count rounded up to two digits: 1,301.2 becomes 1,400."""
    unit = 10 ** (math.floor(math.log10(count)) - 1)
    return f"{math.ceil(count / unit) * unit:,}"


def spent_table() -> str:
    """Return a table of half-widths for a budget that is spent on one answer or on several.

    The same devices give all answers, and half of them say yes. Several answers reduce the error
    from noise, but not the error from the random choice of devices.
    """
    lines = []
    for answers in ANSWERS:
        noise = our_share_variance(2, BUDGET / answers) - COUNTED_PLAINLY
        reach = 196 * math.sqrt((noise / answers + COUNTED_PLAINLY) / SPENDERS)
        lines.append(f"| {answers} | {BUDGET / answers:g} | ±{reach:.2g} points |\n")
    head = "\n| answers of each device | epsilon of each | 95% interval of their average |\n| ---: | ---: | ---: |\n"
    return head + "".join(lines)
