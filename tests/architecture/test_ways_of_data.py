"""The three ways of data in `tools.ways` exist in the code, and imports lead along them."""

from __future__ import annotations

import ast
from itertools import pairwise

import pytest

from tools.import_graph import ROOT, files, imports_by_name, module_of, syntax
from tools.ways import WAYS, Step

STATIONS = [(way, step) for way, steps in WAYS.items() for step in steps]
LEGS = [(way, *leg) for way, steps in WAYS.items() for leg in pairwise(steps)]


def module(place: str) -> str:
    return module_of(ROOT / place.partition(":")[0])


def defined(name: str) -> set[str]:
    nodes = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(syntax(files()[name])) if isinstance(node, nodes)}


def test_there_are_three_ways() -> None:
    assert list(WAYS) == ["answer_to_bytes", "upload_to_tally", "tally_to_row"]


@pytest.mark.parametrize(("way", "step"), STATIONS, ids=[step.place for _, step in STATIONS])
def test_a_station_is_defined_where_its_way_says(way: str, step: Step) -> None:
    name = step.place.partition(":")[2]
    assert module(step.place) in files(), f"{way}: there is no {step.place}; name its new place in tools/ways.py"
    assert name in defined(module(step.place)), f"{way}: {step.place} is not defined; name it anew in tools/ways.py"


@pytest.mark.parametrize(("way", "before", "after"), LEGS, ids=[f"{a.place}-{b.place}" for _, a, b in LEGS])
def test_imports_lead_from_a_station_to_the_next(way: str, before: Step, after: Step) -> None:
    hands_on = module(after.by or before.place)
    reached = {hands_on, *imports_by_name(hands_on)}
    missing = {module(before.place), module(after.place)} - reached
    assert not missing, f"{way}: {hands_on} hands on from {before.place} to {after.place}, but imports no {missing}"
