"""The Python SDK conforms, and every fault that is planted into it is found and named."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from estimator.conformance.outcome import Case, CaseClass
from estimator.conformance.program import Program
from estimator.conformance.run import play
from tests.support.conformance.faults import FAULTS

COMMAND = f"'{sys.executable}' -m tests.support.conformance.python_sdk"
ROOT = Path(__file__).parents[4]


@pytest.fixture(autouse=True)
def in_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def class_of(label: str) -> CaseClass:
    return next(each for each in CaseClass if each.label == label)


@pytest.mark.long
@pytest.mark.parametrize("case_class", CaseClass, ids=lambda each: each.label)
def test_the_python_sdk_conforms(case_class: CaseClass) -> None:
    with Program(COMMAND) as sdk:
        cases = list(play(sdk, [case_class]))
    assert len(cases) > 5
    assert [case for case in cases if case.breach is not None or case.lacks] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_named(name: str) -> None:
    _, label, rule = FAULTS[name]
    with Program(f"{COMMAND} {name}") as sdk:
        failed = (case for case in play(sdk, [class_of(label)]) if case.breach is not None)
        first: Case = next(failed)
    assert first.breach is not None
    assert first.breach.rule == rule
    assert first.breach.expected != first.breach.got


def test_each_class_that_an_sdk_of_one_mechanism_must_pass_has_a_fault() -> None:
    assert {label for _, label, _ in FAULTS.values()} == {"laws", "editions", "ledger", "consent", "exchanges"}
