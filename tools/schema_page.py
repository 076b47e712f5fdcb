"""The page on what a report holds, from its JSON Schema and its columns: ``python -m tools.schema_page``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, get_type_hints

from estimator.formats import rows
from estimator.formats.row import SCHEMA

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs" / "report-schema.md"
SCHEMA_FILE: Final = ROOT / "estimator" / "render" / "report.schema.json"

TYPE_WORDS: Final = {str: "text", bool: "truth value", int: "whole number", float: "number"}

HEAD: Final = f"""\
# What a report holds

Schema {SCHEMA}. A field that is added, removed or changes its meaning makes another number; readers refuse numbers and
fields that they do not know. This page is made from [`report.schema.json`](../estimator/render/report.schema.json), a
JSON Schema that every report is tested against, and from the columns of the code:
`python -m tools.schema_page`.

## JSON

`report --format json`. Numbers are never NaN or infinite. A field marked *perhaps* stands only where it applies.
"""

TABLE_HEAD: Final = """\

## CSV, Parquet, frames

`report --format csv`, `report --format parquet`, `to_pandas()` and `to_polars()` have the same columns, a row for each
thing that was estimated. What is missing is an empty field in CSV, null in Parquet and polars, NaN or NA in pandas.
Truth values are `true` and `false` in CSV; a pair stands as `first, second`. The metadata of a Parquet file hold the
schema's number as `hearsay.schema`.

| column | holds | |
| --- | --- | --- |
"""

STATISTICS_HEAD: Final = """
| statistic | is the estimate of |
| --- | --- |
"""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a report."""
    read: dict[str, Any] = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return read


def page() -> str:
    """Return the page in Markdown."""
    document = schema()
    sections = [_section("the report", document)]
    sections += [_section(name, one) for name, one in document["$defs"].items()]
    return HEAD + "".join(sections) + TABLE_HEAD + "".join(_columns()) + STATISTICS_HEAD + "".join(_statistics())


def _section(name: str, one: Mapping[str, Any]) -> str:
    lines = [f"\n### {name.replace('_', ' ')}\n", f"\n{one['description']}\n"]
    if "properties" in one:
        lines += ["\n| field | holds | |\n| --- | --- | --- |\n"]
        lines += [_field(field, says, one["required"]) for field, says in one["properties"].items()]
    return "".join(lines)


def _field(name: str, says: Mapping[str, Any], required: list[str]) -> str:
    perhaps = "" if name in required else ", *perhaps*"
    return f"| `{name}` | {_type(says)}{perhaps} | {says.get('description', '')} |\n"


def _type(says: Mapping[str, Any]) -> str:
    if "$ref" in says:
        name = says["$ref"].rpartition("/")[2].replace("_", " ")
        return f"[{name}](#{name.replace(' ', '-')})"
    if "anyOf" in says:
        return " or ".join(_type(one) for one in says["anyOf"])
    if "const" in says:
        return f"`{json.dumps(says['const'])}`"
    if "enum" in says:
        return ", ".join(f"`{one}`" for one in says["enum"])
    if says["type"] == "array":
        return f"list of {_type(says['items'])}"
    return " or ".join([says["type"]] if isinstance(says["type"], str) else says["type"])


def _columns() -> Iterator[str]:
    for name, hint in get_type_hints(rows.Row, include_extras=True).items():
        yield f"| `{name}` | {TYPE_WORDS[rows.TYPES[name]]} | {hint.__metadata__[0]} |\n"


def _statistics() -> Iterator[str]:
    yield from (f"| `{name}` | {says} |\n" for name, says in rows.STATISTICS.items())


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
