"""The commands for backups: what they refuse before they write anything, and their progress."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from io import StringIO
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner, Result

from collector.backup import restore
from collector.backup.lines import MOST_SYMBOLS, End, Header, TallyLine, encode
from collector.commands.backup import progress
from collector.commands.cli import cli
from collector.store.facts import SCHEMA
from collector.store.preparation import agree_on_app
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import REGISTRY, TODAY


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.fixture
def store(embedded_url: str) -> RedisStore:
    """An empty store that belongs to no app yet."""
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    empty = RedisStore(embedded_url)
    empty.prepare()
    return empty


def test_a_registry_names_the_app_only_of_a_store_without_one(
    store: RedisStore, embedded_url: str, registry_file: Path, tmp_path: Path
) -> None:
    written = tmp_path / "backup"
    export = ("store", "export", "--redis", embedded_url, "--registry", registry_file, "--to", written)
    assert run(*export).exit_code == 0
    assert json.loads(written.read_text().splitlines()[0])["app"] == REGISTRY.app
    written.unlink()
    agree_on_app(store, "other-app")
    refused = run(*export)
    assert refused.exit_code == 1
    assert f"the store belongs to the app other-app, but the registry belongs to {REGISTRY.app}" in refused.stderr
    assert not written.exists()


def test_a_backup_is_not_written_to_a_file_that_is_called_as_standard_output(
    store: RedisStore, embedded_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.disconnect()
    monkeypatch.chdir(tmp_path)
    refused = run("store", "export", "--redis", embedded_url, "--to", "-")
    assert (refused.exit_code, "omit --to for standard output" in refused.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []
    whole = run("store", "export", "--redis", embedded_url)
    assert (whole.exit_code, json.loads(whole.stdout.splitlines()[0])["app"]) == (0, None)


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("metrics.toml", "is not a backup, and the export would overwrite it"),
        ("link", "is not a backup, and the export would overwrite it"),
        ("access.toml", "is not a backup, and the export would overwrite it"),
        ("tls_key", "is not a backup, and the export would overwrite it"),
        ("tallies.ndjson", "is not a backup, and the export would overwrite it"),
        ("later.ndjson", "is not a backup, and the export would overwrite it"),
        ("store/store.mark", "is inside the data directory"),
        ("store/appendonlydir/appendonly.aof.1.incr.aof", "is inside the data directory"),
    ],
)
def test_a_backup_replaces_no_file_that_is_no_backup_and_none_of_its_store(
    tmp_path: Path, registry_file: Path, place: str, sentence: str
) -> None:
    registry, data_dir = tmp_path / "metrics.toml", tmp_path / "store"
    registry.write_text(registry_file.read_text())
    (tmp_path / "link").symlink_to(registry)
    (tmp_path / "access.toml").write_text('uploads = "open"\n')
    (tmp_path / "tls_key").write_text("-----BEGIN PRIVATE KEY-----\n")
    (tmp_path / "tallies.ndjson").write_text('{"tally":"a"}\n')
    (tmp_path / "later.ndjson").write_text(
        '{"line":"header","format":99,"schema":9,"shards":1,"grace_s":null,"app":null}\n'
    )
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for named in ((), ("--registry", registry)):
        refused = run("store", "export", "--data-dir", data_dir, *named, "--to", tmp_path / place)
        assert (refused.exit_code, sentence in refused.stderr) == (1, True)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_backup_replaces_an_earlier_one_and_fills_an_empty_file(
    store: RedisStore, embedded_url: str, tmp_path: Path
) -> None:
    store.disconnect()
    backup = tmp_path / "backup.ndjson"
    backup.touch()
    for _ in range(2):
        done = run("store", "export", "--redis", embedded_url, "--to", backup)
        assert done.exit_code == 0, done.stderr
    assert restore.check(backup).tallies == 0


def test_a_pipe_is_refused_because_a_backup_is_read_twice(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(writer)
    pipe = f"/dev/fd/{reader}"
    try:
        refused = run("store", "import", "--from", pipe, "--data-dir", tmp_path / "new")
    finally:
        os.close(reader)
    assert refused.exit_code == 1
    assert (
        f"{pipe} is not a regular file, and the import reads the backup twice: save it to a file first"
        in refused.stderr
    )
    assert not (tmp_path / "new").exists()


def test_a_backup_that_the_embedded_store_has_no_room_for_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    tally = TallyLine("os", "0123456789ab", TODAY, MOST_SYMBOLS, {MOST_SYMBOLS - 1: 1})
    content = encode(Header(SCHEMA, 1, None, None)) + encode(tally)
    (tmp_path / "backup").write_bytes(content + encode(End(2, sha256(content).hexdigest())))
    importing = ("store", "import", "--from", tmp_path / "backup", "--data-dir", tmp_path / "new")
    refused = run(*importing, "--store-memory", "100M")
    assert refused.exit_code == 1
    assert "give the server more memory (maxmemory, or --store-memory)" in refused.stderr
    assert "the store is empty and was never used" in run("store", "export", "--data-dir", tmp_path / "new").stderr


def test_an_export_changes_nothing_also_of_a_store_that_was_never_used(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        refused = run("store", "export", "--redis", embedded_url)
        assert refused.exit_code == 1
        assert "the store is empty and was never used: name the store of a collector" in refused.stderr
        assert client.dbsize() == 0


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("total", "shown"), [(5000, "ids  [####################################]  5000/5000"), (None, "5000")]
)
def test_a_terminal_gets_one_line_that_ends_with_the_work(
    monkeypatch: pytest.MonkeyPatch, total: int | None, shown: str
) -> None:
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    with progress("ids", total) as add:
        add(4000)
        add(1000)
    assert shown in stream.getvalue()
    assert stream.getvalue().endswith("\n")
    assert stream.getvalue().count("\n") == 1


def test_a_log_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with progress("ids", 5000) as add:
        add(5000)
    assert stream.getvalue() == ""
