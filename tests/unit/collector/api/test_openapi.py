"""The OpenAPI document says what the code does: routes, callers, problems, schemas and limits."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import pytest

from client_sdk.protocol import MAX_REPORTS, Malformed, Refusal, Window, WindowKind
from client_sdk.protocol.wire.reading import MAX_SYMBOL, MAX_UPLOAD_BYTES, UPLOAD_ID
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from client_sdk.protocol.wire.strict_json import MALFORMED_REPLIES
from client_sdk.protocol.wire.verdict import MAX_STOPPED, STOPPED
from collector import create_app
from collector.access import Access
from collector.api.batch import MAX_BULK_BYTES, MAX_BULK_UPLOADS
from collector.api.messages import ALWAYS, NDJSON, OPERATIONS, SNAPSHOT_TAKEN
from collector.api.problem import BY_CODE, MEDIA_TYPE, Problem
from collector.live_config import Served
from tests.support.core.tables import for_each
from tests.support.services.collecting import NOON, REGISTRY
from tests.support.services.conforming import DOCUMENT, PROBLEMS_OF_NONE, conforming_client, require_valid
from tests.support.services.memory_store import MemoryStore

APP = create_app(lambda: Served(REGISTRY, Access((), uploads_are_open=True)), MemoryStore(), clock=lambda: NOON)

SCHEMAS = DOCUMENT["components"]["schemas"]

PROBLEMS_OF_ALL = {
    Problem.BAD_REQUEST,
    Problem.INTERNAL_ERROR,
    Problem.TOO_MANY_REQUESTS,
    Problem.COLLECTOR_UNAVAILABLE,
}
"""Problems of any operation. The last two come from a proxy in front of the collector."""

PROBLEMS_OF_A_KEY = {Problem.UNAUTHORIZED, Problem.FORBIDDEN}

PROBLEMS_OF_A_BODY = {
    Problem.BODY_INCOMPLETE,
    Problem.LENGTH_REQUIRED,
    Problem.BODY_TOO_LARGE,
    Problem.UNSUPPORTED_MEDIA_TYPE,
    Problem.UNSUPPORTED_ENCODING,
}

PROBLEMS_OF_A_RELAY = {Problem.BODY_TOO_SLOW, Problem.RELAY_FULL}
"""Further problems of a relay in a collector's place: devices cannot tell the two apart."""

PROBLEMS_OF_A_STORE = {Problem.STORE_UNAVAILABLE, Problem.STORE_FULL}

PROBLEMS: dict[str, set[Problem]] = {
    "get_root": set(),
    "post_reports": PROBLEMS_OF_A_KEY
    | PROBLEMS_OF_A_BODY
    | {BY_CODE[code] for code in set(Malformed) - MALFORMED_REPLIES}
    | PROBLEMS_OF_A_RELAY
    | PROBLEMS_OF_A_STORE
    | {Problem.QUOTA_EXCEEDED},
    "post_uploads": PROBLEMS_OF_A_KEY | PROBLEMS_OF_A_BODY | {Problem.TOO_MANY_UPLOADS},
    "get_registry": set(),
    "get_tallies": PROBLEMS_OF_A_KEY
    | {Problem.PRELIMINARY_FORBIDDEN, Problem.INVALID_QUERY, Problem.STORE_UNAVAILABLE},
    "get_openapi": set(),
    "get_healthz": set(),
    "get_readyz": PROBLEMS_OF_A_STORE,
}
"""The problems of each operation, besides those of all."""

SUCCESSES = {
    "get_root": {"200": "text/plain"},
    "post_reports": {"200": "#/components/schemas/Verdict"},
    "post_uploads": {"200": "#/components/schemas/LineAnswer"},
    "get_registry": {"200": "#/components/schemas/Registry", "304": None},
    "get_tallies": {"200": "#/components/schemas/Tally"},
    "get_openapi": {"200": "application/json", "304": None},
    "get_healthz": {"200": "text/plain"},
    "get_readyz": {"200": "text/plain"},
}
"""The schema of each success, for lines that of a line; otherwise the media type."""


