"""A Valkey server that the operator runs, as `--redis URL` names it."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collector.embedded.store import server_program
from collector.redis_servers.connections import answers
from tests.support.services.processes import free_port, wait_until

SETTINGS = ("--bind", "127.0.0.1", "--save", "", "--appendonly", "yes")


@dataclass
class OwnStore:
    """A running server.

    Attributes:
        url: its URL.
        process: its process.

    """

    url: str
    process: subprocess.Popen[bytes]


@contextlib.contextmanager
def running_server(
    folder: Path, policy: str = "always", prefix: Sequence[str] = (), port: int | None = None
) -> Iterator[OwnStore]:
    """Run a server in a folder, perhaps by another command."""
    port = port or free_port()
    own = (server_program(), "--port", str(port), "--dir", str(folder), *SETTINGS, "--appendfsync", policy)
    store = OwnStore(f"redis://127.0.0.1:{port}", subprocess.Popen([*prefix, *own], stdout=subprocess.DEVNULL))
    try:
        wait_until(lambda: answers(store.url), what="the server")
        yield store
    finally:
        store.process.terminate()
        store.process.wait()
