"""The page on who may do what: its samples are what the collector reads."""

from __future__ import annotations

import re
from pathlib import Path

from collector.access import Access, Role

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "access.md").read_text(encoding="utf-8")


def test_the_sample_of_an_access_file_is_one_and_shows_every_role() -> None:
    (sample,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    access = Access.parse(sample)
    assert {key.role for key in access.keys} == set(Role)
    assert any(key.quota for key in access.keys)
    assert any(key.metrics and key.preliminary for key in access.keys)
