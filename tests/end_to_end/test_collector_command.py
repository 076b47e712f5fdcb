"""The collector as its operator sees it: start, stop, bad settings, and what it leaves behind."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
from click.testing import CliRunner, Result

from collector import service
from collector.commands.cli import cli
from tests.support.devices.definitions import TEXT, registry_text
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.living_files import of_files
from tests.support.services.processes import (
    READ_TOKEN,
    RunningCollector,
    command_line,
    free_port,
    is_running,
    kill,
    run_command,
    running_collector,
    wait_until,
)
from tests.support.services.wire import post, tallies


def serve(registry: Path, *options: object) -> subprocess.CompletedProcess[str]:
    """Run a collector that is expected to end by itself."""
    return run_command([sys.executable, "-m", "collector", *words(registry, *options)])


def words(registry: Path, *options: object) -> list[str]:
    """Return the command line of a collector on a free port."""
    return [str(word) for word in ("serve", "--registry", registry, "--bind", f"127.0.0.1:{free_port()}", *options)]


@pytest.fixture
def started_here(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """A function that starts a collector in this process, up to the mistake that ends it."""
    monkeypatch.setattr(service, "configure", lambda _: None)
    monkeypatch.setattr(service, "signal", SimpleNamespace(signal=lambda *_: None, SIGHUP=None, SIG_IGN=None))
    monkeypatch.setattr(service, "run_workers", lambda *_, **__: pytest.fail("it serves"))
    monkeypatch.setenv("HEARSAY_READ_TOKEN", READ_TOKEN)
    return lambda *options: CliRunner().invoke(cli, words(*options))


@pytest.fixture(scope="module")
def metrics_bind() -> str:
    return f"127.0.0.1:{free_port()}"


@pytest.fixture(scope="module")
def collector(metrics_bind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCollector]:
    """A collector whose data directory was there before, for anybody to read. Its token is in a
    file.
    """
    folder = tmp_path_factory.mktemp("collector")
    (folder / "token").write_text(f"{READ_TOKEN}\n")
    options = ("--metrics-bind", metrics_bind, "--read-token-file", str(folder / "token"))
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY_TEXT, encoding="utf-8")
    (folder / "data").mkdir(mode=0o755)
    with running_collector(registry, folder / "data", *options, environment={"HEARSAY_READ_TOKEN": None}) as running:
        assert post(running.url, upload(report(window=today())))[0] == 200
        yield running


def test_an_address_in_use_is_named(
    collector: RunningCollector, metrics_bind: str, registry_file: Path, tmp_path: Path
) -> None:
    bind = collector.url.removeprefix("http://")
    for option, address, purpose in (("--bind", bind, "listen"), ("--metrics-bind", metrics_bind, "serve metrics")):
        second = serve(registry_file, option, address, "--data-dir", tmp_path / "data")
        assert second.returncode == 1
        assert f"cannot {purpose} on {address}" in second.stderr
        assert option in second.stderr


@pytest.mark.long
def test_a_data_directory_in_use_is_named_and_its_collector_continues(
    collector: RunningCollector, registry_file: Path
) -> None:
    second = serve(registry_file, "--data-dir", collector.data_dir)
    assert post(collector.url, upload(report(window=today())))[0] == 200
    assert second.returncode == 1
    assert "is in use by another collector" in second.stderr
    assert "--data-dir" in second.stderr


def test_the_store_has_a_session_of_its_own(collector: RunningCollector) -> None:
    assert os.getsid(collector.store_pid()) == collector.supervisor_pid() != os.getsid(collector.pid)


def test_a_configured_token_opens_the_tallies_and_is_shown_nowhere(collector: RunningCollector) -> None:
    for token, status in ((READ_TOKEN, 200), ("another-token", 401)):
        headers = {"Authorization": f"Bearer {token}"}
        assert requests.get(f"{collector.url}/v1/tallies", headers=headers, timeout=30).status_code == status
    assert READ_TOKEN not in collector.output.read_text()
    processes = [collector.pid, collector.supervisor_pid(), collector.store_pid(), *collector.worker_pids()]
    assert not any(READ_TOKEN in command_line(pid) for pid in processes)


def test_nobody_else_can_read_the_data_directory_even_if_it_was_there_before(collector: RunningCollector) -> None:
    modes = dict(of_files(lambda path: (path, path.stat().st_mode), collector.data_dir))
    assert modes
    assert [path for path, mode in modes.items() if mode & 0o077] == []


@pytest.mark.long
def test_a_host_name_can_be_bound_behind_a_proxy_setting_too_and_an_unknown_one_is_named(
    registry_file: Path, tmp_path: Path
) -> None:
    proxy = {"http_proxy": "http://127.0.0.1:9", "no_proxy": None, "NO_PROXY": None}
    with running_collector(registry_file, tmp_path / "data", host="localhost", environment=proxy) as collector:
        assert "is ready on http://localhost:" in collector.output.read_text()
    refused = serve(registry_file, "--bind", "no.such.host.invalid:8080", "--data-dir", tmp_path / "data")
    assert (refused.returncode, "no.such.host.invalid is not an address" in refused.stderr) == (1, True)
    assert "Traceback" not in refused.stderr


def test_an_unwritable_data_directory_is_named(registry_file: Path, started_here: Callable[..., Result]) -> None:
    result = started_here(registry_file, "--data-dir", registry_file / "below-a-file")
    assert result.exit_code == 1
    assert "below-a-file cannot be used" in result.stderr


def test_a_broken_registry_is_named_by_metric_and_key(
    registry_file: Path, started_here: Callable[..., Result], tmp_path: Path
) -> None:
    registry_file.write_text(registry_file.read_text().replace('kind = "boolean"', 'kind = "bolean"', 1))
    result = started_here(registry_file, "--data-dir", tmp_path / "data")
    assert result.exit_code == 2
    assert "metric.dark_mode.kind: must be one of" in result.stderr


@pytest.mark.long
def test_a_data_directory_that_the_store_cannot_read_is_named_and_left_as_it_is(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        post(collector.url, upload(report(window=today())))
    # two files, if a rewrite was cut off
    *_, log = sorted((tmp_path / "data" / "appendonlydir").glob("*.incr.aof"))
    # no beginning of a command, even if nothing follows
    spoiled = b"*1\r\n$7\r\nNONSENSE\r\n" + log.read_bytes()
    log.write_bytes(spoiled)
    result = serve(registry_file, "--data-dir", tmp_path / "data")
    assert result.returncode == 1
    # a log that was begun just before the end is in no note yet: the store itself refuses it
    by_note = "was changed after it was written" in result.stderr
    assert by_note or "unknown command 'NONSENS'" in result.stderr
    assert not by_note or "run hearsay-collector store accept-loss --data-dir" in result.stderr
    assert log.read_bytes() == spoiled


def test_a_store_that_is_down_at_start_is_named(registry_file: Path, started_here: Callable[..., Result]) -> None:
    result = started_here(registry_file, "--redis", f"redis://127.0.0.1:{free_port()}")
    assert result.exit_code == 1
    assert "the store cannot be used: nothing listens at its address" in result.stderr


@pytest.mark.long
def test_it_ends_with_status_0_leaving_no_process_and_keeping_what_it_counted(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        assert post(collector.url, upload(report(window=today())))[0] == 200
        started = [collector.pid, collector.supervisor_pid(), collector.store_pid(), *collector.worker_pids()]
        assert len(started) == 4
        assert collector.stop() == 0
        assert [pid for pid in started if is_running(pid)] == []
    with running_collector(registry_file, tmp_path / "data") as collector:
        assert [tally["counts"] for tally in tallies(collector.url, "?preliminary=1")] == [[0, 1]]


def test_it_ends_whichever_of_its_threads_receives_the_signal(registry_file: Path, tmp_path: Path) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        threads = [int(task.name) for task in Path(f"/proc/{collector.pid}/task").iterdir()]
        other = next(thread for thread in threads if thread != collector.pid)
        assert ctypes.CDLL(None).tgkill(collector.pid, other, signal.SIGTERM) == 0
        assert collector.process.wait(60) == 0


def test_everything_ends_when_the_main_process_is_killed(registry_file: Path, tmp_path: Path) -> None:
    with running_collector(registry_file, tmp_path / "data") as collector:
        left_behind = [collector.supervisor_pid(), collector.store_pid(), *collector.worker_pids()]
        kill(collector.pid)
        collector.process.wait()
        wait_until(lambda: not any(map(is_running, left_behind)), what="the others to end")


def test_a_random_read_token_is_made_and_shown_once_where_none_is_configured(
    tmp_path: Path, started_here: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEARSAY_READ_TOKEN", raising=False)
    result = started_here(tmp_path / "none.toml")
    again = started_here(tmp_path / "none.toml")
    shown = [run.stderr.partition("read token for this run is: ")[2].split()[0] for run in (result, again)]
    assert shown[0] != shown[1]
    assert min(map(len, shown)) >= 32
    assert result.stderr.count(shown[0]) == 1


@pytest.mark.long
def test_a_window_can_be_closed_early_and_only_if_it_has_begun(registry_file: Path, tmp_path: Path) -> None:
    close = (
        sys.executable,
        "-m",
        "collector",
        "store",
        "close",
        "--yes",
        "--data-dir",
        str(tmp_path / "data"),
        "--window",
    )
    stopped = run_command([*close, today()])
    assert (stopped.returncode, "no collector is running on" in stopped.stderr) == (1, True)
    with running_collector(registry_file, tmp_path / "data") as collector:
        sent = upload(report(window=today()))
        assert post(collector.url, sent) == (200, {"accepted": 1, "refused": []})
        closed = run_command([*close, today()])
        sealed = f"closing window {today()} for good: it has 1 report of 1 question; later reports for it are refused"
        assert (closed.returncode, closed.stdout) == (0, f"{sealed}\nwindow {today()} is closed\n")
        again = run_command([*close, today()])
        assert (again.returncode, again.stdout) == (0, f"window {today()} was closed already\n")
        assert post(collector.url, sent) == (200, {"accepted": 1, "refused": []})
        refused = [{"index": 0, "code": "window_closed"}]
        assert post(collector.url, upload(report(window=today()))) == (200, {"accepted": 0, "refused": refused})
        assert [(tally["closed"], tally["counts"]) for tally in tallies(collector.url)] == [(True, [0, 1])]
        future = run_command([*close, "9000-01-01"])
        assert (future.returncode, "has not begun" in future.stderr) == (1, True)
        nonsense = run_command([*close, "yesterday"])
        assert (nonsense.returncode, "such as 2026-11-20" in nonsense.stderr) == (2, True)


@pytest.mark.parametrize("module", ["flask", "redis", "granian"])
def test_a_command_whose_extra_is_missing_says_how_to_install_it(module: str) -> None:
    hidden = f"import sys; sys.modules['{module}'] = None; from collector.__main__ import main; sys.exit(main())"
    result = run_command([sys.executable, "-c", hidden, "serve", "--registry", "none.toml"])
    assert result.returncode == 1
    assert "pip install 'hearsay-ldp[collector]'" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_socket_path_that_would_be_too_long_is_named(
    registry_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    monkeypatch.setenv("TMPDIR", str(long))
    result = serve(registry_file, "--data-dir", long / "data")
    assert (result.returncode, "set TMPDIR" in result.stderr) == (1, True)
    assert [path.name for path in long.rglob("*")] == ["data", "store.lock"]


def test_a_registry_whose_tallies_do_not_fit_into_the_store_is_refused_at_the_start(tmp_path: Path) -> None:
    large, registry_file = TEXT | {"cells": 131_072, "max_length": 16}, tmp_path / "metrics.toml"
    registry_file.write_text(registry_text(word=large, phrase=large))
    refused = serve(registry_file, "--data-dir", tmp_path / "data", "--store-memory", "16M")
    assert refused.returncode == 1
    assert "needs up to 24 MB in 1 shard, but 17 MB is all that the servers may use: give the" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.long
def test_a_store_is_not_served_under_another_apps_registry_unless_it_is_renamed(
    registry_file: Path, tmp_path: Path
) -> None:
    with running_collector(registry_file, tmp_path / "data"):
        pass
    other = tmp_path / "other.toml"
    other.write_text(registry_file.read_text().replace("acme-notes", "acme-mail"))
    refused = serve(other, "--data-dir", tmp_path / "data")
    assert (refused.returncode, "belongs to the app acme-notes" in refused.stderr) == (1, True)
    with running_collector(other, tmp_path / "data", "--rename-app"):
        pass
    with running_collector(other, tmp_path / "data"):
        pass
