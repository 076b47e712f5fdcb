"""Writes the tables of ``optimal-mean``: ``python -m tools.optimal_mean``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

from client_sdk.protocol.mechanisms import optimal_mean
from client_sdk.protocol.mechanisms.optimal_mean import TABLES, Table
from tools.optimal_mean.derive import tables

MODULE: Final = Path(optimal_mean.__file__)

BEGIN: Final = "# fmt: off\nTABLES: Final = ("

END: Final = ")\n# fmt: on\n"


def digest(derived: Sequence[Table]) -> str:
    """Return the SHA-256 digest of tables as JSON. Each table is a list of its fields."""
    return hashlib.sha256(json.dumps(derived).encode()).hexdigest()


def _row(table: Table) -> str:
    text = f"Table({table.milliodds}, {table.width}, {table.half}, {table.middle}),"
    return fill(text, 120, initial_indent="    ", subsequent_indent="        ")


def main() -> None:
    """Derive the tables and write them into the module."""
    derived = tuple(tables())
    text = MODULE.read_text(encoding="utf-8")
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    rows = "".join(f"{_row(table)}\n" for table in derived)
    MODULE.write_text(f"{head}{BEGIN}\n{rows}{END}{tail}", encoding="utf-8")
    print(f"{len(derived)} tables; digest {digest(derived)}; before: {digest(TABLES)}")


if __name__ == "__main__":
    main()
