"""The commands of hearsay-client that use no device: registries, completion, self-test.

Apart from the self-test, the modules import only `client_sdk.protocol` and `client_sdk.consent`.
Each module turns arguments into an `Outcome`.
"""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """The result of a command.

    Attributes:
        text: the text for standard output, with its line breaks.
        problems: sentences for standard error; if there are any, the exit status is 1.

    """

    text: str = ""
    problems: tuple[str, ...] = ()
