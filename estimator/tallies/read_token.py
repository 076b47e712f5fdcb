"""The secret of a read key, from the environment or a file.

A command line would show it to everybody on the machine.
"""

from __future__ import annotations

import os
from pathlib import Path

TOKEN_VARIABLE = "HEARSAY_READ_TOKEN"  # noqa: S105 the variable's name, not a token
FILE_VARIABLE = f"{TOKEN_VARIABLE}_FILE"


def token_of_environment() -> str:
    """Return the secret of the environment.

    Raises:
        ValueError: if there is no secret, if there are two, or if it cannot stand in a header. The
            message never holds it.

    """
    token, file = os.environ.get(TOKEN_VARIABLE), os.environ.get(FILE_VARIABLE)
    if token is not None and file is not None:
        raise ValueError(f"{TOKEN_VARIABLE} and {FILE_VARIABLE} are both set: keep one of them")
    if file is not None:
        try:
            token = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ValueError(f"the read token's file {file} cannot be read: {problem}") from None
    return checked_token(token or "", f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII")


def checked_token(token: str, problem: str) -> str:
    """Return a secret without the end of its line.

    Args:
        token: the secret.
        problem: what to say if it cannot stand in a header.

    Raises:
        ValueError: with the problem.

    """
    secret = token.rstrip("\r\n")
    if not (secret and secret.isascii() and secret.isprintable()):
        raise ValueError(problem)
    return secret
