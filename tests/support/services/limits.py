"""Limits the memory of a child process: its input must not decide how much it takes."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

MEMORY_BYTES: Final = 2**30
"""Bytes of address space. Python, numpy and other imports take a third of it."""


def limited(*words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments in limited memory, and return its output."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(MEMORY_BYTES), *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


LIMITED: Final = """\
import os, resource, sys
most = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (most, most))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""
"""Limits itself and then executes Python.

So nothing runs between fork and exec of a process that may have threads.
"""
