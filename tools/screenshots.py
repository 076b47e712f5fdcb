"""Takes the annotated picture of a report's page: ``python -m tools.screenshots``.

The simulated devices in the report answer differently after a release.
"""

from __future__ import annotations

import io
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Final

from PIL import Image

from client_sdk.protocol import Registry, Window, WindowKind
from estimator.rehearsal.ground_truth import from_shares
from estimator.rehearsal.rehearsal import rehearse
from estimator.render.html.page import as_html
from estimator.report.report import make_report
from estimator.results.report import Request, Selection
from estimator.tallies import Tally
from tests.support.services.browser import chromium, opened

PICTURE: Final = Path(__file__).parents[1] / "docs" / "pictures" / "report.png"
SIZE: Final = (1000, 1070)
COLORS: Final = 256
"""The number of colors in the picture. A page has few colors, so a palette saves bytes."""

MOST_BYTES: Final = 200 * 1024
"""The maximum size of the picture in bytes. The docs are also read on slow connections."""

REGISTRY: Final = """\
schema = 1

[app]
name = "acme-notes"
owner = "telemetry@example.com"

[budget]
window = "week"
per_window = 2.5
lifetime = 500

[event.2026-11-02]
title = "Version 2 follows the system's theme"

[metric.dark_mode]
title = "Dark mode"
purpose = "Is dark mode used enough to keep both themes?"
kind = "boolean"
epsilon = 0.75

[metric.os]
title = "Operating system"
purpose = "Which systems must we test on?"
kind = "category"
values = ["linux", "macos", "windows", "other"]
epsilon = 0.75

[metric.startup_ms]
title = "Start-up time"
purpose = "Is start-up getting slower?"
kind = "number"
low = 0
high = 5000
statistic = "mean"
unit = "ms"
epsilon = 1.0
"""

SHARES: Final = """\
dark_mode = {{yes = {yes}, no = {no}}}
os = {{linux = 0.2, macos = 0.31, windows = 0.45, other = 0.04}}
startup_ms = {{400 = 0.5, 900 = 0.4, 3000 = 0.1}}
"""

BEFORE: Final = 0.31
AFTER: Final = 0.38
"""The share of devices in dark mode after the release."""

WEEKS: Final = range(41, 49)
RELEASED: Final = 45
DEVICES: Final = 19_200

NUMBERED: Final = (
    ".overview",
    "#q-dark_mode .headline",
    "#q-dark_mode .range",
    "#q-dark_mode .change",
    "#q-dark_mode .basis",
    "#q-dark_mode .charts > :nth-child(1)",
    "#q-dark_mode .charts > :nth-child(2)",
    "#q-dark_mode summary",
)
"""The parts of the page that ``docs/reference/reading.md`` explains, in the same order."""

MARK: Final = """([selector, number]) => {
    const place = document.querySelector(selector).getBoundingClientRect();
    const mark = document.createElement("div");
    mark.textContent = number;
    mark.style.cssText = `position: absolute; left: ${place.left - 25}px; top: ${place.top + 1}px; width: 22px;
        height: 22px; border-radius: 11px; background: #b3261e; color: #fff; font: bold 14px/22px sans-serif;
        text-align: center`;
    document.body.append(mark);
}"""
"""The JavaScript that writes a number to the left of a part of the page."""


def main() -> None:
    """Write the picture."""
    picture = optimized(taken(page()))
    if len(picture) > MOST_BYTES:
        sys.exit(f"{PICTURE.name} has {len(picture):,} bytes, more than {MOST_BYTES:,}; make it smaller")
    PICTURE.write_bytes(picture)
    print(f"docs/pictures/{PICTURE.name}: {len(picture):,} bytes")


def page() -> str:
    """Return the HTML page of the report."""
    registry = Registry.parse(REGISTRY)
    tallies = [tally for week in WEEKS for tally in of_week(registry, week)]
    return as_html(make_report(registry, tallies, Selection(), Request(highlights=True)), registry)


def of_week(registry: Registry, week: int) -> list[Tally]:
    """Return the tallies of a week, counted from the first week of the report."""
    yes = BEFORE if week < RELEASED else AFTER
    tallies: list[Tally] = []
    with tempfile.TemporaryDirectory(prefix="hearsay-pictures-") as folder:
        shares = Path(folder) / "shares.toml"
        shares.write_text(SHARES.format(yes=yes, no=round(1 - yes, 2)), encoding="utf-8")
        rehearse(
            from_shares(registry, DEVICES, shares),
            seed=week,
            window_of=partial(window, week),
            keep=tallies.append,
        )
    return tallies


def window(week: int, _: WindowKind) -> Window:
    """Return the window of a week, counted from the first week of the report."""
    return Window.parse(f"2026-W{week}")


def taken(html: str) -> bytes:
    """Return a picture of a page, with a number next to each part that the docs explain."""
    with tempfile.TemporaryDirectory(prefix="hearsay-pictures-") as folder, chromium() as browser:
        file = Path(folder) / "report.html"
        file.write_text(html, encoding="utf-8")
        with opened(browser, file, SIZE) as view:
            view.draw_everything()
            view.page.locator("#q-dark_mode svg.chart").nth(1).wait_for()
            for number, selector in enumerate(NUMBERED, start=1):
                view.page.evaluate(MARK, [selector, number])
            picture: bytes = view.page.screenshot()
            return picture


def optimized(picture: bytes) -> bytes:
    """Return the picture with fewer colors and therefore fewer bytes."""
    small = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        image.convert("RGB").quantize(COLORS).save(small, "PNG", optimize=True)
    return small.getvalue()


if __name__ == "__main__":
    main()
