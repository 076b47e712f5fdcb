"""A collector over real sockets that tries to recognize a device: its answers leave no mark."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from client_sdk import Telemetry
from client_sdk.ledger.outbox import MAX_SENT_ALONE
from client_sdk.protocol import Registry, Report, Upload
from client_sdk.sending.transport import HttpTransport
from tests.support.devices.clients import DAY_S, SetClock, ask, patient, registry
from tests.support.services.hostile_collector import (
    ANSWERS,
    TAG,
    HostileCollector,
    counted,
    hostile_collector,
    refusing,
)
from tests.support.services.processes import wait_until
from tests.support.services.tls import Certificates

FLUSH_S = 0.5

MONTHLY = ask('[metric.rare]\nkind = "boolean"\nwindow = "month"\n[metric.daily]\nkind = "boolean"\n')

REPORTS = (Report("daily", "0123456789ab", "2026-11-20", 1),)


def _metrics(upload: Upload) -> set[str]:
    return {report.metric for report in upload.reports}


def device(collector: HostileCollector, data_dir: Path, metrics: Registry, clock: Callable[[], float]) -> Telemetry:
    url = f"http://127.0.0.1:{collector.port}"
    return Telemetry(metrics, collector=url, data_dir=data_dir, consent=True, clock=clock)


@pytest.mark.parametrize("name", ANSWERS)
def test_no_answer_to_an_upload_marks_another(name: str, tmp_path: Path) -> None:
    seen: set[str] = set()

    def answer(upload: Upload) -> bytes:
        seen.add(upload.id)
        return ANSWERS[name] if _metrics(upload) == {"dark_mode"} else counted(upload)

    with hostile_collector() as collector, device(collector, tmp_path, registry(), SetClock()) as phone:
        collector.answer = answer
        for number, metric in enumerate(("dark_mode", "sound"), 1):
            patient(phone, metric)
            phone.flush(FLUSH_S)
            wait_until(lambda: len(seen) >= number, what="an upload")  # noqa: B023 called at once
        uploads = [exchange.upload for exchange in collector.exchanges]
        assert [_metrics(upload) for upload in dict.fromkeys(uploads)] == [{"dark_mode"}, {"sound"}]
        assert len({tuple(exchange.head) for exchange in collector.exchanges}) == 1
        assert not any(TAG.encode() in exchange.content for exchange in collector.exchanges)


def test_a_report_that_is_refused_for_ever_travels_with_no_other(tmp_path: Path) -> None:
    clock = SetClock()

    with hostile_collector() as collector:
        collector.answer = partial(refusing, metric="rare")
        for day in range(20):
            with device(collector, tmp_path, MONTHLY, clock) as phone:
                if not day:
                    patient(phone, "rare")
                patient(phone, "daily")
                phone.flush(FLUSH_S)
                phone.flush(FLUSH_S)
            clock.now_s += DAY_S
        uploads = list(dict.fromkeys(exchange.upload for exchange in collector.exchanges))
    first, *later = [upload for upload in uploads if "rare" in _metrics(upload)]
    assert _metrics(first) == {"rare", "daily"}
    assert [len(upload.reports) for upload in later] == [1] * len(later)
    assert 1 <= len(later) <= MAX_SENT_ALONE


def test_every_upload_has_a_connection_and_a_tls_session_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates = Certificates.issued_in(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificates.authority))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.server)
    with hostile_collector(context) as collector:
        collector.answer = lambda _: ANSWERS["a lasting connection"]
        transport = HttpTransport(f"https://127.0.0.1:{collector.port}")
        for number in range(3):
            reply = transport.post(Upload(f"{number:032x}", REPORTS).encode())
            assert reply is not None
        assert [exchange.upload.id for exchange in collector.exchanges] == [f"{number:032x}" for number in range(3)]
        assert not any(exchange.is_resumed for exchange in collector.exchanges)
