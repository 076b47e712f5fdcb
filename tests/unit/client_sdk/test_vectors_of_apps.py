"""An app's vector: only the nearest prototype's label goes further, and that at random."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest

from client_sdk import OutsideDomainError, Recorded
from client_sdk.protocol.kinds.nearest import GRID
from tests.support.devices.clients import ScriptedTransport, all_bytes, ask, telemetry

MARK = 31415.926535
NEARLY_TRUE = ask('[metric.m]\nkind = "nearest"\nepsilon = 20\nprototypes = { far = "0 0", near = "31415 -31415" }')
WRITTEN = (
    b"31415.9",
    b"31415926",
    *(struct.pack(form, MARK) for form in (">d", "<d", ">f", "<f")),
    *(round(MARK * GRID).to_bytes(5, order) for order in ("big", "little")),
    str(round(MARK * GRID)).encode(),
)
"""The forms in which a number may be written."""


def test_no_number_of_a_vector_reaches_file_log_or_upload(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    transport = ScriptedTransport()
    with telemetry(tmp_path, registry=NEARLY_TRUE, transport=transport, strict=True) as device:
        assert device.record("m", [MARK, -MARK]) is Recorded.QUEUED
        for wrong in ([MARK], [MARK, float("nan")], [MARK, "x"]):
            with pytest.raises(OutsideDomainError) as caught:
                device.record("m", wrong)
            assert "31415" not in str(caught.value).partition("one of")[0]
            assert caught.value.__context__ is None
        assert device.flush(timeout_s=60)
        assert [entry.label for entry in device.history()] == ["near"]
    kept = all_bytes(tmp_path) + b"".join(transport.bodies) + caplog.text.encode()
    assert [form for form in WRITTEN if form in kept] == []
