"""The schemas that check-jsonschema contains: those of GitHub and of Compose."""

from __future__ import annotations

from pathlib import Path

import check_jsonschema  # type: ignore[import-untyped] # it has no types
from click.testing import CliRunner


def refused(schema: str, *files: Path) -> str:
    """Return what a schema refuses in files; empty if they are valid."""
    words = ["--builtin-schema", f"vendor.{schema}", "--verbose", *map(str, files)]
    checked = CliRunner().invoke(check_jsonschema.main, words)
    assert checked.exit_code in (0, 1), checked.output
    return checked.output if checked.exit_code else ""
