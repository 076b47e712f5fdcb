"""The peers: other libraries that this project is compared with.

Each peer has its own virtual environment, which is created once and then reused.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".venv-peers"

COINS = {
    "pure-ldp": "Mersenne Twister",
    "multi-freq-ldpy": "Mersenne Twister, partly compiled",
    "opendp": "CSPRNG, exact, compiled Rust",
}
"""The name of every peer, and its source of random numbers."""


class PeerError(Exception):
    """A peer cannot be installed or does not answer."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A process that runs another library. The process answers each line with a line."""

    name: str
    version: str
    process: subprocess.Popen[str]

    def ask(self, task: str, **arguments: object) -> Any:
        """Send a task to the process, and return the answer.

        Raise `PeerError` if the task fails.
        """
        return ask(self.process, task, arguments)


def ask(process: subprocess.Popen[str], task: str, arguments: dict[str, object]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps({"task": task, "arguments": arguments}) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # the process ended; the code below finds the reason
    line = process.stdout.readline()
    if not line:
        raise PeerError(f"its script ended with status {process.wait()}")
    answer = json.loads(line)
    if "error" in answer:
        raise PeerError(answer["error"])
    return answer["answer"]


@contextlib.contextmanager
def running_peers() -> Iterator[tuple[list[Peer], dict[str, str]]]:
    """Start every peer that can be started.

    Yield the running peers, and the reason for each peer that cannot run.
    """
    missing: dict[str, str] = {}
    with contextlib.ExitStack() as stack:
        peers = []
        errors = stack.enter_context(tempfile.TemporaryFile("w+"))
        for name in COINS:
            try:
                peers.append(stack.enter_context(running(name, installed(name), errors)))
            except PeerError as error:
                missing[name] = str(error)
        yield peers, missing


@contextlib.contextmanager
def running(name: str, python: Path, errors: IO[str]) -> Iterator[Peer]:
    """Run a peer's script. The script's errors go to a file."""
    command = [str(python), "-m", f"benchmarks.peers.in_{name.replace('-', '_')}"]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        cwd=ROOT,
        env=environment,
        text=True,
    ) as process:
        yield Peer(name, ask(process, "hello", {}), process)


def installed(name: str) -> Path:
    """Return the path of Python in a peer's environment.

    If the peer's requirements have changed, the environment is created again.
    """
    requirements = Path(__file__).parent / f"{name}.txt"
    folder = KEPT / name
    done = folder / "requirements.txt"
    if not done.exists() or done.read_bytes() != requirements.read_bytes():
        sys.stderr.write(f"installing {name} …\n")
        _run([sys.executable, "-m", "venv", "--clear", str(folder)])
        _run([str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(requirements)])
        done.write_bytes(requirements.read_bytes())
    return folder / "bin" / "python"


def _run(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        lines = [line for line in (finished.stdout + finished.stderr).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")]
        raise PeerError((errors or lines or ["pip says nothing"])[-1])
