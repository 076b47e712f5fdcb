"""The commands of hearsay-client that do not read an app's ledger, such as ``check``.

Apart from `selftest`, these modules import only `client_sdk.protocol` and `client_sdk.consent` from
the rest of the SDK. Each command is a function that returns an `Outcome` and prints nothing.
"""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """The result of a command.

    Attributes:
        text: the text for standard output, with line breaks.
        problems: sentences for standard error; if there are any, the exit status is 1.
    """

    text: str = ""
    problems: tuple[str, ...] = ()
