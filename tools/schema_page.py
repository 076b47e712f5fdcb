"""The JSON Schema of each document, and the page on them, from the code's own records.

Run as ``python -m tools.schema_page``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from estimator.audit.exact.proof import ProvedAudit
from estimator.audit.run import Audit
from estimator.formats import tables
from estimator.plan.allocation import Allocation
from estimator.plan.plan import Plan
from estimator.rehearsal.model_rehearsal import RehearsedModel
from estimator.rehearsal.rehearsal import Rehearsal, RehearsedFigure
from estimator.results.estimate import Figure
from estimator.results.record import Record
from estimator.results.report import SCHEMA, EstimateReport

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "reference" / "report-schema.md"
SCHEMAS: Final = ROOT / "estimator" / "formats"

TYPE_WORDS: Final = {str: "text", bool: "truth value", int: "whole number", float: "number"}

DOCUMENTS: Final[dict[str, type[Record]]] = {
    "report": EstimateReport,
    "rehearsal": Rehearsal,
    "model-rehearsal": RehearsedModel,
    "plan": Plan,
    "allocation": Allocation,
    "audit": Audit,
    "proof": ProvedAudit,
}
"""What a command prints with ``--format json``, by the name of its schema."""

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

OTHERS_HEAD: Final = """
The other documents that a command prints with `--format json` have schemas beside that of the report. What they share
with it is described above.
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


def schema(name: str = "report") -> dict[str, Any]:
    """Return the JSON Schema of a document."""
    document = DOCUMENTS[name]
    figures = (Figure, RehearsedFigure) if document is Rehearsal else (Figure,)
    references = [{"$ref": f"#/$defs/{figure.__name__}"} for figure in figures]
    of_figures = references[0] if len(references) == 1 else {"anyOf": references}

    def of_unknown(kind: type) -> dict[str, Any]:
        return {"type": "string"} if kind is Fraction else {"type": "array", "items": of_figures}

    _, definitions = msgspec.json.schema_components((document, *figures), schema_hook=of_unknown)
    enumerations = {f"#/$defs/{name}": each["enum"] for name, each in definitions.items() if "enum" in each}
    for definition in definitions.values():
        definition["description"] = definition.get("description", "").partition("\n")[0]
        for field in definition.get("properties", {}).values():
            field.pop("default", None)
            if field.get("$ref") in enumerations:
                field["enum"] = enumerations[field.pop("$ref")]
    root = definitions.pop(document.__name__)
    for unwritten in document.unwritten:
        del root["properties"][unwritten]
    root["required"] = [field for field in root["required"] if field in root["properties"]]
    if document.schema_number is not None:
        number = {"const": document.schema_number, "description": "the number of this schema"}
        root |= {"properties": {"schema": number} | root["properties"], "required": ["schema", *root["required"]]}
    used = _used(root, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **root,
        "title": f"The {name.replace('-', ' ')} of hearsay-estimator",
        "$defs": {name: definition for name, definition in definitions.items() if name in used},
    }


def _used(node: Any, definitions: Mapping[str, Any]) -> set[str]:  # noqa: ANN401 any part of a schema
    """Return the names of the definitions to which a part of a schema leads."""
    used: set[str] = set()
    parts = [node]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            parts += part.values()
            name = str(part.get("$ref", "")).rpartition("/")[2]
            if name and name not in used:
                used.add(name)
                parts.append(definitions[name])
        elif isinstance(part, list):
            parts += part
    return used


def page() -> str:
    """Return the page in Markdown."""
    sections, known = [], set[str]()
    for name in DOCUMENTS:
        document = schema(name)
        sections.append(
            _section("### the report" if name == "report" else f"## The {name.replace('-', ' ')}", document)
        )
        sections += [_section(f"### {each}", said) for each, said in document["$defs"].items() if each not in known]
        known |= document["$defs"].keys()
        if name == "report":
            sections += [TABLE_HEAD, *_columns(), STATISTICS_HEAD, *_statistics(), OTHERS_HEAD]
    return HEAD + "".join(sections)


def schema_text(name: str) -> str:
    """Return the JSON Schema of a document as a file."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def _section(heading: str, definition: Mapping[str, Any]) -> str:
    lines = [f"\n{heading}\n", f"\n{definition['description']}\n"]
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
    for name, hint in get_type_hints(tables.Row, include_extras=True).items():
        yield f"| `{name}` | {TYPE_WORDS[tables.TYPES[name]]} | {hint.__metadata__[0]} |\n"


def _statistics() -> Iterator[str]:
    yield from (f"| `{name}` | {says} |\n" for name, says in tables.DESCRIPTIONS.items())


if __name__ == "__main__":
    for each in DOCUMENTS:
        (SCHEMAS / f"{each}.schema.json").write_text(schema_text(each), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
