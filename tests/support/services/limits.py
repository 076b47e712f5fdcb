"""What a child process may take: what it is fed must not decide over its memory."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

MEMORY_BYTES: Final = 2**30
"""Of addresses, a third of which are those of Python, numpy and what else is imported."""


def limited(*words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run Python with some words where memory is limited, and return what it said."""
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
"""Limits itself and becomes another: nothing runs between fork and exec of a process that may have threads."""
