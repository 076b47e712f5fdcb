"""Old tallies are removed by `hearsay-collector store retire`, or automatically if the registry
says how long to keep them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from client_sdk.protocol import Registry, Window, WindowKind
from collector.store.redis_store import RedisStore
from collector.store.strata import LEAST_REPORTS
from tests.support.services.collecting import report, upload
from tests.support.services.processes import run_command, running_collector, wait_until
from tests.support.services.wire import post, tallies

LONG_AGO = "2026-01-05"
"""A window that no retention of 3 days keeps."""


@pytest.mark.long
def test_a_closed_window_is_retired_on_request_and_an_open_one_never(registry_file: Path, tmp_path: Path) -> None:
    day, week = (Window.at(kind, time.time()).text for kind in (WindowKind.DAY, WindowKind.WEEK))
    data = ("--data-dir", str(tmp_path / "data"))
    command = (sys.executable, "-m", "collector")
    retire = (*command, "store", "retire", *data, "--before", "9000-01-01")
    with running_collector(registry_file, tmp_path / "data") as collector:
        post(collector.url, upload(report(window=day), report("os", 1, day), report("plan", 0, week)))
        assert run_command([*command, "store", "close", "--yes", *data, "--window", day]).returncode == 0
        rehearsed = run_command([*retire, "--dry-run"])
        assert rehearsed.stdout == f"{day}: 2 tallies\nwould remove 2 tallies of 1 closed window\n"
        assert len(tallies(collector.url)) == 2
        assert run_command(retire).stdout == f"{day}: 2 tallies\nremoved 2 tallies of 1 closed window\n"
        assert tallies(collector.url) == []
        assert [tally["window"] for tally in tallies(collector.url, "?preliminary=1")] == [week]
        late = post(collector.url, upload(report(window=day)))
        assert late == (200, {"accepted": 0, "refused": [{"index": 0, "code": "window_closed"}]})
        nonsense = run_command([*retire[:-1], "yesterday"])
        assert (nonsense.returncode, "such as 2026-11-20" in nonsense.stderr) == (2, True)


@pytest.mark.long
def test_a_collector_retires_what_its_registry_keeps_no_longer(registry_file: Path, tmp_path: Path) -> None:
    registry_file.write_text(registry_file.read_text().replace('epsilon = "ln 3"', 'epsilon = "ln 3"\nretention = 3'))
    edition = Registry.load(registry_file).metric("dark_mode").edition
    with running_collector(registry_file, tmp_path / "data") as collector:
        store = RedisStore((tmp_path / "data" / "store.address").read_text())
        for name in (f"dark_mode:{edition}:{LONG_AGO}", f"os:unknown:{LONG_AGO}"):
            store.run(0, "BITFIELD", f"{{0}}:tally:{name}", "SET", "i64", "#1", LEAST_REPORTS)
            store.run(0, "HSET", "{0}:tallies", name, 2)
            store.run(0, "SADD", "{0}:windows", LONG_AGO)
        store.remember_editions({"os:unknown": "unknown"})  # as the collector did that counted it
        wait_until(lambda: len(tallies(collector.url)) == 2, what="the clock to close the window")
        store.disconnect()
        collector.stop()
    with running_collector(registry_file, tmp_path / "data") as collector:
        wait_until(lambda: [tally["metric"] for tally in tallies(collector.url)] == ["os"], what="one tally to go")
