"""Opens pages in a real Chromium, and records everything that goes wrong in them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from tests.support.services.programs import program

DESKTOP: Final = (1440, 900)
PHONE: Final = (390, 844)

UNFOLDED: Final = "() => [...document.querySelectorAll('.lazy .scroll')].every((table) => table.firstChild)"
"""Whether the tables that are built on unfolding exist."""

Scheme = Literal["light", "dark"]


@dataclass
class OpenedPage:
    """An open page, and everything that it did apart from its display."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def draw_everything(self) -> None:
        """Draw every chart, as for printing, then as for the screen again."""
        for name in ("beforeprint", "afterprint"):
            self.page.evaluate("(name) => window.dispatchEvent(new Event(name))", name)

    def show_everything(self) -> None:
        """Draw every chart and open every fold."""
        self.draw_everything()
        self.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
        self.page.wait_for_function(UNFOLDED)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser. Without one the test fails and says what to install."""
    path = program("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(
    browser: Browser, file: Path, size: tuple[int, int] = DESKTOP, scheme: Scheme = "light", *, scripts: bool = True
) -> Iterator[OpenedPage]:
    """Open a file in a window of a given size, without any network."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        offline=True,
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    shown = OpenedPage(context.new_page())
    shown.page.on("console", lambda message: shown.complaints.append(message.text))
    shown.page.on("pageerror", lambda error: shown.complaints.append(str(error)))
    shown.page.on("dialog", lambda dialog: shown.complaints.append(dialog.message))
    shown.page.on("request", lambda request: shown.requests.append(request.url))
    try:
        shown.page.goto(file.as_uri())
        yield shown
    finally:
        context.close()
