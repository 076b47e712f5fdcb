"""A real Chromium, Debian's: it opens a page, and everything that goes wrong in it is remembered."""

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

UNFOLDED: Final = "() => [...document.querySelectorAll('.made .scroll')].every((one) => one.firstChild)"
"""Tables that are made when they are unfolded are there."""

Scheme = Literal["light", "dark"]


@dataclass
class Opened:
    """A page that was opened, and what it did beside showing itself."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def show_everything(self) -> None:
        """Draw every chart and open every fold, as before printing."""
        self.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        self.page.wait_for_function(UNFOLDED)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the browser; a test that has none fails and says what to install."""
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
) -> Iterator[Opened]:
    """Open a file in a window of a size, without any network."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme=scheme,
        offline=True,
        java_script_enabled=scripts,
        reduced_motion="reduce",
    )
    found = Opened(context.new_page())
    found.page.on("console", lambda message: found.complaints.append(message.text))
    found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
    found.page.on("dialog", lambda dialog: found.complaints.append(dialog.message))
    found.page.on("request", lambda request: found.requests.append(request.url))
    try:
        found.page.goto(file.as_uri())
        yield found
    finally:
        context.close()
