"""The JSON Schema of a report, and the page on it, from the code's own records.

Run as ``python -m tools.schema_page``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from estimator.results import row
from estimator.results.estimate import Figure
from estimator.results.report import SCHEMA, EstimateReport

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "reference" / "report-schema.md"
SCHEMA_FILE: Final = ROOT / "estimator" / "formats" / "report.schema.json"

NOT_IN_JSON: Final = "highlights"

TYPE_WORDS: Final = {str: "text", bool: "truth value", int: "whole number", float: "number"}

OF_A_REHEARSAL: Final[dict[str, Any]] = {
    "truth": {"type": ["number", "null"], "description": "of a rehearsal: what is true; null without any device"},
    "holds": {"type": ["boolean", "null"], "description": "of a rehearsal: whether the interval holds the truth"},
}
OF_REHEARSED: Final[dict[str, Any]] = {
    "coverage": {
        "type": "object",
        "additionalProperties": {"$ref": "#/$defs/Coverage"},
        "description": "of a rehearsal with rounds: how often intervals held the truth, by statistic; `band` is that "
        "of `at_most` at all its points together",
    },
    "band_holds": {
        "type": "boolean",
        "description": "of a rehearsal: whether the band holds the truth at all its points",
    },
}
MISSED_AND_FALSE: Final[dict[str, Any]] = {
    "false": {
        "type": "array",
        "items": {"type": "string"},
        "description": "of a rehearsal: the texts that were found though nobody has them",
    },
    "missed": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"value": {"type": "string"}, "truth": {"type": "number"}},
            "required": ["value", "truth"],
            "additionalProperties": False,
        },
        "description": "of a rehearsal: the texts that were not found, though more common than one that was",
    },
}
COVERAGE: Final[dict[str, Any]] = {
    "title": "Coverage",
    "description": "How often intervals held the truth in a rehearsal.",
    "type": "object",
    "properties": {
        "rounds": {"type": "integer", "description": "how many times everything was drawn anew"},
        "population": {"type": "number", "description": "of the population: what an interval promises"},
        "noise_alone": {"type": "number", "description": "of the same devices each time"},
    },
    "required": ["rounds", "population", "noise_alone"],
    "additionalProperties": False,
}

HEAD: Final = f"""\
# What a report holds

Schema {SCHEMA}. A field that is added, removed or changes its meaning makes another number; readers refuse numbers and
fields that they do not know. This page and [`report.schema.json`](../../estimator/formats/report.schema.json), a JSON
Schema that every report is tested against, are made from the code's own records: `python -m tools.schema_page`.

Every figure has the same names: `estimate` is unbiased (of a distribution: smoothed, within its interval),
`standard_error` is its own, `low` and `high` are the ends of its interval, `maximum_likelihood` is the likeliest value
among those that are possible.

## JSON

`report --format json`. Numbers are never NaN or infinite. A field marked *perhaps* stands only where it applies.
"""

TABLE_HEAD: Final = """\

## CSV, Parquet, frames

`report --format csv`, `report --format parquet`, `estimator.to_pandas(report)` and `estimator.to_polars(report)` have
the same columns, a row for each thing that was estimated. What is missing is an empty field in CSV, null in Parquet and
polars, NaN or NA in pandas. Truth values are `true` and `false` in CSV; a pair stands as `first, second`. The metadata
of a Parquet file hold the schema's number as `hearsay.schema`.

Devices choose the texts that are found. In CSV, the `value` of a `found_text` that begins with `=`, `+`, `-`, `@`, a
wide form of these, a tab, a line end or an apostrophe has an apostrophe in front of it, so that no spreadsheet runs it
as a formula. Programs that read the file remove that first apostrophe. Every other cell is exact: values come from the
registry and named texts from the analyst. JSON, Parquet and frames hold every text as it is, so export them to a
spreadsheet with the same care.

| column | holds | |
| --- | --- | --- |
"""

STATISTICS_HEAD: Final = """
| statistic | what it is |
| --- | --- |
"""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report, and of a rehearsal, which adds its own fields."""
    figures = {"type": "array", "items": {"$ref": "#/$defs/Figure"}}
    _, definitions = msgspec.json.schema_components((EstimateReport, Figure), schema_hook=lambda _: figures)
    definitions.pop("Highlight")
    definitions.pop("Precision")
    for definition in definitions.values():
        definition["description"] = definition["description"].partition("\n")[0]
        for field in definition["properties"].values():
            field.pop("default", None)
    report = definitions.pop("EstimateReport")
    del report["properties"][NOT_IN_JSON]
    report["properties"] = {
        "schema": {"const": SCHEMA, "description": "the number of this schema"},
        "seed": {"type": "integer", "description": "of a rehearsal: of everything random in it"},
    } | report["properties"]
    report["required"].insert(0, "schema")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **report,
        "title": "A report of hearsay-estimator",
        "$defs": _with_rehearsals(definitions),
    }


def _with_rehearsals(definitions: dict[str, Any]) -> dict[str, Any]:
    definitions["Figure"]["properties"] |= OF_A_REHEARSAL
    for name in ("MetricEstimate", "Skipped"):
        definitions[name]["properties"]["window"]["type"] = ["string", "null"]
        definitions[name]["properties"]["window"]["description"] += " Null in a rehearsal, which has none."
    definitions["MetricEstimate"]["properties"] |= OF_REHEARSED
    definitions["TextFindings"]["properties"] |= MISSED_AND_FALSE
    return definitions | {"Coverage": COVERAGE}


def page() -> str:
    """Return the page in Markdown."""
    document = schema()
    sections = [_section("the report", document)]
    sections += [_section(name, definition) for name, definition in document["$defs"].items()]
    return HEAD + "".join(sections) + TABLE_HEAD + "".join(_columns()) + STATISTICS_HEAD + "".join(_statistics())


def schema_text() -> str:
    """Return the JSON Schema as a file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _section(name: str, definition: Mapping[str, Any]) -> str:
    lines = [f"\n### {name}\n", f"\n{definition['description']}\n"]
    lines += ["\n| field | holds | |\n| --- | --- | --- |\n"]
    lines += [_field(field, says, definition.get("required", [])) for field, says in definition["properties"].items()]
    return "".join(lines)


def _field(name: str, says: Mapping[str, Any], required: list[str]) -> str:
    perhaps = "" if name in required else ", *perhaps*"
    return f"| `{name}` | {_type(says)}{perhaps} | {says.get('description', '')} |\n"


def _type(says: Mapping[str, Any]) -> str:
    if "$ref" in says:
        name = says["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in says:
        return " or ".join(dict.fromkeys(_type(each) for each in says["anyOf"]))
    if "const" in says:
        return f"`{json.dumps(says['const'])}`"
    if "enum" in says:
        return ", ".join(f"`{each}`" for each in says["enum"])
    if says["type"] == "array":
        return f"list of {_type(says['items'])}" if says.get("items") else "list"
    return " or ".join([says["type"]] if isinstance(says["type"], str) else says["type"])


def _columns() -> Iterator[str]:
    for name, hint in get_type_hints(row.Row, include_extras=True).items():
        yield f"| `{name}` | {TYPE_WORDS[row.TYPES[name]]} | {hint.__metadata__[0]} |\n"


def _statistics() -> Iterator[str]:
    yield from (f"| `{name}` | {says} |\n" for name, says in row.DESCRIPTIONS.items())


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_text(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
