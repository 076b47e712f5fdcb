"""The secret of a read key, from the environment or a file.

A command line would show it to everybody on the machine.
"""

from __future__ import annotations

import os
from pathlib import Path

import click

TOKEN_VARIABLE = "HEARSAY_READ_TOKEN"  # noqa: S105 the variable's name, not a token
FILE_VARIABLE = f"{TOKEN_VARIABLE}_FILE"


def read_token() -> str:
    """Return the secret.

    Raises:
        click.UsageError: if there is no secret, if there are two, or if it cannot stand in a
            header.

    """
    token, file = os.environ.get(TOKEN_VARIABLE), os.environ.get(FILE_VARIABLE)
    if token is not None and file is not None:
        raise click.UsageError(f"{TOKEN_VARIABLE} and {FILE_VARIABLE} are both set: keep one of them")
    if file is not None:
        try:
            token = Path(file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            problem = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise click.UsageError(f"the read token's file {file} cannot be read: {problem}") from None
    if not (token and token.isascii() and token.isprintable()):
        raise click.UsageError(f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII")
    return token
