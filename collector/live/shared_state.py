"""Where the main process says what is served, and every worker reads it."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from hashlib import sha256
from multiprocessing.reduction import DupFd
from typing import Any

from collector.errors import ConfigError
from collector.live.state import Served
from collector.nameless_file import nameless_file

DIGEST_BYTES = 32


class Board:
    """Holds one state, the latest. The main process posts, workers read.

    It is a file without a name that all of them hold open: nobody can remove or replace it beneath them, a worker that
    starts later finds it, and nobody waits for anybody. The digest before the state tells a reader that met a
    half-written one to look again.
    """

    def __init__(self, descriptor: int) -> None:
        """Take over a file."""
        self._descriptor = descriptor
        self._digest = b""
        self._served: Served

    @classmethod
    def with_state(cls, served: Served) -> Board:
        """Return a new one.

        Raises:
            ConfigError: if no temporary file can be made or filled.

        """
        board = cls(nameless_file())
        try:
            board.post(served)
        except OSError as error:
            raise ConfigError(
                f"no temporary file can be filled: {error.strerror}; set TMPDIR to a folder for it"
            ) from error
        return board

    def __reduce__(self) -> tuple[Callable[[Any], Board], tuple[Any]]:
        """Travel to a worker that is being started."""
        return _adopt, (DupFd(self._descriptor),)

    def post(self, served: Served) -> None:
        """Put a state in the place of the one before."""
        state = pickle.dumps(served)
        entry = sha256(state).digest() + state
        written = 0
        while written < len(entry):
            written += os.pwrite(self._descriptor, entry[written:], written)
        os.ftruncate(self._descriptor, len(entry))

    def latest(self) -> Served:
        """Return the state: the same object until another is posted."""
        while os.pread(self._descriptor, DIGEST_BYTES, 0) != self._digest:
            entry = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
            digest, state = entry[:DIGEST_BYTES], entry[DIGEST_BYTES:]
            if sha256(state).digest() == digest:  # else it is being written
                self._digest = digest
                self._served = pickle.loads(state)  # noqa: S301 nobody but the main process writes there
        return self._served


def _adopt(descriptor: Any) -> Board:  # noqa: ANN401 what multiprocessing makes of a descriptor
    return Board(descriptor.detach())
