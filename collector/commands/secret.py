"""Secrets come from the environment or from files: a command line can be read by every user of the machine."""

from __future__ import annotations

import os
from pathlib import Path

from collector.errors import ConfigError


def read_secret(variable: str, file: Path | None = None) -> str | None:
    """Return a secret: what a variable holds, or the file that is given or named by ``VARIABLE_FILE``; or none.

    Raises:
        ConfigError: if there are both, or the file cannot be read.

    """
    value, named = os.environ.get(variable), os.environ.get(f"{variable}_FILE")
    if file is None and named is not None:
        file = Path(named)
    if file is None:
        return value
    if value is not None:
        raise ConfigError(f"{variable} is set, and a file is named for the same secret: keep one of them")
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(f"the secret's file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the secret's file {file} is not UTF-8 text") from error
