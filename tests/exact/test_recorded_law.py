"""What leaves a device by way of ``record``: every path of its coins, exactly."""

from __future__ import annotations

import pytest

from client_sdk.protocol import Coins
from client_sdk.protocol.kinds.kind import Label
from tests.support.devices.clients import ScriptedTransport, registry, telemetry
from tests.support.laws.coins import exact_law

REGISTRY = registry()
ANSWERS: list[tuple[str, Label]] = [
    (name, answer) for name in ("dark_mode", "system") for answer in REGISTRY.metric(name).labels
]


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
    given = list(definition.labels).index(answer)
    symbols = range(definition.channel.symbols)
    assert exact_law(lambda coins: sent(metric, answer, coins)) == {
        symbol: definition.channel.probability(symbol, given) for symbol in symbols
    }
