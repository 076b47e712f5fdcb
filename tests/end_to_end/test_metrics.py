"""The metrics of a real collector: sums over its workers, dead ones included, on an address of
their own.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from tests.support.services.collecting import report, upload
from tests.support.services.metrics import scrape
from tests.support.services.processes import free_port, kill, running_collector, wait_until
from tests.support.services.wire import post, raw_answer, tallies, with_length


@pytest.mark.long
def test_workers_count_together_and_go_on_where_a_dead_one_ended(
    registry_file: Path, tmp_path: Path, short_folder: Path
) -> None:
    port = free_port()
    window = Window.at(WindowKind.DAY, time.time()).text
    body = upload(report(window=window), report("os", 9, window))
    options = ("--workers", "2", "--metrics-bind", f"127.0.0.1:{port}")
    environment = {"TMPDIR": str(short_folder)}
    with running_collector(registry_file, tmp_path / "data", *options, environment=environment) as collector:
        assert post(collector.url, body)[0] == post(collector.url, body)[0] == 200
        for _ in range(20):
            assert post(collector.url, upload(report(window=window)))[0] == 200
        assert raw_answer(collector.url, with_length(b"{"))[0] == 400
        before = set(collector.worker_pids())
        kill(next(iter(before)))
        wait_until(lambda: bool(set(collector.worker_pids()) - before), what="another worker")
        wait_until(lambda: post(collector.url, body)[0] == 200, what="an acknowledgement")
        wait_until(lambda: scrape(port)["hearsay_windows", ("open",)] == 1, what="a look at the windows")
        samples = scrape(port)
        assert sum(tally["reports"] for tally in tallies(collector.url, "?preliminary=1")) == 21
    assert samples["hearsay_uploads_total", ("counted",)] == 21
    assert samples["hearsay_uploads_total", ("duplicate",)] == 2
    assert samples["hearsay_reports_total", ("accepted",)] == 21
    assert samples["hearsay_reports_total", ("symbol_out_of_range",)] == 1
    assert samples["hearsay_problems_total", ("invalid_json",)] == 1
    assert samples["hearsay_request_seconds_count", ("post_reports",)] == 24
    assert samples["hearsay_store_up", ()] == samples["hearsay_store_noted", ()] == 1
    assert samples["hearsay_store_errors_total", ()] == 0
    assert list(short_folder.iterdir()) == []
