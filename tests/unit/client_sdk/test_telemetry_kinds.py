"""Counts, scales, sets, pairs and texts on a device: recorded and charged once, never shown."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from client_sdk import OutsideDomainError, Recorded, Registry
from client_sdk.protocol.epsilon import as_float
from tests.support.devices.clients import RARE, ScriptedTransport, all_bytes, telemetry
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    ORDINAL,
    SET,
    TEXT,
    USEFUL,
    registry_text,
)

VALUES = ["a", "b", RARE]
EVERY_KIND = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY | {"values": VALUES},
        visits=COUNT,
        often=ORDINAL | {"values": VALUES},
        tags=SET | {"values": VALUES},
        both=CROSS,
        slow=GAUSSIAN,
        near=USEFUL | {"values": VALUES},
        cut=COUNT | {"mechanism": "laplace"},
        deep=COUNT | {"max": 40, "statistic": "quantiles"},
        word=TEXT,
    )
)
ANSWERS: dict[str, object] = {
    "visits": 9,
    "often": RARE,
    "tags": {RARE, "a"},
    "both": (True, RARE),
    "slow": 4.5,
    "near": RARE,
    "cut": 0,
    "deep": 17,
    "word": RARE,
}


def test_every_kind_is_recorded_once_charged_and_shown_nowhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    transport = ScriptedTransport()
    with telemetry(tmp_path, registry=EVERY_KIND, transport=transport) as device:
        assert [device.record(metric, answer) for metric, answer in ANSWERS.items()] == [Recorded.QUEUED] * len(ANSWERS)
        assert device.record("tags", []) is Recorded.ALREADY_RECORDED
        charged = sum(EVERY_KIND.metric(metric).epsilon_nanos for metric in ANSWERS)
        assert device.budget().lifetime_spent == as_float(charged)
        device.flush(timeout_s=60)
        assert {entry.metric for entry in device.history()} == set(ANSWERS)
        assert RARE.encode() not in all_bytes(tmp_path)
    assert RARE.encode() not in all_bytes(tmp_path) + b"".join(transport.bodies)
    assert RARE not in caplog.text


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        *(("visits", 3.1415), ("often", "secret-31415"), ("tags", ["a", "secret-31415"])),
        *(("tags", {"secret-31415": 1}), ("tags", "secret-31415"), ("both", (True, "secret-31415"))),
        *(("both", ["secret-31415", "a", "b"]), ("slow", [31415]), ("word", "secret-31415")),
    ],
)
def test_a_programmer_error_does_not_hold_the_answer(metric: str, value: object) -> None:
    with telemetry(None, registry=EVERY_KIND, strict=True) as device:
        with pytest.raises(OutsideDomainError) as caught:
            device.record(metric, value)
        error = caught.value
        assert error.__cause__ is None
        assert error.__context__ is None
        assert "31415" not in str(error) + repr(error) + repr(vars(error))
        assert error.__traceback__ is not None
        below = traceback.TracebackException(
            type(error), error, error.__traceback__.tb_next, capture_locals=True, compact=True
        )
        assert "31415" not in "".join(below.format())
        assert device.history() == []
