"""The backup of a running collector, restored under another one.

No acknowledged upload is counted twice, whatever is killed.
"""

from __future__ import annotations

import json
import re
import secrets
import subprocess
import sys
import threading
import time
from hashlib import sha256
from pathlib import Path
from typing import Self

import pytest

from client_sdk.protocol import Upload, Window, WindowKind
from collector.backup.lines import Bucket, ClosedWindows, End, Header, decode, encode
from collector.backup.store_reader import StoreReader
from collector.embedded.directory import running_store_url
from collector.errors import ConfigError, StoreUnavailableError
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import report, upload
from tests.support.services.processes import kill, run_command, running_collector, wait_until
from tests.support.services.wire import post, tallies

SENDERS = 4

COMMAND = (sys.executable, "-m", "collector")


class Senders:
    """Post uploads of one report until asked to stop, and remember all of them."""

    def __init__(self, url: str) -> None:
        self.sent: list[Upload] = []
        self._url = url
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._send) for _ in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        window = Window.at(WindowKind.DAY, time.time()).text
        while not self._stopped.is_set():
            body = upload(report("os", 1, window))
            assert post(self._url, body) == (200, {"accepted": 1, "refused": []})
            self.sent.append(body)


@pytest.mark.long
def test_whatever_is_sent_again_after_a_restore_is_counted_once(registry_file: Path, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    export = (*COMMAND, "store", "export", "--registry", str(registry_file), "--data-dir")
    restore = (*COMMAND, "store", "import", "--registry", str(registry_file), "--from", str(backup), "--data-dir")
    with running_collector(registry_file, tmp_path / "old") as collector, Senders(collector.url) as senders:
        wait_until(lambda: len(senders.sent) > 100, what="uploads before the backup")
        written = run_command([*export, str(tmp_path / "old"), "--to", str(backup)])
        assert (written.returncode, written.stdout) == (0, "")
        assert re.fullmatch(
            r"the backup contains [\d,]+ remembered uploads, 1 tally and 0 closed windows",
            written.stderr.splitlines()[-1],
        )
        before = len(senders.sent)
        wait_until(lambda: len(senders.sent) > before + 20, what="uploads after the backup")
    assert backup.stat().st_mode & 0o077 == 0
    ended = run_command([*export, str(tmp_path / "old")])
    assert json.loads(ended.stdout.splitlines()[0])["app"] == "acme-notes"
    first = run_command([*restore, str(tmp_path / "new")])
    assert (first.returncode, "are now in the store\n" in first.stdout) == (0, True), first.stderr
    again = run_command([*restore, str(tmp_path / "new")])
    assert (again.returncode, "nothing was changed" in again.stdout) == (0, True)
    with running_collector(registry_file, tmp_path / "new") as collector:
        ((restored,),) = [[sum(tally["counts"])] for tally in tallies(collector.url, "?preliminary=1")]
        assert 100 < restored < len(senders.sent)
        for body in senders.sent:
            assert post(collector.url, body) == (200, {"accepted": 1, "refused": []})
        closing = [
            *COMMAND,
            "store",
            "close",
            "--yes",
            "--data-dir",
            str(tmp_path / "new"),
            "--window",
            senders.sent[0].reports[0].window,
        ]
        assert run_command(closing).returncode == 0
        assert [sum(tally["counts"]) for tally in tallies(collector.url)] == [len(senders.sent)]
        occupied = run_command([*restore, str(tmp_path / "new")])
        assert (occupied.returncode, "in use by another collector" in occupied.stderr) == (1, True)


def large_backup(path: Path, ids: int) -> None:
    """Write a backup of many remembered uploads."""
    end = Window.at(WindowKind.MONTH, time.time()).ends_at
    members = [secrets.token_bytes(16) + b"\0" for _ in range(ids)]
    lines = [encode(Header(1, 1, 259_200, None))]
    lines += [encode(Bucket(end, end + 400_000, tuple(members[at : at + 100]))) for at in range(0, ids, 100)]
    lines.append(encode(ClosedWindows(())))
    content = b"".join(lines)
    path.write_bytes(content + encode(End(len(lines), sha256(content).hexdigest())))


def has_begun(data_dir: Path) -> bool:
    try:
        store = RedisStore(running_store_url(data_dir))
    except ConfigError:
        return False
    try:
        return next(StoreReader(store).buckets(0), None) is not None
    except StoreUnavailableError:
        return False
    finally:
        store.disconnect()


@pytest.mark.long
def test_a_killed_import_is_not_served_and_continues(registry_file: Path, tmp_path: Path) -> None:
    backup, data_dir, ids = tmp_path / "backup", tmp_path / "new", 60_000
    large_backup(backup, ids)
    command = [*COMMAND, "store", "import", "--from", str(backup), "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        wait_until(lambda: has_begun(data_dir), what="the first uploads to be put")
        kill(process.pid)
    assert process.returncode == -9
    with (
        pytest.raises(RuntimeError, match="run hearsay-collector store import again"),
        running_collector(registry_file, data_dir),
    ):
        pass
    assert run_command(command).returncode == 0
    exported = run_command([*COMMAND, "store", "export", "--data-dir", str(data_dir)])
    buckets = [line for line in map(decode, exported.stdout.encode().splitlines()) if isinstance(line, Bucket)]
    assert sum(len(bucket.members) for bucket in buckets) == ids


@pytest.mark.long
def test_what_cannot_be_done_is_said(registry_file: Path, tmp_path: Path) -> None:
    nothing = run_command([*COMMAND, "store", "export", "--data-dir", str(tmp_path / "none")])
    assert (nothing.returncode, "there is no store in" in nothing.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
    large_backup(tmp_path / "backup", 1)
    (tmp_path / "cut").write_bytes((tmp_path / "backup").read_bytes()[:-9])
    cut = run_command(
        [*COMMAND, "store", "import", "--from", str(tmp_path / "cut"), "--data-dir", str(tmp_path / "none")]
    )
    assert (cut.returncode, "line 4 is not JSON, or is incomplete" in cut.stderr) == (1, True)
    assert not (tmp_path / "none").exists()
    assert (
        run_command(
            [*COMMAND, "store", "import", "--from", str(tmp_path / "backup"), "--data-dir", str(tmp_path / "a")]
        ).returncode
        == 0
    )
    unwritable = run_command(
        [*COMMAND, "store", "export", "--to", str(registry_file / "x"), "--data-dir", str(tmp_path / "a")]
    )
    assert (unwritable.returncode, "cannot be written" in unwritable.stderr) == (1, True)
    assert "Traceback" not in unwritable.stderr
