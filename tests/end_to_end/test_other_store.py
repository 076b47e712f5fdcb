"""The collector on a server that the operator runs, by `--redis URL`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from client_sdk.protocol import Window, WindowKind
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import of_shard, report, upload
from tests.support.services.own_store import running_server
from tests.support.services.partitions import HOUR_S, by_clock, set_clock
from tests.support.services.processes import command_line, free_port, run_command, running_collector, wait_until
from tests.support.services.programs import program
from tests.support.services.rights import RULES, USER
from tests.support.services.wire import post, tallies

CANARY = "canary-of-a-password"


@pytest.fixture(params=["always", "everysec"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    with running_server(tmp_path, request.param) as store:
        yield store.url, request.param


@pytest.mark.long
def test_a_server_is_used_if_it_writes_through_and_refused_otherwise(
    server: tuple[str, str], registry_file: Path, tmp_path: Path
) -> None:
    url, policy = server
    window = Window.at(WindowKind.DAY, time.time()).text
    options = ["--redis", url]
    if policy != "always":
        command = [sys.executable, "-m", "collector", "serve", "--registry", str(registry_file), *options]
        refused = run_command([*command, "--bind", f"127.0.0.1:{free_port()}"])
        assert (refused.returncode, "appendfsync always" in refused.stderr) == (1, True)
        return
    with running_collector(registry_file, tmp_path / "unused", *options) as collector:
        assert post(collector.url, upload(report(window=window)))[0] == 200
        command = [sys.executable, "-m", "collector", "store", "close", "--yes", "--window", window]
        assert run_command([*command, *options]).returncode == 0
        assert [tally["counts"] for tally in tallies(collector.url)] == [[0, 1]]
    assert list((tmp_path / "unused").iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("server", ["always"], indirect=True)
def test_a_collector_needs_no_more_than_its_rights_and_shows_its_password_nowhere(
    server: tuple[str, str], registry_file: Path, tmp_path: Path
) -> None:
    url, _ = server
    with redis.Redis.from_url(url) as administrator:
        administrator.execute_command("ACL", "SETUSER", USER, *RULES, f">{CANARY}")
    secret = tmp_path / "url"
    secret.write_text(f"{url.replace('//', f'//{USER}:{CANARY}@')}\n")
    window = Window.at(WindowKind.DAY, time.time()).text
    environment = {"HEARSAY_REDIS_URL_FILE": str(secret)}
    with running_collector(registry_file, tmp_path / "unused", environment=environment) as collector:
        assert post(collector.url, upload(report(window=window)))[0] == 200
        closed = run_command(
            [sys.executable, "-m", "collector", "store", "close", "--yes", "--window", window], **environment
        )
        assert closed.returncode == 0, closed.stderr
        assert [tally["counts"] for tally in tallies(collector.url)] == [[0, 1]]
        with redis.Redis.from_url(url) as administrator:
            wait_until(lambda: administrator.info("persistence")["aof_rewrites"] > 0, what="maintenance")
        shown = [command_line(pid) for pid in (collector.pid, *collector.worker_pids())]
    assert not any(CANARY in text for text in (*shown, closed.stdout, closed.stderr, collector.output.read_text()))


@pytest.mark.system
def test_clocks_that_are_apart_are_named_by_the_log_and_by_check(registry_file: Path, tmp_path: Path) -> None:
    program("faketime")
    set_clock(tmp_path, "server", 2 * HOUR_S)
    said = "the clock of a server of the store is 2 hours ahead of this machine's. Synchronize both clocks: a collector"
    with running_server(tmp_path, prefix=by_clock(tmp_path, "server")) as store:
        url = store.url
        with running_collector(registry_file, tmp_path / "unused", "--redis", url) as collector:
            wait_until(lambda: said in collector.output.read_text(), what="a line of the log")
        check = [sys.executable, "-m", "collector", "check", "--registry", str(registry_file), "--redis", url]
        assert f"warning clocks: {said}" in run_command(check).stdout


@pytest.mark.long
def test_a_cluster_is_used_and_a_window_closed_on_all_of_it(
    cluster: Cluster, registry_file: Path, tmp_path: Path
) -> None:
    cluster.wait_until_healthy()
    cluster.empty()
    window = Window.at(WindowKind.DAY, time.time()).text
    options = ["--redis", cluster.url, "--cluster"]
    replicated = [*options, "--durability", "replicated", "--copies", "1"]
    with running_collector(registry_file, tmp_path / "unused", *replicated) as collector:
        assert [post(collector.url, of_shard(shard, window))[0] for shard in range(64)] == [200] * 64
        closed = run_command(
            [sys.executable, "-m", "collector", "store", "close", "--yes", "--window", window, *options]
        )
        assert (closed.returncode, closed.stderr) == (0, "")
        assert [tally["counts"] for tally in tallies(collector.url)] == [[0, 0, 64, 0]]
        late = post(collector.url, of_shard(5, window))
        assert late == (200, {"accepted": 0, "refused": [{"index": 0, "code": "window_closed"}]})
