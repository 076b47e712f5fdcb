"""True answers on a device's disk, and nowhere else: the declared exceptions.

The privacy page shows this table, and `tests/exact/test_answers_leave_no_trace.py` compares
everything else.
"""

from __future__ import annotations

from typing import NamedTuple


class Declared(NamedTuple):
    """A true answer on disk.

    Attributes:
        setting: the setting of the registry that causes it, as the page names it.
        table: where in the ledger's file it is.
        columns: which part of the table's rows; ``*`` for whole rows.
        blanked: the statement that removes it from a copy.

    """

    setting: str
    table: str
    columns: str
    blanked: str


DECLARED = (
    Declared("persist", "counts", "count", "UPDATE counts SET count = 0 WHERE edition <> ''"),
    Declared('kind = "activity"', "counts", "*", "DELETE FROM counts WHERE edition = ''"),
)
