"""The example notebook runs from its own folder, offline, and shows the results of the tallies."""

from __future__ import annotations

import warnings
from pathlib import Path

import nbformat

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warnings that its dependencies raise on import
    from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "examples" / "health" / "report.ipynb"


def test_the_notebook_is_kept_without_what_a_run_adds() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call] # of its library
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


def test_the_notebook_runs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call] # of its library
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    text = "".join(output.get("text", "") or output["data"]["text/plain"] for output in shown)
    assert "(20, 0.95)" in text
    assert text.count("2026-11-16") == 1 + 1 + 2, "one window each of the objects, the shares and the two means"
    assert "doctor_visits          mean" in text
