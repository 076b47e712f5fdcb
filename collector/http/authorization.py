"""Requires a key of a request: the header ``Authorization: Bearer SECRET``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collector.access_keys import Access, AccessKey, Role
from collector.api.problem import Problem, ProblemError

_NEEDS = {
    Role.UPLOAD: "reporting here needs an upload key",
    Role.READ: "reading tallies needs a read key, or the collector's read token",
    Role.RELAY: "handing on uploads needs a relay key",
}


def require_key(environ: Mapping[str, Any], access: Access, role: Role) -> AccessKey:
    """Return the key that a WSGI request bears.

    Raises:
        ProblemError: 401 if the request bears no known key, 403 if its key has another role.

    """
    scheme, _, secret = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    key = access.find(secret.strip()) if scheme.lower() == "bearer" else None
    if key is None:
        raise ProblemError(
            Problem.UNAUTHORIZED,
            f"{_NEEDS[role]}: send the header 'Authorization: Bearer SECRET'",
            {"WWW-Authenticate": "Bearer"},
        )
    if key.role is not role:
        raise ProblemError(Problem.FORBIDDEN, f"{_NEEDS[role]}; this key is for something else")
    return key
