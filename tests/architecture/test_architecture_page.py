"""The page on the architecture shows the code as it stands."""

from __future__ import annotations

import re

import pytest

from tools import architecture
from tools.drawing import drawing
from tools.import_graph import ROOT

PAGE = architecture.PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_and_its_drawings_are_up_to_date() -> None:
    out_of_date = [str(path.relative_to(ROOT)) for path in architecture.stale()]
    assert not out_of_date, "run make architecture"


def test_the_page_shows_every_drawing_and_no_other_is_there() -> None:
    shown = set(re.findall(r"\]\(architecture/(\S+\.svg)\)", PAGE))
    assert shown == {path.name for path in architecture.written() if path.suffix == ".svg"}
    assert shown == {path.name for path in architecture.DRAWINGS.iterdir()}


def test_the_page_is_short() -> None:
    assert len(PAGE.splitlines()) <= 160


def test_arrows_that_follow_from_others_are_left_out_also_beside_a_circle() -> None:
    assert architecture.reduced({("a", "b"), ("b", "c"), ("a", "c")}) == {("a", "b"), ("b", "c")}
    circle = {("a", "b"), ("b", "c"), ("c", "b")}
    assert architecture.reduced(circle) == circle


def test_an_arrow_that_leads_upwards_is_drawn_in_red() -> None:
    rows = [{"roof": ""}, {"ground": ""}]
    assert 'path class="against"' in drawing(rows, {("roof", "ground"), ("ground", "roof")}, "")
    assert 'path class="against"' not in drawing(rows, {("roof", "ground")}, "")
