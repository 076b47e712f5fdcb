"""Routes and OpenAPI document agree, and each problem is documented where it can occur."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
import schemathesis

from client_sdk.protocol import MAX_REPORTS, MAX_UPLOAD_BYTES, Malformed, Refusal, Window
from client_sdk.protocol.wire.malformed import MALFORMED_REPLIES
from collector import create_app
from collector.access_keys import Access
from collector.api.openapi import openapi_document
from collector.api.operations import OPERATIONS, PROBLEMS_OF_ALL, PROBLEMS_OF_NONE
from collector.api.problem import BY_CODE, Problem
from collector.api.schemas import SCHEMAS
from collector.live_config.state import Served
from tests.support.services.collecting import NOON, REGISTRY
from tests.support.services.conforming import conforming_client, require_valid
from tests.support.services.memory_store import MemoryStore

APP = create_app(lambda: Served(REGISTRY, Access((), uploads_are_open=True)), MemoryStore(), clock=lambda: NOON)


def test_the_document_is_one_of_openapi_3_1() -> None:
    schema = schemathesis.openapi.from_dict(openapi_document())
    schema.validate()
    assert schema.raw_schema["openapi"].startswith("3.1.")


def test_what_is_served_is_what_is_documented() -> None:
    served = {
        (rule.endpoint, rule.rule, method)
        for rule in APP.url_map.iter_rules()
        for method in rule.methods or ()
        if method[0] not in "HO"
    }
    assert served == {(f"collector.{operation.name}", operation.path, operation.method) for operation in OPERATIONS}
    assert json.loads(APP.test_client().get("/v1/openapi.json").text) == json.loads(json.dumps(openapi_document()))


def test_every_operation_has_a_name_of_its_own() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


def test_every_problem_is_documented_where_it_can_come_up() -> None:
    documented = {problem for operation in OPERATIONS for problem in (*operation.problems, *operation.caller.problems)}
    assert documented.isdisjoint({*PROBLEMS_OF_ALL, *PROBLEMS_OF_NONE})
    assert documented | {*PROBLEMS_OF_ALL, *PROBLEMS_OF_NONE} == set(Problem)


def test_every_code_is_another_and_has_a_sentence() -> None:
    assert len(BY_CODE) == len(Problem)
    for problem in Problem:
        assert problem.code == problem.name.lower()
        assert problem.sentence.endswith(".")


def test_whatever_is_malformed_is_a_problem_of_the_request() -> None:
    for code in set(Malformed) - MALFORMED_REPLIES:
        assert BY_CODE[code].status is HTTPStatus.BAD_REQUEST


def test_limits_and_enumerations_are_those_of_the_code() -> None:
    document = openapi_document()
    upload = document["components"]["schemas"]["Upload"]
    assert upload["properties"]["reports"]["maxItems"] == MAX_REPORTS
    assert str(MAX_UPLOAD_BYTES) in document["paths"]["/v1/reports"]["post"]["requestBody"]["description"]
    assert document["components"]["schemas"]["Refusal"]["enum"] == [refusal.value for refusal in Refusal]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_used(name: str) -> None:
    assert f'"#/components/schemas/{name}"' in json.dumps(openapi_document()) or any(
        success.schema == name for operation in OPERATIONS for success in operation.successes
    )


@pytest.mark.parametrize("text", ["1970-01-01", "2026-11-20", "2026-W01", "2026-W53", "9998-12", "9998-12-31"])
def test_windows_are_documented_as_they_are_read(text: str) -> None:
    assert Window.parse(text).text == text
    require_valid(SCHEMAS["Report"]["properties"]["window"], text)


def test_a_client_that_has_the_document_need_not_fetch_it_again() -> None:
    client = conforming_client(APP)
    tag = client.get("/v1/openapi.json").headers["ETag"]
    assert client.get("/v1/openapi.json", headers={"If-None-Match": tag}).status_code == HTTPStatus.NOT_MODIFIED
