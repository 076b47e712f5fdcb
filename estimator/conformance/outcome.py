"""The outcomes of test cases: passed, failed (with the broken rule's number), or not supported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, NamedTuple

SHOWN: Final = 12
"""The maximum number of printed failures for each class of cases."""

MAX_CHARS: Final = 300
"""The maximum number of printed characters of an expected or received value."""


class CaseClass(Enum):
    """A class of test cases, which has a label and a description."""

    LAWS = "laws", "scripted coins to symbols"
    ANSWERS = "answers", "answers and scripted coins to symbols"
    EDITIONS = "editions", "definitions to their canonical texts and digests"
    WINDOWS = "windows", "instants and texts to windows"
    LEDGER = "ledger", "histories of charges, ceilings, clocks and kills"
    CONSENT = "consent", "histories of agreeing and opting out"
    EXCHANGES = "exchanges", "histories of uploads and of a collector's responses"

    def __init__(self, label: str, about: str) -> None:
        """Store the label and the description."""
        self.label = label
        self.about = about


class Breach(NamedTuple):
    """A rule that a program broke.

    Attributes:
        rule: the number of the rule in ``docs/protocol``.
        expected: the behavior that the rule requires.
        got: the program's behavior.

    """

    rule: str
    expected: str
    got: str


class Case(NamedTuple):
    """The outcome of a case. The case passed if ``breach`` and ``lacks`` are both empty.

    Attributes:
        case_class: the class of the case.
        name: the name of the case.
        breach: the broken rule. None if the program broke no rule.
        lacks: a feature that the case needs and the program lacks. Empty if the program lacks no
            feature.
    """

    case_class: CaseClass
    name: str
    breach: Breach | None = None
    lacks: str = ""


def lines(program: str, cases: Iterable[Case]) -> Iterator[str]:
    """Yield the report: the program's name, each class with its failures, and the verdict."""
    cases = tuple(cases)
    yield program
    for case_class in CaseClass:
        own = [case for case in cases if case.case_class is case_class]
        if not own:
            continue
        failed = [case for case in own if case.breach is not None]
        lacking = [case for case in own if case.lacks]
        passed = len(own) - len(failed) - len(lacking)
        yield f"{case_class.label:10} {passed:5} passed {len(failed):5} failed {len(lacking):5} not supported"
        for case in failed[:SHOWN]:
            yield from _failure(case)
        if len(failed) > SHOWN:
            yield f"  and {len(failed) - SHOWN} more"
        if lacking:
            yield f"  not supported: {', '.join(sorted({case.lacks for case in lacking}))}"
    yield _verdict(cases)


def _failure(case: Case) -> Iterator[str]:
    breach = case.breach
    assert breach is not None  # noqa: S101 the caller has selected the failed ones
    yield f"  [{breach.rule}] {case.name}"
    yield f"    expected: {_short(breach.expected)}"
    yield f"    got:      {_short(breach.got)}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"


def _verdict(cases: tuple[Case, ...]) -> str:
    broken = sorted({case.breach.rule for case in cases if case.breach is not None}, key=_order)
    if broken:
        return f"does not conform: broken rules are {', '.join(broken)}"
    if not any(case.breach is None and not case.lacks for case in cases):
        return "no class was supported, so nothing was tested"
    return "conforms in all that it supports"


def _order(rule: str) -> tuple[str, int]:
    letter, _, number = rule.partition("-")
    return letter, int(number)
