"""The page on the architecture shows the code as it stands."""

from __future__ import annotations

import pytest

from tools import architecture


@pytest.mark.slow
def test_the_trees_of_the_page_are_up_to_date() -> None:
    assert architecture.PAGE.read_text(encoding="utf-8") == architecture.written(), "run make architecture"
