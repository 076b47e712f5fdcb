"""Every operation over HTTP, as `openapi.json` beside this module describes it.

To add one, describe it there and write a handler named as its operationId in
`collector.http.routes`. A test compares the document with the handlers, the problems and the limits
of the code.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Final, NamedTuple

JSON: Final = "application/json"
NDJSON: Final = "application/x-ndjson"
TEXT: Final = "text/plain"

DOCUMENT: Final = files(__package__).joinpath("openapi.json").read_bytes()
"""The OpenAPI 3.1 document, as it is served."""


class Operation(NamedTuple):
    """One method of one path.

    Attributes:
        name: of the operation and of its handler.
        method: GET or POST.
        path: from the root.

    """

    name: str
    method: str
    path: str


OPERATIONS: Final = tuple(
    Operation(described["operationId"], method.upper(), path)
    for path, methods in json.loads(DOCUMENT)["paths"].items()
    for method, described in methods.items()
)
