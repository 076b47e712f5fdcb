"""Test cases for single functions of an SDK: mechanisms, answers, editions and windows.

A *vector* is an entry in a file of test vectors, with arguments and the expected result. A case
sends the arguments to the program as one line, and compares the program's answer with the expected
result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from estimator.conformance.outcome import Breach, Case, CaseClass
from estimator.conformance.program import NotSupportedError, Program, RefusedLineError

Line = dict[str, Any]


def laws(program: Program, coins: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for each mechanism, input and outcome of coins that the vectors contain."""
    for vector in coins["channels"]:
        mechanism = vector["mechanism"]
        common = {"do": "perturb", **{key: vector[key] for key in ("mechanism", "integers", "odds") if key in vector}}
        for each in vector["cases"]:
            line = common | {"input": each["input"], "coins": each["coins"]}
            name = f"{mechanism}, input {each['input']}, coins {json.dumps(each['coins'])}"
            yield _tossed(program, CaseClass.LAWS, name, (mechanism,), line, each, "M-1")


def answers(
    program: Program, coins: Mapping[str, Any], invalid: Mapping[str, Any], compiled: Mapping[str, Any]
) -> Iterator[Case]:
    """Yield a case for each answer in the vectors."""
    listed: tuple[tuple[dict[str, Any], str, Callable[[Any], object]], ...] = (
        *((vector, "K-1", _as_it_is) for vector in coins["kinds"]),
        *((vector, "K-1", json.loads) for vector in coins["answers"]),  # these strings are decimal numbers
        *((vector, "K-2", _as_it_is) for vector in invalid["answers"]),
    )
    for vector, rule, read in listed:
        metric = _metric(vector, compiled)
        needs = needed_by(metric)
        common = {"do": "answer", "definition": vector["definition"], "metric": vector["metric"], "compiled": metric}
        for each in vector["cases"]:
            line = common | {"answer": read(each["answer"]), "coins": each["coins"]}
            name = f"{' '.join(needs) or 'a kind that is not compiled'}, answer {json.dumps(each['answer'])}"
            yield _tossed(program, CaseClass.ANSWERS, name, needs, line, each, rule)


def editions(program: Program, vectors: list[dict[str, Any]], compiled: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for each metric's definition in the vectors.

    The case checks the canonical text and the edition of the definition.
    """
    for vector in vectors:
        metric = _metric(vector, compiled)
        line = {
            "do": "edition",
            "definition": vector["definition"],
            "metric": vector["metric"],
            "compiled": metric,
            "trial": bool(vector.get("trial")),
        }
        expected = {"E-2": ("meaning", vector["meaning"]), "E-1": ("edition", vector["edition"])}
        yield _compared(program, CaseClass.EDITIONS, vector["name"], line, expected)


def windows(program: Program, vectors: Mapping[str, Any]) -> Iterator[Case]:
    """Yield a case for each instant, each window name, and each invalid name in the vectors."""
    for vector in vectors["of"]:
        texts = {kind: vector[kind] for kind in ("day", "week", "month")}
        line = {"do": "window", "at": vector["instant_s"]}
        yield _compared(program, CaseClass.WINDOWS, f"at {vector['instant_s']}", line, _each("W-1", texts))
    for vector in vectors["parse"]:
        expected = {key: vector[key] for key in ("kind", "starts_at", "ends_at")}
        line = {"do": "window", "text": vector["text"]}
        yield _compared(program, CaseClass.WINDOWS, repr(vector["text"]), line, _each("W-1", expected))
    for text in vectors["invalid"]:
        line = {"do": "window", "text": text}
        yield _compared(program, CaseClass.WINDOWS, repr(text), line, _each("W-1", {"invalid": True}))


def needed_by(metric: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the kinds and the mechanism of a compiled metric. Return () if compilation failed."""
    if metric is None:
        return ()
    parts = (part["kind"] for part in metric["domain"].get("cross", ()))
    return (metric["kind"], *parts, metric["mechanism"])


def _as_it_is(answer: object) -> object:
    return answer


def _metric(vector: Mapping[str, Any], compiled: Mapping[str, Any]) -> dict[str, Any] | None:
    metric = compiled[vector["definition"]]
    return metric if isinstance(metric, dict) else None


def _each(rule: str, members: Mapping[str, object]) -> dict[str, tuple[str, object]]:
    return {f"{rule} {name}": (name, value) for name, value in members.items()}


def _tossed(  # noqa: PLR0913, PLR0917 all parts of a case
    program: Program,
    case_class: CaseClass,
    name: str,
    needs: tuple[str, ...],
    line: Line,
    case: Mapping[str, Any],
    rule: str,
) -> Case:
    lacks = [each for each in needs if each not in program.supports]
    if lacks:
        return Case(case_class, name, lacks=lacks[0])
    expected = {"C-2": ("asked", case["asked"]), rule: ("symbol", case["symbol"])}
    if "became" in case:
        expected["K-2 became"] = ("invalid", case["became"] == "invalid")
    return _compared(program, case_class, name, line, expected)


def _compared(
    program: Program, case_class: CaseClass, name: str, line: Line, expected: Mapping[str, tuple[str, object]]
) -> Case:
    """Send a line to the program, and return a case that checks the program's answer.

    ``expected`` contains, for each rule, the name of a member of the answer and the member's
    expected value. The case fails at the first rule for which the answer has a different value.
    """
    first = next(iter(expected)).partition(" ")[0]
    try:
        answer = program.ask(line)
    except NotSupportedError as error:
        return Case(case_class, name, lacks=str(error))
    except RefusedLineError as error:
        return Case(case_class, name, Breach(first, f"an answer to {json.dumps(line['do'])}", str(error)))
    for rule, (member, value) in expected.items():
        if answer.get(member) != value:
            breach = Breach(rule.partition(" ")[0], f"{member} {json.dumps(value)}", json.dumps(answer.get(member)))
            return Case(case_class, name, breach)
    return Case(case_class, name)
