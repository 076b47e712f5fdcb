"""Takes pictures of the built site, light and dark: ``python -m tools.site_pictures``.

Run it after ``make docs``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.support.services.browser import Scheme, chromium, opened

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "build" / "docs" / "research" / "mechanisms.html"
SIZE: Final = (1100, 800)
SCHEMES: Final[tuple[Scheme, ...]] = ("light", "dark")


def main() -> None:
    """Write both pictures."""
    with chromium() as browser:
        for scheme in SCHEMES:
            with opened(browser, PAGE, SIZE, scheme) as shown:
                picture = shown.page.screenshot()
            (ROOT / "docs" / "pictures" / f"site-{scheme}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
