"""The minimal client of the examples follows the protocol, in at most 300 lines."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from estimator.conformance.outcome import Case, CaseClass
from estimator.conformance.program import Program
from estimator.conformance.run import play

CLIENT = Path(__file__).parents[2] / "examples" / "minimal-client" / "client.mjs"
NODE = Path(sys.executable).with_name("node")
MOST_LINES = 300
OPTIONAL = {"fill_in", "purposes"}
"""What a minimal client may leave out of the ledger, consent and exchanges."""


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    with Program(shlex.join([str(NODE), str(CLIENT)])) as client:
        return list(play(client, list(CaseClass)))


@pytest.mark.slow
def test_the_minimal_client_breaks_no_rule(cases: list[Case]) -> None:
    assert [case for case in cases if case.breach is not None] == []


@pytest.mark.slow
@pytest.mark.parametrize("case_class", CaseClass, ids=lambda each: each.label)
def test_the_minimal_client_supports_cases_of_each_class(cases: list[Case], case_class: CaseClass) -> None:
    assert any(case.case_class is case_class and not case.lacks for case in cases)


@pytest.mark.slow
def test_a_minimal_client_lacks_nothing_of_windows_and_only_options_of_the_device(cases: list[Case]) -> None:
    of_the_device = {CaseClass.WINDOWS, CaseClass.LEDGER, CaseClass.CONSENT, CaseClass.EXCHANGES}
    assert {case.lacks for case in cases if case.case_class in of_the_device and case.lacks} == OPTIONAL


def test_the_minimal_client_has_300_lines_at_most() -> None:
    assert len(CLIENT.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
