"""Plays the demo and takes the pictures of its report for the pages."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser

from tests.support.services.browser import Scheme, chromium, opened

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs" / "pictures"

PICTURES: Final[dict[str, tuple[tuple[int, int], Scheme]]] = {
    "report-light.png": ((1000, 1100), "light"),
    "report-dark.png": ((1000, 1100), "dark"),
    "report-phone.png": ((375, 1100), "light"),
    "report-print.png": ((718, 1010), "light"),
}

PRINTED: Final = frozenset({"report-print.png"})
"""As on a sheet of A4: its margins leave the pixels given above."""

COLOURS: Final = 256
"""A page has few colours. Fewer bytes tell them apart."""

MOST_BYTES: Final = 200 * 1024
"""The pages are also read on slow connections."""


def main() -> None:
    """Write every picture."""
    with tempfile.TemporaryDirectory(prefix="hearsay-pictures-") as folder, chromium() as browser:
        page = Path(folder) / "report.html"
        demo = ROOT / "examples" / "health" / "demo.py"
        subprocess.run([sys.executable, str(demo), "--html", str(page)], check=True, stdout=subprocess.DEVNULL)
        for name in PICTURES:
            picture = optimized(taken(browser, page, name))
            if len(picture) > MOST_BYTES:
                sys.exit(f"{name} has {len(picture):,} bytes, more than {MOST_BYTES:,}; make it smaller")
            (DOCS / name).write_bytes(picture)
            print(f"docs/pictures/{name}: {len(picture):,} bytes")


def taken(browser: Browser, page: Path, name: str) -> bytes:
    """Return a picture of a page."""
    size, scheme = PICTURES[name]
    with opened(browser, page, size, scheme) as view:
        if name in PRINTED:
            view.page.emulate_media(media="print")
            view.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        view.page.locator("svg.chart").first.wait_for()
        return view.page.screenshot()


def optimized(picture: bytes) -> bytes:
    """Return a picture in few colours."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLOURS).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main()
