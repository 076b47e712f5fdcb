"""The runner reports what a program does not support, does wrong, or does not say at all."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping

import pytest
from click.testing import CliRunner

from estimator.commands.cli import command
from estimator.conformance.outcome import SHOWN, Breach, Case, CaseClass, lines
from estimator.conformance.program import Program, RefusedLineError
from estimator.conformance.run import play
from estimator.errors import ConformanceError

HELLO = {"implementation": "a toy", "supports": ["k-ary-randomized-response"]}


def toy(**answers: object) -> str:
    """Return the command of a program with a fixed answer to each kind of line."""
    table = json.dumps({"hello": HELLO} | answers)
    source = (
        f"import json, sys\nanswers = json.loads({table!r})\nfor text in sys.stdin:\n"
        "    said = answers.get(json.loads(text)['do'], {'unsupported': 'it is a toy'})\n"
        "    if said == 'end': sys.exit()\n"
        "    print(said if isinstance(said, str) else json.dumps(said), flush=True)\n"
    )
    return shlex.join([sys.executable, "-c", source])


def cases_of(case_class: CaseClass, **answers: object) -> list[Case]:
    with Program(toy(**answers)) as program:
        return list(play(program, [case_class]))


@pytest.mark.slow
@pytest.mark.parametrize("case_class", CaseClass, ids=lambda each: each.label)
def test_what_a_program_does_not_support_is_no_failure(case_class: CaseClass) -> None:
    cases = cases_of(case_class)
    assert len(cases) > 5
    assert all(case.lacks and case.breach is None for case in cases)


def test_a_mechanism_that_a_program_does_not_name_is_not_tried() -> None:
    lacking = {case.lacks for case in cases_of(CaseClass.LAWS)}
    assert "laplace" in lacking
    assert "it is a toy" in lacking
    assert "k-ary-randomized-response" not in lacking


@pytest.mark.parametrize(
    ("said", "got"),
    [
        ({"error": "no"}, "an error at 'window': no"),
        ("no JSON", "the answer to 'window' is not JSON: 'no JSON'"),
        ("[]", "the answer to 'window' is not a JSON object: []"),
        ("end", "the program ended at 'window'"),
    ],
)
def test_a_program_that_does_not_answer_fails_the_case(said: object, got: str) -> None:
    with Program(toy(window=said)) as program:
        first = next(play(program, [CaseClass.WINDOWS]))
    assert first.breach == Breach("W-1", 'an answer to "window"', got)


def test_a_program_that_ended_is_started_again() -> None:
    with Program(toy(flush="end", window={"day": "2026-11-18"})) as program:
        with pytest.raises(RefusedLineError):
            program.ask({"do": "flush"})
        assert program.ask({"do": "window"}) == {"day": "2026-11-18"}


@pytest.mark.parametrize("command_line", ["", " ", "'", "/none/at/all", toy(hello="end"), toy(hello={"error": "no"})])
def test_a_program_that_does_not_introduce_itself_is_refused(command_line: str) -> None:
    with pytest.raises(ConformanceError):
        Program(command_line)


def test_a_wrong_answer_is_shown_beside_the_right_one() -> None:
    breaches = [case.breach for case in cases_of(CaseClass.LAWS, perturb={"symbol": 7, "asked": []}) if case.breach]
    assert {breach.rule for breach in breaches} == {"C-2"}
    assert all(breach.expected.startswith('asked [["bernoulli", "') and breach.got == "[]" for breach in breaches)


def report_of(answers: Mapping[str, object], *options: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, ["conformance", *options, toy(**answers)])
    assert result.stderr == ""
    return result.exit_code, result.stdout


def test_the_report_of_a_program_that_supports_nothing_ends_with_status_1() -> None:
    status, text = report_of({})
    assert status == 1
    assert text.startswith("a toy\nlaws ")
    assert text.endswith("\nno class was supported, so nothing was tested\n")


def test_the_report_names_the_broken_rules_and_ends_with_status_1() -> None:
    status, text = report_of({"window": {"invalid": True}}, "--class", "windows")
    assert status == 1
    assert "  [W-1] at " in text
    assert '    expected: day "' in text
    assert "    got:      null" in text
    assert "  and " in text
    assert text.endswith("\ndoes not conform: broken rules are W-1\n")


def test_a_report_is_in_the_order_of_classes_and_rules() -> None:
    broken = [
        Case(CaseClass.CONSENT, "b", Breach("P-10", "x", "y")),
        Case(CaseClass.LAWS, "a", Breach("P-2", "x", "y")),
    ]
    text = list(lines("it", [*broken, Case(CaseClass.LAWS, "c"), *[Case(CaseClass.LAWS, "d", lacks="z")] * SHOWN]))
    assert text[1] == "laws           1 passed     1 failed    12 not supported"
    assert text[-1] == "does not conform: broken rules are P-2, P-10"
    assert text.index("  [P-2] a") < text.index("  [P-10] b")
    assert list(lines("it", [Case(CaseClass.LAWS, "c")]))[-1] == "conforms in all that it supports"
