"""The content of a device's file after a kill, and its invariants."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from client_sdk.ledger.charges import SlotKey
from client_sdk.protocol import Report
from client_sdk.protocol.wire.reading import read_upload
from tests.support.devices.clients import rows


class State(NamedTuple):
    """The content of a ledger's file."""

    charges: dict[SlotKey, tuple[int, int, int]]
    waiting: list[Report]
    uploads: list[Report]
    history: set[SlotKey]
    slots: set[str]

    @classmethod
    def read(cls, data_dir: Path) -> State:
        """Look at the file as another process would."""
        charges = rows(data_dir, "SELECT metric, edition, window, nanos, attos, reported FROM charges")
        bodies = rows(data_dir, "SELECT body FROM uploads")
        return cls(
            {row[:3]: row[3:] for row in charges},
            [Report(*row) for row in rows(data_dir, "SELECT metric, edition, window, symbol FROM queue")],
            [report for (body,) in bodies for report in read_upload(body).reports],
            set(rows(data_dir, "SELECT metric, edition, window FROM history")),
            {window for (window,) in rows(data_dir, "SELECT window FROM slots")},
        )


def key_of(report: Report) -> SlotKey:
    """Return the key of a report's charge."""
    return report.metric, report.edition, report.window


def reports_and_charges_go_together(state: State) -> None:
    """Check that every report was paid for, and that every payment has its report."""
    here = [key_of(report) for report in (*state.waiting, *state.uploads)]
    assert len(here) == len(set(here))
    reported = {key for key, (_, _, done) in state.charges.items() if done}
    assert {*here, *state.history} == reported
