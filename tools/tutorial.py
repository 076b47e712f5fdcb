"""Follows the tutorial like a reader. ``python -m tools.tutorial`` takes a picture of the report.

A page of the tutorial contains blocks of code. If the text before a block says "as `FILE`", the
block is saved to that file. Blocks of sh are run one after the other, in one shell.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.services.browser import chromium, opened
from tests.support.services.processes import free_port, wait_until

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = sorted((ROOT / "docs" / "tutorial").glob("*.md"))
PICTURE: Final = ROOT / "docs" / "pictures" / "tutorial-report.png"
SIZE: Final = (900, 1000)
ADDRESS: Final = "127.0.0.1:8080"


class Block(NamedTuple):
    """A block of code on a page. ``file`` is empty if the block is run."""

    language: str
    text: str
    file: str


def blocks(path: Path) -> Iterator[Block]:
    """Yield the blocks of a page that a reader saves or runs, in order."""
    page = path.read_text(encoding="utf-8")
    for match in re.finditer(r"^```(sh|python|toml|csv)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        paragraph = page[: match.start()].rstrip().rpartition("\n\n")[2]
        named = re.search(r"as\s+`([\w.]+)`", paragraph)
        yield Block(match[1], match[2], named[1] if named and match[1] != "sh" else "")


class Reader:
    """A simulated reader with a folder and an open shell."""

    def __init__(self, folder: Path) -> None:
        """Open the shell."""
        self._folder = folder
        self._address = f"127.0.0.1:{free_port()}"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._shell = subprocess.Popen(
            ["bash"],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def save(self, name: str, text: str) -> None:
        """Save a text to a file in the reader's folder."""
        (self._folder / name).write_text(text.replace(ADDRESS, self._address), encoding="utf-8")

    def run(self, text: str) -> str:
        """Run the lines of a block and return their output.

        If the lines start a collector, wait until it is ready, as the tutorial says. Raise
        `RuntimeError` if a command fails.
        """
        assert self._shell.stdin  # noqa: S101 it was asked for
        assert self._shell.stdout  # noqa: S101 as above
        here = text.replace(ADDRESS, self._address)
        serving = here.replace("serve ", f"serve --bind {self._address} ")
        self._shell.stdin.write(f"failed=0\ntrap failed=1 ERR\n{serving}echo END $failed\n")
        self._shell.stdin.flush()
        shown = ""
        for line in self._shell.stdout:
            if line.startswith("END "):
                if line != "END 0\n":
                    raise RuntimeError(f"{text}{shown}")
                if serving != here:
                    wait_until(self._is_served, what="the collector")
                return shown
            shown += line
        raise RuntimeError(f"the shell ended: {text}{shown}")

    def _is_served(self) -> bool:
        host, _, port = self._address.partition(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    def close(self) -> None:
        """End the shell, and the processes still running in it."""
        self._shell.communicate("kill $(jobs -p) 2> /dev/null\nwait\n")


@contextmanager
def reading(folder: Path) -> Iterator[Reader]:
    """Yield a reader who works in a folder. Close the reader's shell afterwards."""
    reader = Reader(folder)
    try:
        yield reader
    finally:
        reader.close()


def play(folder: Path, changes: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Run the parts of the tutorial in a folder, each in a new shell.

    Yield the commands and their output. ``changes`` maps texts in the saved files to their
    replacements.
    """
    for page in PAGES:
        with reading(folder) as reader:
            for block in blocks(page):
                if block.file:
                    text = block.text
                    for old, new in changes.items():
                        text = text.replace(old, new)
                    reader.save(block.file, text)
                elif block.language == "sh":
                    yield block.text, reader.run(block.text)
                else:
                    raise ValueError(f"{page.name}: no word before this block says where it is saved:\n{block.text}")


def main() -> None:
    """Follow all parts of the tutorial, and take the picture of the report."""
    with tempfile.TemporaryDirectory(prefix="hearsay-tutorial-") as name:
        for command, printed in play(Path(name), {}):
            print(f"$ {command}{printed}")
        with (
            chromium() as browser,
            opened(browser, Path(name) / "report.html", SIZE, "light") as page,
        ):
            page.page.locator("svg.chart").first.wait_for()
            PICTURE.write_bytes(page.page.screenshot())


if __name__ == "__main__":
    main()
