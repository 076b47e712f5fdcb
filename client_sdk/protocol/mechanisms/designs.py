"""Selects the design of a mechanism for k values and an epsilon.

A *design* is a tuple of sizes that determine a channel. For ``cyclic-design``, the sizes are the
block size and the number of base blocks. For ``projective-geometry``, the sizes are a prime and a
dimension.

In subset selection, a device reports d of the k values, usually a subset that contains the answer.
With the optimal d, no channel has a smaller variance (Ye & Barg 2018, "Optimal schemes for discrete
distribution estimation under locally differential privacy", theorem III.1). Block designs reach or
nearly reach this variance with fewer symbols (Park, Nam & Lee 2023; Feldman, Nelson, Nguyen &
Talwar 2022). Of the designs with a variance up to 2% above the minimum of all mechanisms, the one
with the fewest symbols is selected. If a mechanism has no such design, its own minimum counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

K_ARY = "k-ary-randomized-response"
CYCLIC = "cyclic-design"
PROJECTIVE = "projective-geometry"

GOOD_ENOUGH = Fraction(102, 100)
"""The largest acceptable ratio of a design's variance to the minimum. A design with fewer symbols
saves time and memory, which justifies a variance that is up to 2% larger."""

MAX_DESIGN_SYMBOLS = 2**16
"""The maximum number of symbols of a cyclic design. A tally then takes at most half a megabyte."""

MAX_LEVEL_SYMBOLS = 2**9
"""The maximum number of symbols of one level of a hierarchical histogram, or of one feature of
`crosses`. More symbols would slow down every estimate."""

MAX_BASE_BLOCKS = 128
"""The maximum number of pseudo-random base blocks. With 128 base blocks, the variance exceeds the
minimum by 1/128 of the minimum. More base blocks would reduce the variance by less than 1%."""

MAX_GEOMETRY_SYMBOLS = 2**24
"""The maximum number of symbols of a projective geometry. A tally of 64-bit counters then takes up
to 128 MB."""

LARGEST_PRIME = 4093
"""The largest prime whose projective plane has at most `MAX_GEOMETRY_SYMBOLS` points."""


class Candidate(NamedTuple):
    """A mechanism and one of its designs.

    Attributes:
        variance: the variance of an estimated share, times the number of reports. All values are
            assumed to be equally common.
        symbols: the number of output symbols.
        name: the mechanism's name.
        design: the block size and the number of base blocks, or the prime and the dimension; empty
            for other mechanisms.
    """

    variance: Fraction
    symbols: int
    name: str
    design: tuple[int, ...] = ()


def design_of(name: str, inputs: int, odds: Fraction) -> tuple[int, ...]:
    """Return the selected design of a mechanism for ``inputs`` values at e**epsilon = ``odds``."""
    design = next((candidate.design for candidate in by_name(inputs, odds) if candidate.name == name), None)
    if design is None:
        raise ValueError(f"{name!r} has no design for {inputs} values at this epsilon; use 'auto'")
    return design


def by_name(inputs: int, odds: Fraction) -> Iterator[Candidate]:
    """Yield the selected design of each mechanism that has a design for ``inputs`` values."""
    candidates = list(_candidates(inputs, odds))
    least = min(candidate.variance for candidate in candidates)
    for name in dict.fromkeys(candidate.name for candidate in candidates):
        named = [candidate for candidate in candidates if candidate.name == name]
        good = [candidate for candidate in named if candidate.variance <= GOOD_ENOUGH * least]
        yield _fewest_symbols(good or named)


def design_of_few_symbols(inputs: int, odds: Fraction) -> tuple[int, int]:
    """Return the block size and the number of base blocks of a cyclic design with few symbols.

    The result is (1, 1) if the variance of k-ary randomized response is within 2% of the minimum.
    ``inputs`` is from 2 to half of `MAX_LEVEL_SYMBOLS`, and ``odds`` is e**epsilon.
    """
    candidates = [*_k_ary_and_cyclic(inputs, odds, MAX_LEVEL_SYMBOLS)]
    block_size, base_blocks = _fewest_symbols(candidates).design or (1, 1)
    return block_size, base_blocks


def _fewest_symbols(candidates: list[Candidate]) -> Candidate:
    least = min(candidate.variance for candidate in candidates)
    good = (candidate for candidate in candidates if candidate.variance <= GOOD_ENOUGH * least)
    return min(good, key=lambda candidate: candidate.symbols)


def _candidates(inputs: int, odds: Fraction) -> Iterator[Candidate]:
    yield from _k_ary_and_cyclic(inputs, odds, MAX_DESIGN_SYMBOLS)
    for prime in _primes_near(min(int(odds) + 1, LARGEST_PRIME)):  # the variance is smallest near 1 + e**epsilon
        points, block, common, dimension = _geometry(prime, inputs)
        if points <= MAX_GEOMETRY_SYMBOLS:
            variance = design_variance(inputs, points, block, common, odds)
            yield Candidate(variance, points, PROJECTIVE, (prime, dimension))


def _k_ary_and_cyclic(inputs: int, odds: Fraction, most_symbols: int) -> Iterator[Candidate]:
    yield Candidate(subset_variance(inputs, 1, odds), inputs, K_ARY)
    pair_symbols = inputs * ((inputs - 1) // 2 if inputs % 2 else inputs - 1)
    if inputs > 2 and pair_symbols <= most_symbols:  # noqa: PLR2004 a block of both values carries no information
        yield Candidate(subset_variance(inputs, 2, odds), pair_symbols, CYCLIC, (2, pair_symbols // inputs))
    block_size = best_subset_size(inputs, odds)
    base_blocks = min(MAX_BASE_BLOCKS, most_symbols // inputs)
    if block_size > 2 and base_blocks:  # noqa: PLR2004 the two candidates above have sizes 1 and 2
        variance = subset_variance(inputs, block_size, odds) * (1 + Fraction(1, base_blocks))
        yield Candidate(variance, base_blocks * inputs, CYCLIC, (block_size, base_blocks))


def subset_variance(inputs: int, size: int, odds: Fraction) -> Fraction:
    """Return the `Candidate.variance` if a device reports ``size`` of ``inputs`` values.

    Size 1 is k-ary randomized response. ``odds`` is e**epsilon.
    """
    return _average_variance(inputs, *_support(inputs, size, odds))


def rare_variance(inputs: int, size: int, odds: Fraction) -> Fraction:
    """Return the `subset_variance` of the estimated share of a value that almost no device has."""
    supported, unsupported = _support(inputs, size, odds)
    return unsupported * (1 - unsupported) / (supported - unsupported) ** 2


def _support(inputs: int, size: int, odds: Fraction) -> tuple[Fraction, Fraction]:
    """Return two probabilities that a report contains a value.

    The first probability is for the answer, the second for any other value.
    """
    total = odds * size + inputs - size
    supported = odds * size / total
    return supported, (odds * size * (size - 1) + (inputs - size) * size) / ((inputs - 1) * total)


def best_subset_size(inputs: int, odds: Fraction) -> int:
    """Return the subset size with the smallest variance, for ``inputs`` values.

    This size is near inputs / (1 + odds) (Ye & Barg 2018).
    """
    near = int(inputs / (odds + 1))
    sizes = range(max(1, near - 1), min(inputs - 1, near + 2) + 1)
    return min(sizes, key=lambda size: subset_variance(inputs, size, odds))


def design_variance(inputs: int, points: int, block: int, common: int, odds: Fraction) -> Fraction:
    """Return the `Candidate.variance` of a balanced design with ``points`` symbols.

    A symbol *supports* its most likely inputs. Each input is supported by ``block`` symbols, and
    each pair of inputs by ``common`` symbols.
    """
    total = odds * block + points - block
    return _average_variance(inputs, odds * block / total, (odds * common + block - common) / total)


def _average_variance(inputs: int, supported: Fraction, unsupported: Fraction) -> Fraction:
    gap = (supported - unsupported) ** 2
    base = unsupported * (1 - unsupported)
    return base / gap + (supported * (1 - supported) - base) / (inputs * gap)


def _geometry(prime: int, inputs: int) -> tuple[int, int, int, int]:
    """Return the sizes of the smallest geometry PG(t-1, prime) with at least ``inputs`` points.

    The four results are the number of points, the number of points on each hyperplane, the number
    of points that every two hyperplanes have in common, and t.
    """
    common, block, points, dimension = 1, prime + 1, prime * prime + prime + 1, 3
    while points < inputs:
        common, block, points, dimension = block, points, points * prime + 1, dimension + 1
    return points, block, common, dimension


def _primes_near(center: int) -> Iterator[int]:
    """Yield the two largest primes up to ``center`` and the two smallest primes above."""
    below = (number for number in range(center, 1, -1) if is_prime(number))
    above = (number for number in range(center + 1, 2 * center + 8) if is_prime(number))
    for side in (below, above):
        for _, prime in zip(range(2), side, strict=False):
            yield prime


def is_prime(number: int) -> bool:
    """Whether a number is prime, by trial division."""
    divisor = 2
    while divisor * divisor <= number:
        if number % divisor == 0:
            return False
        divisor += 1
    return number > 1
