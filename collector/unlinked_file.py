"""Files without a name. Processes share them by holding them open, and leave nothing behind."""

from __future__ import annotations

import os
import tempfile

from collector.errors import ConfigError


def unlinked_file() -> int:
    """Return the descriptor of a new, empty file.

    Raises:
        ConfigError: if no file can be created.

    """
    try:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise ConfigError(
            f"no temporary file can be created: {error.strerror}; set TMPDIR to a folder for it"
        ) from error
