"""The OpenAPI 3.1 document, made from the operations and schemas that the code itself uses."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from collector.api.headers import ALWAYS
from collector.api.operations import (
    NDJSON,
    OPERATIONS,
    PROBLEMS_OF_ALL,
    Caller,
    Operation,
    QueryParameter,
    RequestBody,
    Success,
)
from collector.api.problem import MEDIA_TYPE, Problem
from collector.api.schemas import SCHEMAS, Schema, reference

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_HEADERS = {
    "Allow": "The methods of this path.",
    "Cache-Control": "What caches may keep.",
    "ETag": "For If-None-Match.",
    "Retry-After": "Seconds to wait before the next request.",
    "WWW-Authenticate": "The scheme of the token: Bearer.",
    **dict(ALWAYS),
}

_HEADERS_OF_ALL = ("Cache-Control", *(name for name, _ in ALWAYS))

_SECURITY: dict[Caller, list[dict[str, list[str]]]] = {
    Caller.ANYONE: [],
    Caller.READER: [{Caller.READER.token: []}],
    Caller.UPLOADER: [{}, {Caller.UPLOADER.token: []}],
    Caller.RELAY: [{Caller.RELAY.token: []}],
}
"""One alternative of each list must hold; the empty alternative requires nothing."""


def openapi_document() -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "Hearsay collector",
            "version": version("hearsay-ldp"),
            "description": "Counts perturbed reports and keeps nothing but their tallies. Every problem is a document "
            "of RFC 9457 with a stable code and no echo of the request.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {
                caller.token: {"type": "http", "scheme": "bearer", "description": caller.description}
                for caller in Caller
                if caller.token
            },
            "headers": {
                name: {"description": description, "required": True, "schema": {"type": "string"}}
                for name, description in _HEADERS.items()
            },
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    responses = {str(success.status.value): _success(success) for success in operation.successes}
    problems = (*operation.problems, *operation.caller.problems, *PROBLEMS_OF_ALL)
    for status in sorted({problem.status for problem in problems}):
        responses[str(status.value)] = _problems(status, [problem for problem in problems if problem.status is status])
    document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_query(parameter) for parameter in operation.queries],
        "security": _SECURITY[operation.caller],
        "responses": responses,
    }
    return document | ({"requestBody": _body(operation.body)} if operation.body else {})


def _query(parameter: QueryParameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.description,
        "schema": {"type": "string", "enum": list(parameter.values)},
    }


def _body(body: RequestBody) -> dict[str, Any]:
    return {
        "description": f"At most {body.max_bytes} bytes.",
        "required": True,
        "content": _content(body.media_type, body.schema),
    }


def _success(success: Success) -> dict[str, Any]:
    document = {"description": success.description, "headers": _headers(success.headers)}
    return document | ({"content": _content(success.media_type, success.schema)} if success.media_type else {})


def _problems(status: HTTPStatus, problems: list[Problem]) -> dict[str, Any]:
    schema = {
        **reference("Problem"),
        "properties": {"status": {"const": status.value}, "code": {"enum": [problem.code for problem in problems]}},
    }
    return {
        "description": "\n".join(f"* `{problem.code}`: {problem.sentence}" for problem in problems),
        "headers": _headers({name for problem in problems for name in problem.headers}),
        "content": {MEDIA_TYPE: {"schema": schema}},
    }


def _headers(names: Iterable[str]) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted({*names, *_HEADERS_OF_ALL})}


def _content(media_type: str, schema: str | None) -> dict[str, Any]:
    """Return the content of a body.

    OpenAPI 3.1 cannot describe lines, so NDJSON appears as an array.
    """
    if media_type == NDJSON and schema:
        lines = {"type": "array", "items": reference(schema), "description": "Sent as lines, one per item."}
        return {NDJSON: {"schema": lines}}
    return {media_type: {"schema": _body_schema(media_type, schema)}}


def _body_schema(media_type: str, schema: str | None) -> Schema:
    if schema:
        return reference(schema)
    return {"type": "object"} if media_type.endswith("json") else {"type": "string"}
