"""The three ways of data on the page of the architecture exist, and imports lead along them."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from typing import NamedTuple

import pytest

from tools.architecture import PAGE
from tools.import_graph import ROOT, files, imports_by_name, module_of, syntax


class Step(NamedTuple):
    place: str
    by: str


ROW = re.compile(r"\| `([\w/.]+:\w+)` \|[^|]+\| +(?:`([\w/.]+)` )?\|")
_, *SECTIONS = re.split(r"^### (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
WAYS = {
    heading: [Step(*row) for row in ROW.findall(section)]
    for heading, section in zip(SECTIONS[::2], SECTIONS[1::2], strict=True)
}
STEPS = [step for steps in WAYS.values() for step in steps]
LEGS = [leg for steps in WAYS.values() for leg in pairwise(steps)]


def module(place: str) -> str:
    return module_of(ROOT / place.partition(":")[0])


def test_there_are_three_ways() -> None:
    assert len(WAYS) == 3
    assert all(len(steps) >= 10 for steps in WAYS.values())


def test_a_place_is_defined_where_the_page_says() -> None:
    nodes = (ast.FunctionDef, ast.ClassDef)
    for step in STEPS:
        assert module(step.place) in files(), step.place
        defined = {node.name for node in ast.walk(syntax(files()[module(step.place)])) if isinstance(node, nodes)}
        assert step.place.partition(":")[2] in defined, step.place


@pytest.mark.slow
def test_imports_lead_from_a_place_to_the_next() -> None:
    for before, after in LEGS:
        hands_on = module(after.by or before.place)
        missing = {module(before.place), module(after.place)} - {hands_on, *imports_by_name(hands_on)}
        assert not missing, f"{hands_on} hands on from {before.place} to {after.place}, but imports no {missing}"
