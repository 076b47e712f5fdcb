"""Writes the pages of reference: ``python -m tools.reference``; ``--check`` only compares."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tools.reference import api_page, cli_page, registry_page, wire_page

FOLDER: Final = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": cli_page.page,
    "registry-keys.md": registry_page.page,
    "telemetry.md": api_page.telemetry_page,
    "estimator.md": api_page.estimator_page,
    "wire-codes.md": wire_page.page,
}


def main() -> None:
    """Write every page, or name those that are out of date."""
    texts = {FOLDER / name: page() for name, page in PAGES.items()}
    if "--check" not in sys.argv[1:]:
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
        return
    stale = [path.name for path, text in texts.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if stale:
        sys.exit(f"out of date: {', '.join(stale)}; run python -m tools.reference")


if __name__ == "__main__":
    main()
