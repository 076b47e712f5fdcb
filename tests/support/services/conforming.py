"""A client that compares every response with the OpenAPI document."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from jsonschema_rs import Validator, validator_for
from werkzeug.test import TestResponse

from collector.api.messages import DOCUMENT as DESCRIPTION
from collector.api.messages import NDJSON
from collector.api.problem import BY_CODE, Problem

DOCUMENT: dict[str, Any] = json.loads(DESCRIPTION)

PROBLEMS_OF_NONE = (Problem.NOT_FOUND, Problem.METHOD_NOT_ALLOWED)
"""Problems of requests that match no operation."""


class ConformingClient(FlaskClient):
    """Fails if a response is not in the document."""

    def open(self, *args: Any, **kwargs: Any) -> TestResponse:
        answer = super().open(*args, **kwargs)
        require_conformity(answer)
        return answer


def conforming_client(app: Flask) -> FlaskClient:
    """Return a test client of an application."""
    app.test_client_class = ConformingClient
    return app.test_client()


def require_conformity(answer: TestResponse) -> None:
    """Fail unless the document has the response: its status, headers, media type and body."""
    method, path = answer.request.method.lower(), answer.request.path
    if method not in DOCUMENT["paths"].get(path, {}):
        require_no_operation(answer, method)
        return
    responses = DOCUMENT["paths"][path][method]["responses"]
    documented = responses[str(answer.status_code)]
    assert set(documented["headers"]) <= set(answer.headers.keys()), (path, answer.headers)
    content = documented.get("content")
    if content is None:
        assert answer.get_data() == b""
        return
    ((media_type, body),) = content.items()
    assert answer.mimetype == media_type
    if media_type == NDJSON:
        require_valid(body["schema"], [json.loads(line) for line in answer.text.splitlines()])
    elif media_type.endswith("json"):
        require_valid(body["schema"], answer.json)


def require_no_operation(answer: TestResponse, method: str) -> None:
    """Fail unless the response says that there is no such operation."""
    if method in ("head", "options") and answer.status_code < 300:
        return
    assert answer.json is not None
    assert BY_CODE[answer.json["code"]] in PROBLEMS_OF_NONE
    require_valid({"$ref": "#/components/schemas/Problem"}, answer.json)


def require_valid(schema: dict[str, Any], body: object) -> None:
    """Fail unless a body conforms to a schema of the document."""
    validator(json.dumps(schema)).validate(body)


@cache
def validator(schema: str) -> Validator:
    return validator_for({**json.loads(schema), "components": DOCUMENT["components"]})