def described() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the description of every operation."""
    for methods in DOCUMENT["paths"].values():
        for operation in methods.values():
            yield operation["operationId"], operation


def described_problems(operation: dict[str, Any]) -> dict[str, list[Problem]]:
    """Return the problems that an operation may answer with, by their status."""
    return {
        status: [BY_CODE[code] for code in answer["content"][MEDIA_TYPE]["schema"]["properties"]["code"]["enum"]]
        for status, answer in operation["responses"].items()
        if MEDIA_TYPE in answer.get("content", {})
    }


@pytest.mark.slow
def test_the_document_is_one_of_openapi_3_1() -> None:
    import schemathesis  # noqa: PLC0415 500 ms, of every run's collection

    schema = schemathesis.openapi.from_dict(DOCUMENT)
    schema.validate()
    assert schema.raw_schema["openapi"].startswith("3.1.")
    assert DOCUMENT["info"]["version"] == version("hearsay-ldp")


def test_what_is_served_is_what_is_documented() -> None:
    served = {
        (rule.endpoint, rule.rule, method)
        for rule in APP.url_map.iter_rules()
        for method in rule.methods or ()
        if method[0] not in "HO"
    }
    assert served == {(f"collector.{operation.name}", operation.path, operation.method) for operation in OPERATIONS}
    assert json.loads(APP.test_client().get("/v1/openapi.json").text) == DOCUMENT


def test_every_operation_has_a_name_of_its_own() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)


def test_every_problem_is_documented_where_it_can_come_up() -> None:
    documented = {
        name: {problem for problems in described_problems(operation).values() for problem in problems}
        for name, operation in described()
    }
    assert documented == {name: problems | PROBLEMS_OF_ALL for name, problems in PROBLEMS.items()}
    assert set[Problem]().union(*documented.values(), PROBLEMS_OF_NONE) == set(Problem)


def test_every_problem_is_documented_as_it_is() -> None:
    for _, operation in described():
        for status, problems in described_problems(operation).items():
            answer = operation["responses"][status]
            assert {str(problem.status.value) for problem in problems} == {status}
            assert answer["content"][MEDIA_TYPE]["schema"]["properties"]["status"] == {"const": int(status)}
            assert answer["description"] == sentences({problem.code: problem.sentence for problem in problems})
            assert answer["headers"].keys() == set(documented_headers(*(problem.headers for problem in problems)))


def documented_headers(*further: tuple[str, ...]) -> Iterator[str]:
    """Yield the names of the headers of a response that has some besides those of all."""
    yield "Cache-Control"
    yield from dict(ALWAYS)
    for names in further:
        yield from names


def sentences(by_code: dict[str, str]) -> str:
    """Return a list of codes with their sentences."""
    return "\n".join(f"* `{code}`: {sentence}" for code, sentence in by_code.items())


def test_every_success_has_its_schema() -> None:
    for name, operation in described():
        problems = described_problems(operation)
        successes = {
            status: body_of(answer) for status, answer in operation["responses"].items() if status not in problems
        }
        assert successes == SUCCESSES[name]


def body_of(answer: dict[str, Any]) -> str | None:
    """Return the schema that a body, or each of its lines, refers to; otherwise its media type."""
    for media_type, body in answer.get("content", {}).items():
        schema = body["schema"]["items"] if media_type == NDJSON else body["schema"]
        name: str = schema.get("$ref", media_type)
        return name
    return None


def test_callers_are_told_which_key_they_need() -> None:
    keys = {name: operation["security"] for name, operation in described() if operation["security"]}
    assert keys == {
        "post_reports": [{}, {"uploadKey": []}],
        "post_uploads": [{"relayKey": []}],
        "get_tallies": [{"readKey": []}],
    }
    assert DOCUMENT["components"]["securitySchemes"].keys() == {"uploadKey", "relayKey", "readKey"}


def test_every_code_is_another_and_has_a_sentence() -> None:
    assert len(BY_CODE) == len(Problem)
    for problem in Problem:
        assert problem.code == problem.name.lower()
        assert problem.sentence.endswith(".")


def test_whatever_is_malformed_is_a_problem_of_the_request() -> None:
    for code in set(Malformed) - MALFORMED_REPLIES:
        assert BY_CODE[code].status is HTTPStatus.BAD_REQUEST


def test_limits_are_those_of_the_code() -> None:
    paths = DOCUMENT["paths"]
    assert paths["/v1/reports"]["post"]["requestBody"]["description"] == f"At most {MAX_UPLOAD_BYTES} bytes."
    assert paths["/v1/uploads"]["post"]["requestBody"]["description"] == f"At most {MAX_BULK_BYTES} bytes."
    assert STOPPED in paths["/v1/reports"]["post"]["responses"]["200"]["description"]
    assert SNAPSHOT_TAKEN in paths["/v1/tallies"]["get"]["parameters"][0]["description"]
    reports, refused = (SCHEMAS[name]["properties"] for name in ("Upload", "Verdict"))
    assert reports["reports"]["maxItems"] == refused["refused"]["maxItems"] == MAX_REPORTS
    assert refused["refused"]["items"]["properties"]["index"]["maximum"] == MAX_REPORTS - 1
    assert SCHEMAS["Report"]["properties"]["symbol"]["maximum"] == MAX_SYMBOL
    assert SCHEMAS["LineAnswer"]["oneOf"][1]["properties"]["line"]["maximum"] == MAX_BULK_UPLOADS
    assert SCHEMAS["Registry"]["properties"]["stopped"]["maxItems"] == MAX_STOPPED
    assert DOCUMENT["components"]["headers"].keys() >= set(dict(ALWAYS))


def test_enumerations_are_those_of_the_code() -> None:
    assert SCHEMAS["Refusal"]["enum"] == [refusal.value for refusal in Refusal]
    assert SCHEMAS["Refusal"]["description"] == sentences({refusal.value: refusal.sentence for refusal in Refusal})
    assert SCHEMAS["ProblemCode"]["enum"] == [problem.code for problem in Problem]
    assert SCHEMAS["ProblemCode"]["description"] == sentences({problem.code: problem.sentence for problem in Problem})
    assert SCHEMAS["Metric"]["properties"]["window"]["enum"] == [kind.value for kind in WindowKind]


@pytest.mark.parametrize(
    ("schema", "name", "pattern"),
    [
        ("Upload", "upload", UPLOAD_ID.pattern),
        *((schema, "metric", METRIC_NAME.pattern) for schema in ("Report", "Metric", "Tally")),
        *((schema, "edition", EDITION.pattern) for schema in ("Report", "Metric", "Tally")),
    ],
)
def test_names_have_the_form_that_the_code_reads(schema: str, name: str, pattern: str) -> None:
    assert SCHEMAS[schema]["properties"][name]["pattern"] == f"^{pattern}$"


def test_stopped_metrics_have_the_form_that_the_code_reads() -> None:
    stopped = SCHEMAS["Registry"]["properties"]["stopped"]["items"]
    assert stopped["pattern"] == f"^{METRIC_NAME.pattern}:{EDITION.pattern}$"


@for_each("name", SCHEMAS)
def test_every_schema_is_used(name: str) -> None:
    assert f'"#/components/schemas/{name}"' in json.dumps(DOCUMENT)


@for_each("text", ["1970-01-01", "2026-11-20", "2026-W01", "2026-W53", "9998-12", "9998-12-31"])
def test_windows_are_documented_as_they_are_read(text: str) -> None:
    assert Window.parse(text).text == text
    require_valid(SCHEMAS["Report"]["properties"]["window"], text)


def test_a_client_that_has_the_document_need_not_fetch_it_again() -> None:
    client = conforming_client(APP)
    tag = client.get("/v1/openapi.json").headers["ETag"]
    assert client.get("/v1/openapi.json", headers={"If-None-Match": tag}).status_code == HTTPStatus.NOT_MODIFIED
