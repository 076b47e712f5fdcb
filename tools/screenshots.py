"""Plays the demo and takes the pictures of its report for the pages."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.support.services.browser import Scheme, chromium, opened

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs" / "pictures"

PICTURES: Final[dict[str, tuple[tuple[int, int], Scheme]]] = {
    "report-light.png": ((1000, 1100), "light"),
    "report-dark.png": ((1000, 1100), "dark"),
    "report-phone.png": ((390, 1100), "light"),
}

MOST_BYTES: Final = 300_000
"""The pages are also read on slow connections."""


def main() -> None:
    """Write every picture."""
    with tempfile.TemporaryDirectory(prefix="hearsay-pictures-") as folder, chromium() as browser:
        page = Path(folder) / "report.html"
        demo = ROOT / "examples" / "health" / "demo.py"
        subprocess.run([sys.executable, str(demo), "--html", str(page)], check=True, stdout=subprocess.DEVNULL)
        for name, (size, scheme) in PICTURES.items():
            with opened(browser, page, size, scheme) as opened_page:
                opened_page.page.locator("svg.chart").first.wait_for()
                picture = opened_page.page.screenshot()
            if len(picture) > MOST_BYTES:
                sys.exit(f"{name} has {len(picture):,} bytes, more than {MOST_BYTES:,}; make it smaller")
            (DOCS / name).write_bytes(picture)
            print(f"docs/pictures/{name}: {len(picture):,} bytes")


if __name__ == "__main__":
    main()
