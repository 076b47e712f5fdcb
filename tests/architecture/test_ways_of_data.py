"""The three ways of data in `tools.ways` exist in the code, and imports lead along them."""

from __future__ import annotations

import ast
from itertools import pairwise

from tools.import_graph import ROOT, files, imports_by_name, module_of, syntax
from tools.ways import WAYS

STATIONS = [(way, step) for way, steps in WAYS.items() for step in steps]
LEGS = [(way, *leg) for way, steps in WAYS.items() for leg in pairwise(steps)]


def module(place: str) -> str:
    return module_of(ROOT / place.partition(":")[0])


def defined(name: str) -> set[str]:
    nodes = (ast.FunctionDef, ast.ClassDef)
    return {node.name for node in ast.walk(syntax(files()[name])) if isinstance(node, nodes)}


def test_there_are_three_ways() -> None:
    assert list(WAYS) == ["answer_to_bytes", "upload_to_tally", "tally_to_row"]


def test_a_station_is_defined_where_its_way_says() -> None:
    for way, step in STATIONS:
        name = step.place.partition(":")[2]
        assert module(step.place) in files(), f"{way}: there is no {step.place}; name its new place in tools/ways.py"
        assert name in defined(module(step.place)), f"{way}: {step.place} is not defined; name it in tools/ways.py"


def test_imports_lead_from_a_station_to_the_next() -> None:
    for way, before, after in LEGS:
        hands_on = module(after.by or before.place)
        missing = {module(before.place), module(after.place)} - {hands_on, *imports_by_name(hands_on)}
        assert not missing, f"{way}: {hands_on} hands on from {before.place} to {after.place}, but imports no {missing}"
