"""JSON Schemas (2020-12) of all bodies, made from the code's own limits and enumerations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from client_sdk.protocol.window import WindowKind
from client_sdk.protocol.wire.reading import MAX_SYMBOL, UPLOAD_ID
from client_sdk.protocol.wire.report import EDITION, MAX_REPORTS, METRIC_NAME
from client_sdk.protocol.wire.stopped import MAX_STOPPED
from client_sdk.protocol.wire.verdict import Refusal
from collector.api.batch import MAX_BULK_UPLOADS
from collector.api.problem import Problem

Schema = Mapping[str, Any]


def reference(name: str) -> Schema:
    """Return a reference to one of SCHEMAS."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(description: str, **properties: Schema) -> Schema:
    """Return the schema of an object that has exactly these fields; others are refused."""
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _tally() -> dict[str, object]:
    fields = {
        "metric": _pattern(METRIC_NAME.pattern),
        "edition": _pattern(EDITION.pattern),
        "window": _WINDOW,
        "closed": {"type": "boolean", "description": "Whether it can no longer change."},
        "reports": _COUNT,
        "counts": _list(_COUNT, minItems=1),
    }
    sparse = "For a large alphabet, the symbols with a count, ascending. Without this field every symbol has a count."
    return {
        **_object("The histogram of the reported symbols of one metric, edition and window."),
        "properties": {**fields, "symbols": {**_list(_COUNT, minItems=1), "description": sparse}},
        "required": list(fields),
    }


def _pattern(pattern: str) -> Schema:
    return {"type": "string", "pattern": f"^{pattern}$"}


def _list(items: Schema, **limits: int) -> Schema:
    return {"type": "array", "items": items, **limits}


_COUNT: Schema = {"type": "integer", "minimum": 0}

_YEAR = "(19[7-9][0-9]|[2-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])"

_WINDOW: Schema = {
    "type": "string",
    "description": "A UTC day, an ISO week that exists in its year, or a month, from 1970 to 9998.",
    "anyOf": [
        {"format": "date", **_pattern(f"{_YEAR}-[0-9]{{2}}-[0-9]{{2}}")},
        _pattern(f"{_YEAR}-W(0[1-9]|[1-4][0-9]|5[0-3])"),
        _pattern(f"{_YEAR}-(0[1-9]|1[0-2])"),
    ],
}

_SYMBOL: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_SYMBOL}

_TEXT_OF_INTEGER = _pattern("-?[0-9]+")

_VERDICT: Schema = {
    "accepted": _COUNT,
    "refused": _list(
        _object(
            "A report that was not counted, by its index in the upload.",
            index={**_COUNT, "maximum": MAX_REPORTS - 1},
            code=reference("Refusal"),
        ),
        maxItems=MAX_REPORTS,
    ),
}

SCHEMAS: Mapping[str, Schema] = {
    "Upload": _object(
        "Reports that are sent and counted together.",
        upload={**_pattern(UPLOAD_ID.pattern), "description": "Random; the same in every attempt to deliver."},
        reports=_list(reference("Report"), minItems=1, maxItems=MAX_REPORTS),
    ),
    "Report": _object(
        "One perturbed answer.",
        metric=_pattern(METRIC_NAME.pattern),
        edition=_pattern(EDITION.pattern),
        window=_WINDOW,
        symbol=_SYMBOL,
    ),
    "Verdict": _object("What became of an upload: how many reports were counted, and which were not.", **_VERDICT),
    "LineAnswer": {
        "description": "What became of one upload of a batch.",
        "oneOf": [
            _object("Its verdict.", upload=_pattern(UPLOAD_ID.pattern), **_VERDICT),
            _object(
                "Why this line has no verdict. With status 503 the same upload may be sent again, with others never.",
                line={"type": "integer", "minimum": 1, "maximum": MAX_BULK_UPLOADS},
                status={"type": "integer"},
                code=reference("ProblemCode"),
                detail={"type": "string"},
            ),
        ],
    },
    "Refusal": {
        "type": "string",
        "enum": [refusal.value for refusal in Refusal],
        "description": "\n".join(f"* `{refusal.value}`: {refusal.sentence}" for refusal in Refusal),
    },
    "Registry": _object(
        "The definitions, and the questions that devices ask no more.",
        metrics=_list(reference("Metric")),
        stopped={
            **_list(_pattern(f"{METRIC_NAME.pattern}:{EDITION.pattern}"), maxItems=MAX_STOPPED),
            "description": "Each as its metric and edition.",
        },
    ),
    "Metric": _object(
        "One question: everything that its edition is derived from, and what people are told about it.",
        metric=_pattern(METRIC_NAME.pattern),
        edition=_pattern(EDITION.pattern),
        editions={
            **_list(_pattern(EDITION.pattern), minItems=1),
            "description": "All that devices report under: that edition, and one for each public stratum.",
        },
        symbols=_COUNT,
        kind={"type": "string"},
        domain={"type": "object"},
        window={"type": "string", "enum": [kind.value for kind in WindowKind]},
        mechanism={"type": "string"},
        integers={
            "type": "object",
            "description": "The mechanism's integers, as strings: some are larger than every JSON reader can hold.",
            "additionalProperties": {"anyOf": [_TEXT_OF_INTEGER, _list(_TEXT_OF_INTEGER)]},
        },
        epsilon={"type": "number"},
        delta={"type": "number"},
        purpose={"type": "string"},
        expires={"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
        retention={"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
    ),
    "Tally": _tally(),
    "Problem": _object(
        "A problem document (RFC 9457).",
        type={"const": "about:blank"},
        title={"type": "string"},
        status={"type": "integer"},
        code=reference("ProblemCode"),
        detail={"type": "string", "description": "What was wrong and what to do, for people; never the input."},
    ),
    "ProblemCode": {
        "type": "string",
        "enum": [problem.code for problem in Problem],
        "description": "\n".join(f"* `{problem.code}`: {problem.sentence}" for problem in Problem),
    },
}
"""Every schema of the document by its name."""
