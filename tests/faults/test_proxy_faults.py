"""Collectors behind the real nginx that end and are replaced under load: `Load` is the oracle."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from collector.embedded.store import EmbeddedStore
from tests.support.services.delivering import Load
from tests.support.services.processes import RunningCollector, free_port, kill, running_collector
from tests.support.services.proxy import running_proxy
from tests.support.services.tls import Certificates
from tests.support.services.wire import tallies

pytestmark = pytest.mark.system

SENDERS = 4
MOST_UPLOADS_EACH = 100_000


def test_two_collectors_are_restarted_one_after_the_other_and_no_device_has_to_send_again(
    registry_file: Path, tmp_path: Path
) -> None:
    ports = [free_port(), free_port()]
    with ExitStack() as parts:
        store = parts.enter_context(EmbeddedStore(tmp_path / "store"))

        def started(port: int) -> tuple[ExitStack, RunningCollector]:
            own = parts.enter_context(ExitStack())
            options = ("--redis", store.url)
            return own, own.enter_context(running_collector(registry_file, tmp_path / str(port), *options, port=port))

        running = {port: started(port) for port in ports}
        collectors = [f"http://127.0.0.1:{port}" for port in ports]
        proxy = parts.enter_context(running_proxy(collectors, Certificates.issued_in(tmp_path)))
        load = Load(proxy.url, SENDERS, MOST_UPLOADS_EACH, proxy.post)
        for port in ports:
            load.wait_for(load.acknowledged + 100)
            running[port][0].close()
            load.wait_for(load.acknowledged + 100)
            running[port] = started(port)
        load.wait_for(load.acknowledged + 100)
        kill(running[ports[0]][1].worker_pids()[0])
        load.wait_for(load.acknowledged + 100)
        load.end()
        assert load.statuses == {200: load.acknowledged}
        counted = [sum(tally["counts"]) for tally in tallies(collectors[1], "?preliminary=1")]
        assert sum(counted) == load.acknowledged
