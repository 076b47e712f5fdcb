"""Executes the example notebook, and writes it back with its outputs."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import nbformat
from nbformat import NotebookNode

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # warnings that imports of its dependencies cause
    from nbclient import NotebookClient

NOTEBOOK: Final = Path(__file__).parents[1] / "examples" / "health" / "report.ipynb"

LIMIT_S: Final = 600


def committed() -> NotebookNode:
    """Return the notebook from the repository."""
    notebook: NotebookNode = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call] # of its library
    return notebook


def executed() -> NotebookNode:
    """Return the notebook after a new run in its own folder, without any trace of this machine."""
    notebook = committed()
    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, timeout=LIMIT_S, record_timing=False, resources=place).execute()
    notebook.metadata["language_info"] = {"name": "python"}
    return notebook


def main() -> None:
    """Write the notebook with its outputs."""
    nbformat.write(executed(), NOTEBOOK)  # type: ignore[no-untyped-call] # of its library
    print(f"{NOTEBOOK.name}: {NOTEBOOK.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
