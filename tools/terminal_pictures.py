"""Takes pictures of the report in a terminal: ``python -m tools.terminal_pictures``."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

ROOT: Final = Path(__file__).parents[1]
HEALTH: Final = ROOT / "examples" / "health"
WIDTHS: Final = (80,)
MOST_BYTES: Final = 1 << 20

PICTURE: Final = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {terminal_width} {terminal_height}" role="img"
     aria-label="hearsay-estimator report in a terminal">
<style>.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
{styles}</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#ffffff" stroke="#888888"/>
<g transform="translate(8, 8)">{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""The frame of a picture. Rich's own frame would load a font from another site."""


def written() -> Iterator[tuple[Path, str]]:
    """Yield a picture for each width."""
    for columns in WIDTHS:
        console = Console(record=True, width=columns + 2, file=io.StringIO())
        console.print(Text.from_ansi(shown(columns)))
        picture = console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=PICTURE, unique_id="terminal")
        yield ROOT / "docs" / "pictures" / f"terminal-{columns}.svg", picture


def shown(columns: int) -> str:
    """Return the output of ``report`` on a color terminal with this number of columns."""
    primary, secondary = pty.openpty()
    fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    command = [sys.executable, "-m", "estimator", "report", "--registry", str(HEALTH / "metrics.toml")]
    environment = {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "COLUMNS"}}
    with subprocess.Popen(
        [*command, "--tallies", str(HEALTH / "tallies.ndjson")],
        stdout=secondary,
        env={**environment, "TERM": "xterm-256color"},
        cwd=ROOT,
    ) as process:
        os.close(secondary)
        output = b""
        while part := _read(primary):
            output += part
    os.close(primary)
    if process.returncode:
        sys.exit(f"the report ended with status {process.returncode}")
    return output.decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, MOST_BYTES)
    except OSError:  # the terminal's other end is closed
        return b""


if __name__ == "__main__":
    for path, text in written():
        path.write_text(text, encoding="utf-8")
