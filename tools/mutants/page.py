"""The section with the mutation score."""

from __future__ import annotations

import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import sqrt
from pathlib import Path
from typing import Final

from tools.trusted_core import ROOT

PAGE: Final = ROOT / "docs" / "privacy" / "how-it-is-tested.md"
SURVIVORS: Final = Path(__file__).with_name("survivors.toml")
BEGIN: Final = "<!-- score: written by make mutants -->\n"
END: Final = "<!-- end of score -->\n"
EQUIVALENT: Final = "Equivalent: "
NO_TEST: Final = "No test: "
"""The beginning of an explanation for an undetected fault that matters."""

SHORT: Final = 4
"""Up to this number of words before the fault are shown, because the words may name a variable."""

Z: Final = 1.959964
"""The standard normal quantile of 97.5%."""


def wilson(killed: int, number: int) -> tuple[float, float]:
    """Return the 95% score interval of a share (Wilson 1927)."""
    share, weight = killed / number, Z**2 / number
    middle, half = share + weight / 2, Z * sqrt(share * (1 - share) / number + weight / (4 * number))
    return max(0.0, (middle - half) / (1 + weight)), min(1.0, (middle + half) / (1 + weight))


def package(file: str) -> str:
    """Return the name of the table row that counts a file's mutants."""
    parts = Path(file).parts
    return "/".join(parts[:2] if parts[1] in {"protocol", "ledger", "store"} or "." not in parts[1] else parts[:1])


def explained() -> Mapping[str, str]:
    """Return the explanations of mutants that no test detects, by ``Mutant.key``."""
    texts: dict[str, str] = tomllib.loads(SURVIVORS.read_text("utf-8"))["explained"]
    return texts


def also_run() -> Mapping[str, list[str]]:
    """Return tests to run first for certain mutants, by ``Mutant.key``.

    These tests are missing from the record of the tests that run each line.
    """
    tests: dict[str, list[str]] = tomllib.loads(SURVIVORS.read_text("utf-8"))["also_run"]
    return tests


def score(seed: int, seconds: float, commit: str, results: Sequence[Mapping[str, str]]) -> str:
    """Return a table of detected mutants by package, and a table of the undetected mutants."""
    rows = defaultdict[str, list[bool]](list)
    for result in results:
        is_killed = result["outcome"] == "killed"
        rows[package(result["file"])].append(is_killed)
        rows["all"].append(is_killed)
    text = f"Seed {seed}, commit `{commit}`, at most {seconds:.0f} s for a mutant.\n\n"
    text += "| code | mutants | killed | score | 95% interval |\n| --- | ---: | ---: | ---: | --- |\n"
    for name, killed in sorted(rows.items(), key=lambda row: (row[0] == "all", row)):
        low, high = wilson(sum(killed), len(killed))
        share = sum(killed) / len(killed)
        text += f"| {name} | {len(killed)} | {sum(killed)} | {share:.1%} | {low:.1%} to {high:.1%} |\n"
    reasons = explained()
    left = [result for result in results if result["outcome"] != "killed"]
    differ = [result for result in left if not reasons.get(result["key"], "").startswith(EQUIVALENT)]
    equivalent = len(left) - len(differ)
    low, high = wilson(len(results) - len(left), len(results) - equivalent)
    share = (len(results) - len(left)) / (len(results) - equivalent)
    text += f"\n{equivalent} survivors are equivalent to the unchanged code:\n"
    text += "[their list](../../tools/mutants/survivors.toml) says why. Of all other mutants,\n"
    text += f"{share:.1%} are killed (95% interval {low:.1%} to {high:.1%}). These survive:\n"
    text += "\n| survivor | why no test refuses it |\n| --- | --- |\n"
    for result in differ:
        right, wrong = map(_cell, difference(result["right"], result["wrong"]))
        reason = reasons.get(result["key"], "not explained").removeprefix(NO_TEST).rstrip(".")
        text += f"| {result['file']}: `{right}` became `{wrong}` | {reason} |\n"
    return text


def difference(right: str, wrong: str) -> tuple[str, str]:
    """Return the differing words of a line and its mutant, with one word more on either side.

    If only a few words precede the differing words, also return these preceding words.

    Example:
        >>> difference("if a < b and c:", "if a < b or c:")
        ('if a < b and c:', 'if a < b or c:')
        >>> difference("x = f(a, b, c, d + 1, e)", "x = f(a, b, c, d - 1, e)")
        ('… d + 1, …', '… d - 1, …')

    """
    one, other = right.split(), wrong.split()
    before = _alike(one, other)
    after = _alike(one[before:][::-1], other[before:][::-1])
    first, last = before - 1 if before > SHORT else 0, max(after - 1, 0)

    def part(words: Sequence[str]) -> str:
        shown = " ".join(words[first : len(words) - last])
        return f"{'… ' if first else ''}{shown}{' …' if last else ''}"

    return part(one), part(other)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _cell(code: str) -> str:
    return code.replace("|", "\\|")


def page(seed: int, seconds: float, commit: str, results: Sequence[Mapping[str, str]]) -> str:
    """Return the page, with the tables computed from these results."""
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{score(seed, seconds, commit, results)}\n{END}{rest.partition(END)[2]}"
