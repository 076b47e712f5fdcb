"""A helper in a process of its own, which waits for a test instead of for the time."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from client_sdk.ledger.file import FILE_NAME

_HELPER = """
import json, sys
from functools import partial
from client_sdk.sending import helper

now_s, arguments = json.load(open(sys.argv[1]))

def sleep(wait_s):
    global now_s
    now_s += wait_s
    print("waits", flush=True)
    sys.stdin.readline()

helper.send = partial(helper.send, clock=lambda: now_s, sleep=sleep, monotonic=lambda: 0.0)
helper.main(**arguments)
"""


class WaitingHelper:
    """A helper that waits for the instant of a report until a test announces it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def go_on(self) -> None:
        """Let the instants come until the helper ends."""
        self._process.communicate("\n" * 9, timeout=60)
        assert self._process.returncode == 0


@contextlib.contextmanager
def waiting_helper(data_dir: Path, collector: str, now_s: float, groups: Mapping[str, str]) -> Iterator[WaitingHelper]:
    """Start a helper of the app acme, and wait until it waits."""
    arguments = {
        "path": str(data_dir / FILE_NAME),
        "app": "acme",
        "collector": collector,
        "upload_key": None,
        "allow_plain_http": False,
        "groups": dict(groups),
    }
    job = data_dir / "helper.json"
    job.write_text(json.dumps([now_s, arguments]))
    with subprocess.Popen(
        [sys.executable, "-c", _HELPER, str(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waits\n"
        try:
            yield WaitingHelper(process)
        finally:
            process.kill()
