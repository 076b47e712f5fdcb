"""A disk without room when a store starts, and while it runs.

It is said, nothing is taken for lost, and the next start works.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from collector.embedded.directory import require_room, running_store_url
from collector.embedded.store import EmbeddedStore
from collector.errors import ConfigError
from collector.redis_servers.connections import answers
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import judged, upload
from tests.support.services.processes import children, kill, wait_until
from tests.support.services.small_disks import fill, mounted

pytestmark = pytest.mark.system

FILES = 24

MOST_FILES_OF_A_STORE = 14

ROOM_IS_MISSING = re.compile("No space left on device; free space")


def start(data: Path) -> None:
    with EmbeddedStore(data) as embedded:
        assert running_store_url(data) == embedded.url


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 4])
def test_a_disk_that_is_full_at_the_first_start_is_said_and_the_next_start_works(small_disk: Path, blocks: int) -> None:
    data = small_disk / "data"
    ballast = fill(small_disk, spare=4096 * blocks)
    with pytest.raises(ConfigError, match=ROOM_IS_MISSING):
        start(data)
    ballast.unlink()
    start(data)


def test_a_disk_that_is_full_at_a_later_start_is_said_and_the_next_start_works(small_disk: Path) -> None:
    data = small_disk / "data"
    start(data)
    ballast = fill(small_disk)
    with pytest.raises(ConfigError, match=ROOM_IS_MISSING):
        start(data)
    ballast.unlink()
    start(data)


def test_a_disk_that_takes_no_more_files_is_said_wherever_the_first_start_ends(tmp_path: Path) -> None:
    refusals: list[str] = []
    with mounted(tmp_path / "disk", files=FILES) as disk:
        for spare in range(2, MOST_FILES_OF_A_STORE):
            data = disk / f"data-{spare}"
            data.mkdir(mode=0o700)
            ballast = [disk / f"ballast-{number}" for number in range(FILES)]
            kept = [name for name in ballast if created(name)]
            for name in kept[:spare]:
                name.unlink()
            try:
                start(data)
            except ConfigError as error:
                refusals.append(str(error))
            for name in kept[spare:]:
                name.unlink()
            start(data)
            remove(data)
    assert 0 < len(refusals) < MOST_FILES_OF_A_STORE - 2
    assert [text for text in refusals if not ROOM_IS_MISSING.search(text)] == []


def test_a_command_whose_store_ends_because_the_disk_is_full_says_so(small_disk: Path) -> None:
    with pytest.raises(ConfigError, match=ROOM_IS_MISSING):
        count_until_the_disk_is_full(small_disk)


def test_who_looks_after_a_store_that_is_down_says_that_the_disk_is_full(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedStore(small_disk / "data") as embedded:
        ballast = fill(small_disk)
        assert embedded.look_after()
        with monkeypatch.context() as down:
            down.setattr("collector.embedded.store.before_an_answer", lambda *_: None)
            with pytest.raises(ConfigError, match=ROOM_IS_MISSING):
                embedded.look_after()
            ballast.unlink()
            embedded.look_after()


def test_a_store_whose_disk_became_read_only_says_so_and_ends_quietly(small_disk: Path) -> None:
    running = ExitStack()
    running.enter_context(EmbeddedStore(small_disk / "data"))
    with read_only(small_disk):
        with pytest.raises(ConfigError, match=r"Read-only file system; .* remount it for writing"):
            require_room(small_disk / "data")
        running.close()
    start(small_disk / "data")


def test_a_restart_names_the_full_or_read_only_disk_that_ended_the_store(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedStore(small_disk / "data") as embedded:
        assert embedded.look_after()
        ballast = fill(small_disk)
        kill_store(embedded)
        wait_until(lambda: looked_after(embedded) >= 1, what="the first restart")
        assert re.search(r"by signal 9 \(SIGKILL\).*No space left on device; free space", caplog.text)
        ballast.unlink()
        wait_until(lambda: answers(embedded.url), what="the store")
        caplog.clear()
        with read_only(small_disk):
            seen = embedded.restarts
            kill_store(embedded)
            wait_until(lambda: looked_after(embedded) > seen, what="the second restart")
        assert "Read-only file system; see the system log" in caplog.text


def kill_store(embedded: EmbeddedStore) -> None:
    """Kill the server itself, which its guardian starts again."""
    assert embedded._guardian is not None
    kill(*children(embedded._guardian.pid))


def looked_after(embedded: EmbeddedStore) -> int:
    """Look after a store as the collector does every second; return how often it was restarted."""
    with suppress(ConfigError):  # it is down, and its disk takes nothing
        embedded.look_after()
    return embedded.restarts


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Lay a view of a folder over it that cannot be written."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)  # noqa: S607 wherever it is
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", folder], check=True)  # noqa: S607 as above
        yield
    finally:
        subprocess.run(["umount", folder], check=True)  # noqa: S607 as above


def count_until_the_disk_is_full(disk: Path) -> None:
    with EmbeddedStore(disk / "data") as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        fill(disk)
        try:
            while True:
                store.count(judged(upload()))
        finally:
            store.disconnect()


def created(name: Path) -> bool:
    """Create an empty file, and return whether there was room for it."""
    try:
        name.touch()
    except OSError:
        return False
    return True


def remove(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
