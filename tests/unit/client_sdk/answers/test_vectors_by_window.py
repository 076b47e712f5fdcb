"""A vector's symbol belongs to the window of its report, whatever clock and ledger say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from client_sdk import Recorded
from client_sdk.protocol import Registry
from client_sdk.testing import FakeClock, KeptUploads, SeededCoins
from tests.support.devices.clients import telemetry
from tests.support.devices.definitions import VECTOR, registry_text

REGISTRY = Registry.parse(registry_text(embedding=VECTOR | {"length": 5, "epsilon": 8}))
ANSWER = [0.5, -0.5, 0.25, 0.0, 0.125]
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


def record(clock: FakeClock, seed: int, path: Path | None = None) -> tuple[Recorded, KeptUploads]:
    transport = KeptUploads()
    with telemetry(path, registry=REGISTRY, clock=clock, transport=transport, coins=SeededCoins(seed)) as device:
        recorded = device.record("embedding", ANSWER)
        device.flush()
    return recorded, transport


def test_the_symbol_is_that_of_the_rotations_of_the_reports_own_window() -> None:
    metric = REGISTRY.metric("embedding")
    symbols = set()
    for day in range(3):
        clock = FakeClock(NOON + timedelta(days=day))
        recorded, transport = record(clock, 1)
        assert recorded is Recorded.QUEUED
        (report,) = transport.reports
        assert report.window == f"{clock.now:%Y-%m-%d}"
        assert report.symbol == metric.perturb(ANSWER, SeededCoins(1), report.window)
        symbols.add(report.symbol)
    assert len(symbols) == 3


def test_a_symbol_of_another_window_than_the_ledgers_is_busy_once_and_never_reported(tmp_path: Path) -> None:
    midnight = FakeClock(datetime(2026, 7, 2, tzinfo=UTC))
    assert record(midnight, 1, tmp_path)[0] is Recorded.QUEUED
    behind = FakeClock(midnight.now - timedelta(seconds=1))
    transport = KeptUploads()
    registry = Registry.parse(registry_text(other=VECTOR | {"length": 5}))
    with telemetry(tmp_path, registry=registry, clock=behind, transport=transport, coins=SeededCoins(2)) as device:
        assert device.record("other", ANSWER) is Recorded.BUSY
        assert device.record("other", ANSWER) is Recorded.QUEUED
        device.flush()
    assert [report.window for report in transport.reports] == ["2026-07-02"]
