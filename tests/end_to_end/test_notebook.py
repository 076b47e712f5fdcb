"""The example notebook is committed as a run leaves it.

A new run, offline and in its own folder, shows the same.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from tools.notebook import NOTEBOOK, committed, executed


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def texts(output: dict[str, Any]) -> dict[str, str]:
    """Return what an output says."""
    return {"text": output["text"]} if "text" in output else output["data"]


@pytest.mark.long
def test_a_new_run_says_what_the_committed_one_says() -> None:
    then, now = outputs(committed()), outputs(executed())
    assert [list(map(texts, of_cell)) for of_cell in now] == [list(map(texts, of_cell)) for of_cell in then]


def test_the_committed_notebook_shows_its_results_and_nothing_of_the_machine() -> None:
    notebook = committed()
    assert all(outputs(notebook))
    assert notebook.metadata["language_info"] == {"name": "python"}
    assert not any(cell.metadata for cell in notebook.cells), "times of a run, for example"
    said = "".join(text for output in chain.from_iterable(outputs(notebook)) for text in texts(output).values())
    assert "<td>physical_limitation</td>" in said
    assert "physical_limitation, 2026-11-20: About" in said
    assert "error" not in {output["output_type"] for output in chain.from_iterable(outputs(notebook))}
    assert NOTEBOOK.stat().st_size < 200_000, "it is read where pages are slow"
