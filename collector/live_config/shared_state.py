"""What a collector serves: shared between the main process, which writes it, and the workers."""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from multiprocessing.reduction import DupFd
from typing import Any

from client_sdk.protocol.registry.registry import Registry
from collector.access_keys import Access
from collector.api.registry_document import registry_document
from collector.errors import ConfigError
from collector.unlinked_file import unlinked_file


@dataclass(frozen=True)
class Served:
    """One state. It is replaced as a whole, never changed.

    Attributes:
        registry: the definitions.
        access: the keys.

    """

    registry: Registry
    access: Access

    @cached_property
    def document(self) -> bytes:
        """The registry as a JSON document that anybody may read."""
        return registry_document(self.registry)


DIGEST_BYTES = 32


class Board:
    """Holds the latest state. The main process posts, workers read.

    It is a file without a name that all processes hold open. So nobody can remove or replace it, a
    worker that starts later finds it, and nobody waits for anybody. The digest before the state
    tells a reader whether the state is complete.
    """

    def __init__(self, descriptor: int) -> None:
        """Take over the descriptor of a file."""
        self._descriptor = descriptor
        self._digest: mmap.mmap | None = None
        self._latest: tuple[bytes, Served] | None = None

    @classmethod
    def with_state(cls, served: Served) -> Board:
        """Return a new board with a state.

        Raises:
            ConfigError: if no temporary file can be made or filled.

        """
        board = cls(unlinked_file())
        try:
            board.post(served)
        except OSError as error:
            raise ConfigError(
                f"no temporary file can be filled: {error.strerror}; set TMPDIR to a folder for it"
            ) from error
        return board

    def __reduce__(self) -> tuple[Callable[[Any], Board], tuple[Any]]:
        """Send the descriptor to a worker that is being started."""
        return _adopt, (DupFd(self._descriptor),)

    def post(self, served: Served) -> None:
        """Replace the state.

        Raises:
            OSError: if the disk has no room for it; the one before stays.

        """
        state = pickle.dumps(served)
        entry = sha256(state).digest() + state
        size = os.fstat(self._descriptor).st_size
        try:
            self._write(entry[size:], size)  # what needs more room comes first
        except OSError:
            os.ftruncate(self._descriptor, size)
            raise
        self._write(entry[:size], 0)
        os.ftruncate(self._descriptor, len(entry))

    def _write(self, part: bytes, start: int) -> None:
        written = 0
        while written < len(part):
            written += os.pwrite(self._descriptor, part[written:], start + written)

    def latest(self) -> Served:
        """Return the state: the same object until another is posted. Any thread may call this.

        While another state is being written, or if the disk had no room for it, the one before
        stays.
        """
        while True:
            latest = self._latest  # read once and replaced as a whole, because of other threads
            if latest is not None and self._present_digest() == latest[0]:
                return latest[1]
            entry = os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)
            digest, state = entry[:DIGEST_BYTES], entry[DIGEST_BYTES:]
            if sha256(state).digest() == digest:
                self._latest = digest, pickle.loads(state)  # noqa: S301 only the main process writes there
            elif latest is not None:
                return latest[1]

    def _present_digest(self) -> bytes:
        """Return the digest from shared memory.

        Every response asks for it, and a system call would let another thread take the interpreter:
        it cost a busy worker a tenth of its processor time.
        """
        if self._digest is None:
            self._digest = mmap.mmap(self._descriptor, DIGEST_BYTES, prot=mmap.PROT_READ)
        return self._digest[:]


def _adopt(descriptor: Any) -> Board:  # noqa: ANN401 what multiprocessing makes of a descriptor
    return Board(descriptor.detach())
