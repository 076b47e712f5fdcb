"""What the embedded store does when its files lack something.

It refuses what was acknowledged and is gone, and no more.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from client_sdk.protocol import GRACE_S, Verdict, Window
from collector.commands.cli import cli
from collector.embedded.aof import MANIFEST, STORE_DIR, increments_in, sequence_of
from collector.embedded.high_water_mark import MARK_FILE
from collector.embedded.store import EmbeddedStore
from collector.errors import ConfigError, in_units
from collector.judge import Judgement
from collector.maintenance import Maintenance, ServerState
from collector.store.redis_store import RedisStore
from collector.store.store_protocol import CountedUpload
from tests.support.services.collecting import TODAY, judged, report, upload
from tests.support.services.delivering import Load
from tests.support.services.processes import is_running, kill, running_collector, wait_until
from tests.support.services.wire import tallies

REWRITTEN, NOTED, LAST = 30, 20, 2
"""Reports in the base, after it in the increment and noted, and after that in one upload."""

TRANSACTION = b"*1\r\n$5\r\nMULTI"
"""With which each upload begins in the increment."""

UPLOAD_BYTES = 300
"""That a transaction of one upload takes in the increment, and not much more."""

STARS = "2a" * 16
"""An upload's id full of the byte that begins a command in the increment.

