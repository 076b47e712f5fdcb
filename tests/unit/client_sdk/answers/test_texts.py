"""A device records a text: it is charged, and what leaves it is one symbol, whatever the text."""

from __future__ import annotations

from pathlib import Path

import pytest

from client_sdk import OutsideDomainError, Recorded, Registry, Telemetry
from client_sdk.testing import answers
from tests.support.devices.clients import COLLECTOR
from tests.support.devices.definitions import TEXT, registry_text

REGISTRY = Registry.parse(registry_text(word=TEXT))


@pytest.mark.parametrize("text", ["", "zebra", "congratulations and more".replace(" ", "-")])
def test_a_text_is_charged_and_leaves_as_one_symbol(tmp_path: Path, text: str) -> None:
    metric = REGISTRY.metric("word")
    with answers() as recorded, Telemetry(REGISTRY, collector=COLLECTOR, data_dir=tmp_path, consent=True) as telemetry:
        assert telemetry.record("word", text) is Recorded.QUEUED
        assert telemetry.flush(timeout_s=60)
        assert telemetry.record("word", text) is not Recorded.QUEUED  # one report a window
    (report,) = recorded.uploads.reports
    assert (report.metric, report.edition) == ("word", metric.edition)
    assert 0 <= report.symbol < metric.channel.symbols
    assert not text or text.encode() not in b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())


def test_a_text_of_other_letters_costs_nothing_and_is_not_named(tmp_path: Path) -> None:
    with answers() as recorded, Telemetry(REGISTRY, collector=COLLECTOR, data_dir=tmp_path, consent=True) as telemetry:
        with pytest.raises(OutsideDomainError, match="a text of the letters") as caught:
            telemetry.record("word", "Größe")
        assert "Größe" not in str(caught.value)
        assert telemetry.record("word", "zebra") is Recorded.QUEUED
    assert [answer.value for answer in recorded if answer.outcome is Recorded.QUEUED] == ["zebra"]
