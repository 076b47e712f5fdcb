"""Limits the memory of a child process, because its input must not determine how much it uses."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

MEMORY_BYTES: Final = 2**30
"""Bytes of address space. Python, numpy and other imports take a third of it."""


PROCESSOR_S: Final = 600
"""Seconds of processor time: a deadline for a process that would never end."""


def limited(
    *words: str,
    environment: dict[str, str] | None = None,
    memory_bytes: int = MEMORY_BYTES,
    processor_s: int = PROCESSOR_S,
) -> subprocess.CompletedProcess[str]:
    """Run Python with arguments in limited memory and time, and return its output."""
    return subprocess.run(
        [sys.executable, "-c", LIMITED, str(memory_bytes), str(processor_s), *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


LIMITED: Final = """\
import os, resource, sys
for kind, most in ((resource.RLIMIT_AS, int(sys.argv[1])), (resource.RLIMIT_CPU, int(sys.argv[2]))):
    resource.setrlimit(kind, (most, most))
os.execv(sys.executable, [sys.executable, *sys.argv[3:]])
"""
"""Limits itself and then executes Python.

So nothing runs between fork and exec of a process that may have threads.
"""
