"""The OpenAPI 3.1 document, made of the operations and schemas that the code itself uses."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from collector.api.headers import ALWAYS
from collector.api.operations import NDJSON, OPERATIONS, PROBLEMS_OF_ALL, Answer, Body, Caller, Operation, Query
from collector.api.problem import MEDIA_TYPE, Problem
from collector.api.schemas import SCHEMAS, Schema, reference

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_HEADERS = {
    "Allow": "The methods that the path has.",
    "Cache-Control": "What caches may keep.",
    "ETag": "For If-None-Match.",
    "Retry-After": "Seconds to stay away.",
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
"""One of these must hold; the empty one asks for nothing."""


def openapi_document(operations: tuple[Operation, ...] = OPERATIONS) -> dict[str, Any]:
    """Return the document."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
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
    responses = {str(answer.status.value): _answer(answer) for answer in operation.answers}
    problems = (*operation.problems, *operation.caller.problems, *PROBLEMS_OF_ALL)
    for status in sorted({problem.status for problem in problems}):
        responses[str(status.value)] = _problems(status, [one for one in problems if one.status is status])
    document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": [_query(query) for query in operation.queries],
        "security": _SECURITY[operation.caller],
        "responses": responses,
    }
    return document | ({"requestBody": _body(operation.body)} if operation.body else {})


def _query(query: Query) -> dict[str, Any]:
    return {
        "name": query.name,
        "in": "query",
        "description": query.description,
        "schema": {"type": "string", "enum": list(query.values)},
    }


def _body(body: Body) -> dict[str, Any]:
    return {
        "description": f"At most {body.most_bytes} bytes.",
        "required": True,
        "content": _content(body.media_type, body.schema),
    }


def _answer(answer: Answer) -> dict[str, Any]:
    document = {"description": answer.description, "headers": _headers(answer.headers)}
    return document | ({"content": _content(answer.media_type, answer.schema)} if answer.media_type else {})


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
    """Return the content of a body; OpenAPI 3.1 has no word for lines, so that NDJSON is told as an array."""
    if media_type == NDJSON and schema:
        lines = {"type": "array", "items": reference(schema), "description": "Sent as lines: one an item."}
        return {NDJSON: {"schema": lines}}
    return {media_type: {"schema": _body_schema(media_type, schema)}}


def _body_schema(media_type: str, schema: str | None) -> Schema:
    if schema:
        return reference(schema)
    return {"type": "object"} if media_type.endswith("json") else {"type": "string"}