What looks for a command must not find it here.
"""

ROUNDS = 20
"""In which `make faults` reaches every offset."""

SENDERS = 4
MOST_UPLOADS_EACH = 100_000


class Kept(NamedTuple):
    """A data directory of a store that was killed, with an upload more than is noted.

    Attributes:
        folder: the directory.
        noted: bytes of the increment that are noted.
        size: bytes of the increment.
        last: the upload that is not noted, of two reports.

    """

    folder: Path
    noted: int
    size: int
    last: Judgement

    def copied(self, to: Path) -> Path:
        """Copy it, for a test to damage."""
        shutil.rmtree(to, ignore_errors=True)
        shutil.copytree(self.folder, to)
        return to


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """A data directory with a base, an increment, and an upload after the last note."""
    folder = tmp_path_factory.mktemp("kept")
    with EmbeddedStore(folder / "data") as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        store.count_all([judged(upload()) for _ in range(REWRITTEN)])
        assert store.logs().rewrite_log()
        wait_until(lambda: base(folder / "data").name.endswith(".2.base.rdb"), what="a rewrite")
        store.count_all([judged(upload(upload_id=STARS[:-2] + f"{number:02x}")) for number in range(NOTED)])
        embedded.look_after()
        noted = increment(folder / "data").stat().st_size
        last = judged(upload(report(), report("os", 2)))
        store.count(last)
        shutil.copytree(folder / "data", folder / "killed", ignore=shutil.ignore_patterns("*.sock"))
        store.disconnect()
    return Kept(folder / "killed", noted, increment(folder / "killed").stat().st_size, last)


def test_a_note_that_cannot_be_written_stops_nothing_and_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "collector")
    with EmbeddedStore(tmp_path) as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        due_s = float(Window.parse(TODAY).ends_at + GRACE_S)
        chores = Maintenance(
            store,
            store.logs(),
            grace_s=GRACE_S,
            every_tick=lambda: ServerState(embedded.look_after()),
            clock=lambda: due_s,
        )
        mark = tmp_path / MARK_FILE
        mark.unlink()
        mark.mkdir()  # nothing can be written in its place, as on a full disk
        store.count(judged(upload()))
        for second in range(2):
            chores.tick(float(second))
        assert (store.closed_windows(), chores.health.is_noted, chores.health.closed_windows) == (
            frozenset({TODAY}),
            False,
            1,
        )
        mark.rmdir()
        chores.tick(2.0)
        assert chores.health.is_noted
        store.disconnect()
    events = [getattr(record, "event", "") for record in caplog.records if record.name == "collector.embedded.store"]
    assert events == ["note_failed", "noted_again"]


def increment(data: Path) -> Path:
    return max((data / STORE_DIR).glob("*.incr.aof"))


def base(data: Path) -> Path:
    return max((data / STORE_DIR).glob("*.base.rdb"))


def counted(data: Path, more: Judgement | None = None) -> int:
    """Start a store on a directory, count one upload, and return the reports counted before."""
    more = more or judged(upload())
    with EmbeddedStore(data) as embedded:
        store = RedisStore(embedded.url)
        store.prepare()
        counted_before = sum(sum(tally.counts) for tally in store.open_tallies(frozenset()))
        assert store.count(more) == CountedUpload(Verdict(more.reports), is_duplicate=False)
        store.disconnect()
        return counted_before


def accept_loss(data: Path) -> str:
    """Run the command, and return what it said."""
    return CliRunner().invoke(cli, ["store", "accept-loss", "--data-dir", str(data)]).output


@pytest.mark.long
def test_a_last_upload_that_was_cut_anywhere_is_not_counted_at_all_and_the_others_are(
    kept: Kept, round_number: int, tmp_path: Path
) -> None:
    assert counted(kept.copied(tmp_path / "whole")) == REWRITTEN + NOTED + LAST
    for size in range(kept.noted + round_number % ROUNDS, kept.size, ROUNDS):
        data = kept.copied(tmp_path / "torn")
        os.truncate(increment(data), size)
        assert counted(data, kept.last) == REWRITTEN + NOTED, size


def test_a_file_that_was_cut_before_what_is_noted_is_refused_wherever_it_was_cut(kept: Kept, tmp_path: Path) -> None:
    data = kept.copied(tmp_path / "cut")
    for size in range(kept.noted - 1, kept.noted - UPLOAD_BYTES, -1):
        os.truncate(increment(data), size)
        with pytest.raises(
            ConfigError, match=f"lacks the last {in_units(kept.noted - size)} of the {in_units(kept.noted)}"
        ):
            EmbeddedStore(data).__enter__()


def cut(data: Path) -> None:
    os.truncate(increment(data), increment(data).stat().st_size // 2)


def change_a_symbol(data: Path) -> None:
    log = bytearray(increment(data).read_bytes())
    log[log.index(b"INCRBY") + len(b"INCRBY\r\n$3\r\ni64\r\n$2\r\n#")] ^= 1
    increment(data).write_bytes(log)


def change_the_form(data: Path) -> None:
    log = increment(data).read_bytes()
    half = log.index(TRANSACTION, len(log) // 2)
    increment(data).write_bytes(log[:half] + b"?" + log[half + 1 :])


def add_noughts(data: Path) -> None:
    with increment(data).open("ab") as log:
        log.write(bytes(100))


def remove_increment(data: Path) -> None:
    increment(data).unlink()


def bring_back_an_older_store(data: Path) -> None:
    noted = (data / MARK_FILE).read_text()
    assert ".2.incr" in noted
    (data / MARK_FILE).write_text(noted.replace(".2.incr", ".3.incr"))


def remove_base(data: Path) -> None:
    base(data).unlink()


def empty_base(data: Path) -> None:
    base(data).write_bytes(b"")


def change_base(data: Path) -> None:
    content = bytearray(base(data).read_bytes())
    content[-1] ^= 1  # of the checksum: what a change elsewhere breaks first depends on the store's random name
    base(data).write_bytes(content)


def cut_base(data: Path) -> None:
    os.truncate(base(data), base(data).stat().st_size // 2)


def remove_manifest(data: Path) -> None:
    (data / STORE_DIR / MANIFEST).unlink()


def empty_manifest(data: Path) -> None:
    (data / STORE_DIR / MANIFEST).write_bytes(b"")


def remove_everything(data: Path) -> None:
    shutil.rmtree(data / STORE_DIR)


@pytest.mark.parametrize(
    ("damage", "said", "left"),
    [
        (cut, "lacks the last .* of the .* that were acknowledged", range(REWRITTEN, REWRITTEN + NOTED)),
        (change_a_symbol, "was changed after it was written", [REWRITTEN + NOTED + LAST]),
        (change_the_form, "was changed after it was written", range(REWRITTEN, REWRITTEN + NOTED)),
        (add_noughts, "Bad file format", [REWRITTEN + NOTED + LAST]),
        (remove_increment, "incr.aof is missing", [REWRITTEN]),
        (bring_back_an_older_store, "does not list", [REWRITTEN + NOTED + LAST]),
    ],
)
def test_a_store_of_which_a_part_is_lost_is_refused_until_the_loss_is_accepted(
    damage: Callable[[Path], None], said: str, left: Sequence[int], kept: Kept, tmp_path: Path
) -> None:
    data = kept.copied(tmp_path / "data")
    damage(data)
    for _ in range(2):
        with pytest.raises(
            ConfigError, match=f"{said}.*run hearsay-collector store accept-loss --data-dir {re.escape(str(data))}"
        ):
            counted(data)
    assert "accepted: " in accept_loss(data)
    assert counted(data) in left
    assert "nothing that was recorded is missing" in accept_loss(data)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (remove_base, "base.rdb is missing or empty"),
        (empty_base, "base.rdb is missing or empty"),
        (change_base, "RDB CRC error"),
        (cut_base, "Unexpected EOF reading RDB"),
        (remove_manifest, "appendonly.aof.manifest is missing"),
        (empty_manifest, "appendonly.aof.manifest is empty"),
    ],
)
def test_a_store_of_which_nothing_can_be_read_is_refused_and_nothing_of_it_is_changed(
    damage: Callable[[Path], None], said: str, kept: Kept, tmp_path: Path
) -> None:
    data = kept.copied(tmp_path / "data")
    damage(data)
    before = {file.name: file.read_bytes() for file in (data / STORE_DIR).iterdir()}
    with pytest.raises(ConfigError, match=f"{said}.*Restore the files if you can"):
        counted(data)
    assert "import the latest backup into a new data directory" in accept_loss(data)
    assert {file.name: file.read_bytes() for file in (data / STORE_DIR).iterdir()} == before


@pytest.mark.parametrize("damage", [cut, add_noughts])
def test_a_store_that_is_refused_leaves_no_folder_of_its_socket_behind(
    damage: Callable[[Path], None],
    kept: Kept,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sockets = tmp_path_factory.mktemp("s")
    monkeypatch.setattr(tempfile, "tempdir", str(sockets))
    data = kept.copied(tmp_path / "data")
    damage(data)
    with pytest.raises(ConfigError, match="accept-loss"):
        counted(data)
    wait_until(lambda: not any(sockets.iterdir()), what="the folder to be gone")


def test_a_directory_whose_files_are_gone_is_not_taken_for_a_new_one(kept: Kept, tmp_path: Path) -> None:
    data = kept.copied(tmp_path / "data")
    remove_everything(data)
    with pytest.raises(ConfigError, match=r"appendonly\.aof\.manifest is missing.*import the latest backup"):
        counted(data)
    assert "there is no store in" in accept_loss(data)


@pytest.mark.long
def test_a_collector_that_loses_its_power_under_load_goes_on_after_a_torn_tail_and_not_after_a_longer_loss(
    registry_file: Path, tmp_path: Path
) -> None:
    data, damaged = tmp_path / "data", tmp_path / "damaged"
    with running_collector(registry_file, data) as collector:
        load = Load(collector.url, SENDERS, MOST_UPLOADS_EACH)
        load.wait_for(100)
        wait_until(lambda: is_rewritten(data), what="the rewrite that every start begins with")
        before = note(data)
        wait_until(lambda: note(data) > before, what="the next note")
        store, workers = collector.store_pid(), collector.worker_pids()
        for pid in (collector.pid, store, *workers):
            kill(pid)
        collector.process.wait()
        wait_until(lambda: not any(map(is_running, (store, *workers))), what="the store and the workers to end")
    log = increment(data)
    # the guardian may still be removing what belongs to the running store
    shutil.copytree(data, damaged, ignore=shutil.ignore_patterns("run"))
    name, noted = note(data)
    os.truncate(damaged / STORE_DIR / name, noted - 1)
    with pytest.raises(ConfigError, match="lacks the last 1 byte of"):
        counted(damaged)
    end = log.read_bytes()
    last = end[end.rindex(TRANSACTION) :]
    log.write_bytes(end + last[: len(last) // 2])
    with running_collector(registry_file, data, port=int(collector.url.rpartition(":")[2])) as collector:
        load.wait_for(load.acknowledged + 100)
        load.end()
        assert sum(sum(tally["counts"]) for tally in tallies(collector.url, "?preliminary=1")) == load.acknowledged


def is_rewritten(data: Path) -> bool:
    """Whether a new store's first rewrite is over: its files then stay the same for minutes."""
    return [sequence_of(name) for name in increments_in(data / STORE_DIR)] == [2]


def note(data: Path) -> tuple[str, int]:
    """Return which increment was noted last, and how much of it."""
    noted: dict[str, tuple[int, int]] = json.loads((data / MARK_FILE).read_text())
    return max((name, size) for name, (size, _) in noted.items())
