"""Reads secrets from the environment or from files.

Every user of the machine can read a command line, so no secret may stand there.
"""

from __future__ import annotations

import os
from pathlib import Path

from collector.errors import ConfigError, require


def read_secret(variable: str, file: Path | None = None) -> str | None:
    """Return a secret, or None if there is none.

    Args:
        variable: the environment variable that may hold it. ``VARIABLE_FILE`` may name a file
            instead.
        file: a file that holds it, or None.

    Raises:
        ConfigError: if there are both a value and a file, the file cannot be read, or what was
            named is empty. To take that for no secret could name another store than was meant.

    """
    secret, file_name = os.environ.get(variable), os.environ.get(f"{variable}_FILE")
    if file is None and file_name is not None:
        require(bool(file_name), f"{variable}_FILE is set but empty: name a file, or unset it")
        file = Path(file_name)
    if file is None:
        require(secret != "", f"{variable} is set but empty: give it a value, or unset it")
        return secret
    if secret is not None:
        raise ConfigError(f"{variable} is set, and a file is named for the same secret: keep one of them")
    content = _content(file)
    require(bool(content), f"the secret's file {file} is empty: it must hold the value of {variable}")
    return content


def _content(file: Path) -> str:
    """Return what a file holds, without the end of its line."""
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(f"the secret's file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the secret's file {file} is not UTF-8 text") from error
