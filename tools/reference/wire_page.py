"""The page on every code of the wire: refusals and problems, from their enumerations."""

from __future__ import annotations

from typing import Final

from client_sdk.protocol import Refusal
from collector.api.problem import Problem
from tools.reference.markdown import table

HEAD: Final = """\
# Codes of the wire

`python -m tools.reference` writes this page from the enumerations in the code. Codes are never renamed.

## Refusals of a report

A refused report stands in the verdict by its place and its code. The others of its upload are still counted.

"""

PROBLEMS: Final = """
## Problems of a request

A problem is an `application/problem+json` document (RFC 9457) with a `code`. It never echoes the request.

"""


def page() -> str:
    """Return the page in Markdown."""
    refusals = [(f"`{code}`", code.sentence, "again, alone" if code.retryable else "never") for code in Refusal]
    problems = [(f"`{each.value[0]}`", str(int(each.value[1])), each.value[2]) for each in Problem]
    sent = table(("code", "means", "a device sends it"), refusals)
    return HEAD + sent + PROBLEMS + table(("code", "status", "means"), sorted(problems, key=lambda row: row[1]))
