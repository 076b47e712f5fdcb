"""Files without a name, which processes share by holding them open: however these end, nothing is left of them."""

from __future__ import annotations

import os
import tempfile

from collector.errors import ConfigError


def nameless_file() -> int:
    """Return the descriptor of a new one, empty.

    Raises:
        ConfigError: if none can be made.

    """
    try:
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    except OSError as error:
        raise ConfigError(f"no temporary file can be made: {error.strerror}; set TMPDIR to a folder for it") from error
