"""What leaves a device, and what stays on its disk, by way of ``record``.

Every path of its coins, exactly.
"""

from __future__ import annotations

import re
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from client_sdk.ledger.file import FILE_NAME
from client_sdk.protocol import Coins
from client_sdk.protocol.domain.label import Label
from client_sdk.telemetry import Telemetry
from tests.support.devices.clients import ScriptedTransport, registry, telemetry
from tests.support.laws.coins import ScriptedCoins, exact_law

REGISTRY = registry()
ANSWERS: list[tuple[str, Label]] = [
    (name, answer) for name in ("dark_mode", "system") for answer in REGISTRY.metric(name).domain.labels
]
RANDOM = re.compile(r"X?'[0-9a-f]{6,}'|[0-9.]+e[+]09|[0-9]{10}[.][0-9]+", re.IGNORECASE)
"""Ids, secrets, the file's number and the time to send in a dump: every device draws its own."""


def sent(metric: str, answer: object, coins: Coins) -> int:
    """Return the symbol that a device sends whose user gives an answer."""
    transport = ScriptedTransport()
    with telemetry(None, transport=transport, coins=coins) as device:
        device.record(metric, answer)
        device.flush(timeout_s=60)
    ((report,),) = (upload.reports for upload in transport.uploads)
    return report.symbol


@pytest.mark.parametrize(("metric", "answer"), ANSWERS, ids=str)
def test_what_leaves_a_device_has_the_declared_law_of_its_answer(metric: str, answer: Label) -> None:
    definition = REGISTRY.metric(metric)
    given = list(definition.domain.labels).index(answer)
    symbols = range(definition.channel.symbols)
    assert exact_law(lambda coins: sent(metric, answer, coins)) == {
        symbol: definition.channel.probability(symbol, given) for symbol in symbols
    }


def kept(device: Callable[[Path], Telemetry], answer: object) -> str:
    """Return all that a device has on disk after an answer, but for what is random."""
    with tempfile.TemporaryDirectory() as name:
        with device(Path(name)) as used:
            used.record("system", answer)
        with sqlite3.connect(Path(name) / FILE_NAME) as connection:
            return RANDOM.sub("random", "\n".join(connection.iterdump()))


def test_two_answers_that_are_reported_alike_leave_the_same_on_disk() -> None:
    def device(outcomes: list[bool | int]) -> Callable[[Path], Telemetry]:
        return lambda folder: telemetry(folder, coins=ScriptedCoins(outcomes))

    first, second, *_ = REGISTRY.metric("system").domain.labels
    truth, lie = kept(device([True, 0]), second), kept(device([False, 0]), first)
    assert truth == lie
    assert truth != kept(device([True, 0]), first)
