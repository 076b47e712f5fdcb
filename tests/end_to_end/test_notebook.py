"""The example notebook is committed as a run leaves it.

A new run, offline and in its own folder, shows the same.
"""

from __future__ import annotations

import base64
from itertools import chain
from typing import Any

from tools.notebook import NOTEBOOK, committed, executed

PNG = b"\x89PNG\r\n"


def outputs(notebook: Any) -> list[list[dict[str, Any]]]:
    return [cell.outputs for cell in notebook.cells if cell.cell_type == "code"]


def texts(output: dict[str, Any]) -> dict[str, str]:
    """Return what an output says, without its pictures."""
    return {"text": output["text"]} if "text" in output else {
        form: data for form, data in output["data"].items() if form.startswith("text/")
    }  # fmt: skip


def test_a_new_run_says_what_the_committed_one_says() -> None:
    then, now = outputs(committed()), outputs(executed())
    assert [list(map(texts, of_cell)) for of_cell in now] == [list(map(texts, of_cell)) for of_cell in then]
    pictures = [
        output["data"]["image/png"] for output in chain.from_iterable(now) if "image/png" in output.get("data", {})
    ]
    assert len(pictures) == 2


def test_the_committed_notebook_shows_its_results_and_nothing_of_the_machine() -> None:
    notebook = committed()
    assert all(outputs(notebook))
    assert notebook.metadata["language_info"] == {"name": "python"}
    assert not any(cell.metadata for cell in notebook.cells), "times of a run, for example"
    data = [output.get("data", {}) for output in chain.from_iterable(outputs(notebook))]
    pictures = [base64.b64decode(each["image/png"]) for each in data if "image/png" in each]
    assert all(picture.startswith(PNG) for picture in pictures)
    said = "".join(text for output in chain.from_iterable(outputs(notebook)) for text in texts(output).values())
    assert "<td>physical_limitation</td>" in said
    assert "physical_limitation, 2026-11-20: About" in said
    assert "error" not in {output["output_type"] for output in chain.from_iterable(outputs(notebook))}
    assert NOTEBOOK.stat().st_size < 200_000, "it is read where pages are slow"
