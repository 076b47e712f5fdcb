"""The JSON Schemas of the documents that commands print, and their tables in the docs.

``python -m tools.schema_page`` writes the schemas into the estimator.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec

from estimator.audit.proof import ProvedAudit
from estimator.audit.run import Audit
from estimator.formats import tables
from estimator.plan.allocation import Allocation
from estimator.plan.plan import Plan
from estimator.rehearsal.model_rehearsal import RehearsedModel
from estimator.rehearsal.rehearsal import Rehearsal, RehearsedFigure
from estimator.results.estimate import Figure, Record
from estimator.results.report import EstimateReport
from tools.reference.markdown import table

ROOT: Final = Path(__file__).parents[1]
SCHEMAS: Final = ROOT / "estimator" / "formats"

TYPE_WORDS: Final = {
    str: "text",
    bool: "truth value",
    int: "whole number",
    float: "number",
    datetime: "instant",
}

DOCUMENTS: Final[dict[str, type[Record]]] = {
    "report": EstimateReport,
    "rehearsal": Rehearsal,
    "model-rehearsal": RehearsedModel,
    "plan": Plan,
    "allocation": Allocation,
    "audit": Audit,
    "proof": ProvedAudit,
}
"""The documents that commands print with ``--format json``, by the name of the schema."""


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
    """Return the names of the definitions that a part of a schema uses, also indirectly."""
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


def report() -> str:
    """Return, in Markdown, tables of the fields of a report in JSON."""
    return _sections("### the report", schema())


def others() -> str:
    """Return tables of the fields of all other documents. Shared parts occur only once."""
    known, shown = set(schema()["$defs"]), ""
    for name in list(DOCUMENTS)[1:]:
        shown += _sections(f"## The {name.replace('-', ' ')}", schema(name), known)
        known |= schema(name)["$defs"].keys()
    return shown


def schema_text(name: str) -> str:
    """Return the content of the file with the JSON Schema of a document."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def _sections(heading: str, document: Mapping[str, Any], known: Collection[str] = ()) -> str:
    inner = [_section(f"### {name}", each) for name, each in document["$defs"].items() if name not in known]
    return _section(heading, document) + "".join(inner)


def _section(heading: str, definition: Mapping[str, Any]) -> str:
    lines = [_field(field, says, definition.get("required", [])) for field, says in definition["properties"].items()]
    return f"\n{heading}\n\n{definition['description']}\n\n| field | holds | |\n| --- | --- | --- |\n{''.join(lines)}"


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


def columns() -> str:
    """Return a table of the columns of a report in CSV."""
    hints = get_type_hints(tables.Row, include_extras=True).items()
    return table(
        ("column", "holds", ""), [(f"`{n}`", TYPE_WORDS[tables.TYPES[n]], hint.__metadata__[0]) for n, hint in hints]
    )


def statistics() -> str:
    """Return a table of the values of the column ``statistic``, with their descriptions."""
    return table(("statistic", "what it is"), [(f"`{name}`", says) for name, says in tables.DESCRIPTIONS.items()])


if __name__ == "__main__":
    for each in DOCUMENTS:
        (SCHEMAS / f"{each}.schema.json").write_text(schema_text(each), encoding="utf-8")
