"""Errors on the wire: RFC 9457 problem documents with a stable code, and never an echo of the request."""

from __future__ import annotations

import json
from http import HTTPStatus

from flask import Response


class ProblemError(Exception):
    """A request that gets a problem document for an answer.

    Attributes:
        status: the HTTP status.
        code: stable, for programs.
        detail: what was wrong and what to do, for people.
        headers: what else the answer must say.

    """

    def __init__(self, status: HTTPStatus, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        """Say what was wrong."""
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers or {}

    def response(self) -> Response:
        """Return the problem document."""
        document = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": self.status.value,
            "code": self.code,
            "detail": self.detail,
        }
        return Response(
            json.dumps(document), status=self.status.value, mimetype="application/problem+json", headers=self.headers
        )
