"""`hearsay-collector check`: before there is a store, while a collector runs, and when something is
wrong.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from tests.support.devices.definitions import TEXT, registry_text
from tests.support.services.collecting import OPEN, key_entry, report, upload
from tests.support.services.processes import free_port, run_command, running_collector
from tests.support.services.wire import post


@pytest.mark.long
def test_a_line_a_check_and_a_status_for_scripts(registry_file: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "collector", "check", "--registry", str(registry_file)]
    (tmp_path / "access.toml").write_text(OPEN + key_entry("dashboard", "read", "secret"))
    local = [*command, "--access", str(tmp_path / "access.toml"), "--data-dir", str(tmp_path / "data")]
    new = run_command(local)
    assert (new.returncode, "ok      store: there is no store in" in new.stdout) == (0, True)
    assert (
        "ok      room: one window of every question needs up to 80 bytes in 1 shard, as a new store has\n" in new.stdout
    )
    assert not (tmp_path / "data").exists()
    with running_collector(registry_file, tmp_path / "data") as collector:
        post(collector.url, upload(report(window=Window.at(WindowKind.DAY, time.time()).text)))
        running = run_command(local)
    stopped = run_command(local)
    for done in (running, stopped):
        assert "ok      write: the store accepted a write\n" in done.stdout
        assert (done.returncode, done.stderr) == (0, "")
        assert "ok      editions: the store has tallies of 1 question edition; the registry or its" in done.stdout
        assert "ok      keys: 0 upload, 1 read, 0 relay" in done.stdout
        assert "warning registry: metric.old expired on 2026-11-10" in done.stdout
        assert {line.split()[0] for line in done.stdout.splitlines()} == {"ok", "warning"}
    away = run_command([*command, "--redis", f"redis://127.0.0.1:{free_port()}"])
    assert (away.returncode, "failed  store: the store cannot be used" in away.stdout) == (1, True)
    contradicting = run_command([*local, "--durability", "replicated"])
    assert (contradicting.returncode, "--redis" in contradicting.stderr) == (2, True)


def complaint(*words: str) -> tuple[int, str]:
    """Return the exit status of a command, and what it says is wrong."""
    done = run_command([sys.executable, "-m", "collector", *words])
    failed = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    return done.returncode, " ".join((*failed, done.stderr.strip().rpartition("\n")[2])).strip()


@pytest.mark.long
def test_a_check_refuses_what_a_start_refuses_for_its_memory(tmp_path: Path) -> None:
    text = TEXT | {"cells": 131_072, "max_length": 16}
    large = tmp_path / "large.toml"
    large.write_text(registry_text(a=text, b=text))
    words = ("--registry", str(large), "--data-dir", str(tmp_path / "data"), "--store-memory", "16M")
    new = complaint("check", *words)
    started = complaint("serve", *words, "--bind", f"127.0.0.1:{free_port()}")
    stopped = complaint("check", *words)
    for status, said in (new, started, stopped):
        assert (status, "one window of every question needs up to 24 MB in 1 shard" in said) == (1, True)


@pytest.mark.long
def test_a_check_refuses_what_a_start_refuses_for_its_grace(registry_file: Path, tmp_path: Path) -> None:
    words = ("--registry", str(registry_file), "--data-dir", str(tmp_path / "data"))
    with running_collector(registry_file, tmp_path / "data", "--grace", "86400") as collector:
        post(collector.url, upload(report(window=Window.at(WindowKind.DAY, time.time()).text)))
    checked = complaint("check", *words)
    started = complaint("serve", *words, "--bind", f"127.0.0.1:{free_port()}")
    for status, said in (checked, started):
        assert (status, "--grace can grow from 86400 seconds only when no window" in said) == (1, True)
    assert complaint("check", *words, "--grace", "86400") == (0, "")
