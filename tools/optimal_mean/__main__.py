"""Writes or measures the tables of ``optimal-mean``: ``python -m tools.optimal_mean --help``."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

from client_sdk.protocol.mechanisms import optimal_mean
from client_sdk.protocol.mechanisms.optimal_mean import TABLES, Table
from tools.optimal_mean.derive import tables
from tools.optimal_mean.measure import GREATEST, Measured, measured, summary

MODULE: Final = Path(optimal_mean.__file__)

BEGIN: Final = "# fmt: off\nTABLES: Final = ("

END: Final = ")\n# fmt: on\n"


def digest(derived: Sequence[Table]) -> str:
    """Return the digest of tables: SHA-256 of their JSON, as lists in the order of their fields."""
    return hashlib.sha256(json.dumps(derived).encode()).hexdigest()


def _row(table: Table) -> str:
    text = f"Table({table.milliodds}, {table.width}, {table.half}, {table.middle}),"
    return fill(text, 120, initial_indent="    ", subsequent_indent="        ")


def main() -> None:
    """Derive or measure."""
    parser = argparse.ArgumentParser(prog="python -m tools.optimal_mean", description=__doc__)
    parser.add_argument("--measure", metavar="N", type=int, help="compare N epsilons with the linear programme")
    parser.add_argument("--most", metavar="EPSILON", type=float, default=GREATEST, help="measure no greater ones")
    given = parser.parse_args()
    if given.measure is not None:
        measurements: list[Measured] = []
        for row in measured(given.measure, given.most):
            measurements.append(row)
            print(f"| {row.epsilon:.4f} | {row.ours:.6g} | {row.least:.6g} | {row.ratio:.4f} |", flush=True)
        print("", *summary(measurements), sep="\n")
        return
    derived = tuple(tables())
    text = MODULE.read_text(encoding="utf-8")
    head, tail = text.partition(BEGIN)[0], text.partition(END)[2]
    rows = "".join(f"{_row(table)}\n" for table in derived)
    MODULE.write_text(f"{head}{BEGIN}\n{rows}{END}{tail}", encoding="utf-8")
    print(f"{len(derived)} tables; digest {digest(derived)}; before: {digest(TABLES)}")


if __name__ == "__main__":
    main()
