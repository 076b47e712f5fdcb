"""Files that are read again: what may change, and what has no effect."""

from __future__ import annotations

import hashlib
import json
import os
import resource
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from client_sdk.protocol import Registry, RegistryError
from client_sdk.protocol.registry import history
from client_sdk.protocol.registry.history import Release, with_former
from collector import create_app, live_config
from collector.access import Access, load_access, parse_access
from collector.errors import ConfigError
from collector.live_config import DIGEST_BYTES, Reloader, Served, SharedState, require_additive
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    NUMBER,
    ORDINAL,
    SET,
    USEFUL,
    registry_text,
)
from tests.support.services.collecting import NOON, OPEN, REGISTRY, REGISTRY_TEXT, key_entry
from tests.support.services.memory_store import MemoryStore
from tests.support.services.processes import wait_until

ADDED = """
[metric.tabs]
purpose = "Are tabs used?"
kind = "boolean"
epsilon = 1
"""
KEY = key_entry("app", "upload", "old-secret")
READER = key_entry("dashboard", "read", "read-secret")
NEW_KEY = key_entry("app", "upload", "new-secret")


def has_room(_: Registry) -> frozenset[str]:
    """Let any registry fit."""
    return frozenset()


class Files:
    """A collector's files, and the states that were published to its workers."""

    def __init__(self, folder: Path) -> None:
        self.registry, self.access = folder / "metrics.toml", folder / "access.toml"
        self.registry.write_text(REGISTRY_TEXT)
        self.access.write_text(KEY)
        self.published: list[Served] = []
        served = Served(REGISTRY, load_access(self.access))
        self.reloader = Reloader(
            served, partial(history.read, self.registry), self.access, self.published.append, has_room
        )

    def look(self, *, requested: bool = False) -> None:
        self.reloader.look(requested=requested)

    def opens(self, secret: str) -> bool:
        return self.reloader.served.access.find(secret) is not None


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_metrics_may_come_and_what_is_no_part_of_an_edition_may_change() -> None:
    text = REGISTRY_TEXT.replace("Is dark mode used?", "Do people use it?").replace("2026-11-10", "2026-11-11")
    require_additive(REGISTRY, Registry.parse(text + ADDED))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (REGISTRY_TEXT.partition("[metric.old]")[0], r"^metric\.old: is being served, and its reports would no longer"),
        (REGISTRY_TEXT.replace('"ln 3"', "1"), r"^metric\.dark_mode: is being served, and its reports would no longer"),
        (
            REGISTRY_TEXT.replace("[metric.os]", "[metric.system]") + ADDED,
            r"^metric\.os: is being served, and its reports",
        ),
    ],
)
def test_what_devices_report_now_must_still_count(text: str, named: str) -> None:
    new = Registry.parse(text)
    with pytest.raises(RegistryError, match=named):
        require_additive(REGISTRY, new)
    released = with_former(new, [Release(date(2026, 11, 1), REGISTRY)])
    require_additive(REGISTRY, released)
    require_additive(released, new)  # whether a release is still needed, the store knows


def test_a_stop_is_read_with_the_registry_and_reaches_the_workers(files: Files) -> None:
    files.registry.write_text(f'stopped = ["os:0123456789ab"]\n{REGISTRY_TEXT}')
    files.look(requested=True)
    shared_state = SharedState.with_state(files.published[-1])
    assert shared_state.latest().registry.stopped == (("os", "0123456789ab"),)


def test_the_store_is_ready_for_a_registry_before_any_worker_has_it(files: Files) -> None:
    admitted: list[tuple[Registry, int]] = []

    def admit(registry: Registry) -> frozenset[str]:
        admitted.append((registry, len(files.published)))
        return frozenset()

    files.reloader = Reloader(
        files.reloader.served, partial(history.read, files.registry), files.access, files.published.append, admit
    )
    files.registry.write_text(REGISTRY_TEXT + ADDED)
    files.look(requested=True)
    assert admitted == [(Registry.parse(REGISTRY_TEXT + ADDED), 0)]
    assert len(files.published) == 1


def test_a_registry_is_read_again_when_asked_and_only_then(files: Files) -> None:
    files.registry.write_text(REGISTRY_TEXT + ADDED)
    files.look()
    assert files.published == []
    files.look(requested=True)
    assert [list(served.registry.metrics)[-1] for served in files.published] == ["tabs"]
    assert files.reloader.served is files.published[-1]


def test_all_mistakes_of_a_file_stand_in_one_line_of_the_log(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    files.access.write_text("[[key]]")
    files.registry.write_text(REGISTRY_TEXT.replace("epsilon = 1", "epsilon = 0"))
    files.look(requested=True)
    of_registry, of_keys = (record.getMessage() for record in caplog.records)
    assert (of_registry.count("epsilon"), "\n" in of_registry) == (3, False)
    assert of_keys.endswith("key[1].name: is missing; key[1].role: is missing; key[1].sha256: is missing")


@pytest.mark.parametrize("text", [REGISTRY_TEXT.partition("[metric.old]")[0], "schema = 1", None])
def test_a_registry_that_cannot_be_used_changes_nothing_and_says_why(
    files: Files, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    if text is None:
        files.registry.unlink()
    else:
        files.registry.write_text(text)
    files.look(requested=True)
    assert set(files.reloader.served.registry.metrics) == set(REGISTRY.metrics)
    assert caplog.text.count("the registry was not reloaded, and the previous one stays in force") == 1


def test_keys_change_with_their_file(files: Files) -> None:
    files.access.write_text(KEY + NEW_KEY)
    files.look()
    assert (files.opens("old-secret"), files.opens("new-secret")) == (True, True)
    files.access.write_text(NEW_KEY)
    files.look()
    assert (files.opens("old-secret"), files.opens("new-secret")) == (False, True)
    files.look()
    assert len(files.published) == 2


def test_keys_change_when_another_file_takes_the_place_of_theirs(files: Files, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(NEW_KEY)
    before = files.access.stat()
    os.utime(other, ns=(before.st_atime_ns, before.st_mtime_ns))
    other.replace(files.access)
    files.look()
    assert files.opens("new-secret")


@pytest.mark.parametrize("text", ["[[key]]\n", "[[key", None])
def test_broken_keys_leave_the_old_ones_in_force_and_are_named_once(
    files: Files, caplog: pytest.LogCaptureFixture, text: str | None
) -> None:
    if text is None:
        files.access.unlink()
    else:
        files.access.write_text(text)
    for _ in range(3):
        files.look()
    assert files.opens("old-secret")
    assert caplog.text.count("the access file was not reloaded, and the previous one stays in force") == 1
    files.access.write_text(NEW_KEY)
    files.look()
    assert (files.opens("old-secret"), files.opens("new-secret")) == (False, True)


@pytest.mark.parametrize("text", [READER, OPEN + READER])
@pytest.mark.parametrize("requested", [False, True])
def test_keys_that_are_taken_out_never_open_uploads_while_the_collector_runs(
    files: Files, caplog: pytest.LogCaptureFixture, text: str, *, requested: bool
) -> None:
    files.access.write_text(text)
    files.look(requested=requested)
    assert not files.reloader.served.access.uploads_are_open
    assert files.opens("old-secret")
    assert 'uploads = "keys"' in caplog.text
    assert ("restart the collector" in caplog.text) is (text != READER)


def test_the_last_key_for_uploads_may_go_where_the_file_keeps_them_closed(files: Files) -> None:
    files.access.write_text('uploads = "keys"\n' + READER)
    files.look()
    assert (files.opens("old-secret"), files.reloader.served.access.uploads_are_open) == (False, False)


def test_open_uploads_stay_open_when_other_keys_change_and_may_be_closed(files: Files) -> None:
    access = parse_access(OPEN + READER)
    files.reloader = Reloader(
        Served(REGISTRY, access), partial(history.read, files.registry), files.access, files.published.append, has_room
    )
    files.access.write_text(OPEN + READER + key_entry("edge", "relay", "relay-secret"))
    files.look()
    assert (files.opens("relay-secret"), files.reloader.served.access.uploads_are_open) == (True, True)
    files.access.write_text(KEY)
    files.look()
    assert not files.reloader.served.access.uploads_are_open


def test_files_that_could_not_be_published_are_published_the_next_time(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Served) -> None:
        raise OSError("no space")

    files.access.write_text(NEW_KEY)
    with monkeypatch.context() as patched:
        patched.setattr(files.reloader, "_publish", fail)
        with pytest.raises(OSError, match="no space"):
            files.look()
    files.look()
    assert [served.access.find("new-secret") is not None for served in files.published] == [True]


def test_a_collector_without_a_file_of_keys_keeps_its_token(files: Files) -> None:
    served = Served(REGISTRY, Access.of_token("token"))
    files.registry.write_text(REGISTRY_TEXT + ADDED)
    reloader = Reloader(served, partial(history.read, files.registry), None, files.published.append, has_room)
    reloader.look(requested=True)
    assert reloader.served.access is served.access
    assert "tabs" in reloader.served.registry.metrics


def test_a_registry_without_room_in_the_store_changes_nothing(files: Files, caplog: pytest.LogCaptureFixture) -> None:
    def refuse(registry: Registry) -> frozenset[str]:
        raise ConfigError(f"{len(registry.metrics)} tallies do not fit")

    served = files.reloader.served
    files.reloader = Reloader(
        served, partial(history.read, files.registry), files.access, files.published.append, refuse
    )
    files.registry.write_text(REGISTRY_TEXT + ADDED)
    files.look(requested=True)
    assert files.reloader.served.registry is served.registry
    assert f"{len(REGISTRY.metrics) + 1} tallies do not fit" in caplog.text


def test_a_look_that_fails_is_made_again_by_the_thread(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[bool] = []

    def look(*, requested: bool) -> None:
        looks.append(requested)
        if len(looks) == 1:
            raise OSError("no space")

    monkeypatch.setattr(live_config, "LOOK_S", 0.01)
    monkeypatch.setattr(files.reloader, "look", look)
    files.reloader.request()
    files.reloader.start()
    try:
        wait_until(lambda: len(looks) > 2, what="more looks")
    finally:
        files.reloader.stop()
    assert looks[:3] == [True, True, False]


def test_shared_state_is_the_latest_and_the_same_object_until_there_is_another() -> None:
    shared_state = SharedState.with_state(Served(REGISTRY, Access.of_token("one")))
    first = shared_state.latest()
    assert first.registry.metrics.keys() == REGISTRY.metrics.keys()
    assert shared_state.latest() is first
    shared_state.post(Served(REGISTRY, Access(())))
    assert shared_state.latest().access == Access(())


def test_a_folder_for_temporary_files_that_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="set TMPDIR"):
        SharedState.with_state(Served(REGISTRY, Access(())))


def test_a_state_without_room_on_the_disk_leaves_the_one_before_for_workers_that_start_later() -> None:
    shared_state = SharedState.with_state(Served(REGISTRY, Access.of_token("one")))
    before = os.pread(shared_state._descriptor, 10**6, 0)
    larger = Access(tuple(parse_access(key_entry(f"app-{number}", "upload", "secret")).keys[0] for number in range(99)))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            shared_state.post(Served(REGISTRY, larger))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.pread(shared_state._descriptor, 10**6, 0) == before
    shared_state.post(Served(REGISTRY, larger))
    assert shared_state.latest().access == larger


def test_a_state_that_is_being_written_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    shared_state = SharedState.with_state(Served(REGISTRY, Access.of_token("one")))
    whole = SharedState.with_state(Served(REGISTRY, Access.of_token("another")))
    entry = os.pread(whole._descriptor, 10**6, 0)
    os.pwrite(shared_state._descriptor, entry[: DIGEST_BYTES + 100], 0)
    read = os.pread
    reads: list[int] = []

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        reads.append(size)
        if len(reads) == 5:
            os.pwrite(descriptor, entry, 0)
            os.ftruncate(descriptor, len(entry))
        return read(descriptor, size, offset)

    monkeypatch.setattr(os, "pread", pread)
    assert shared_state.latest().access == Access.of_token("another")
    assert len(reads) == 5


EVERY_KIND = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY,
        speed=NUMBER,
        visits=COUNT | {"retention": 400},
        often=ORDINAL,
        tags=SET,
        both=CROSS,
        slow=GAUSSIAN,
        near=USEFUL,
        cut=COUNT | {"mechanism": "laplace"},
    )
)


def document_of(registry: Registry) -> dict[str, Any]:
    client = create_app(
        lambda: Served(registry, Access((), uploads_are_open=True)), MemoryStore(), clock=lambda: NOON
    ).test_client()
    document: dict[str, Any] = json.loads(client.get("/v1/registry").text)
    return document


def shown() -> list[dict[str, Any]]:
    metrics: list[dict[str, Any]] = document_of(EVERY_KIND)["metrics"]
    return metrics


def number(text: str | list[str]) -> int | list[int]:
    return [int(part) for part in text] if isinstance(text, list) else int(text)


def test_every_integer_is_shown_as_a_text_and_a_table_as_a_list_of_texts() -> None:
    for document in shown():
        integers = EVERY_KIND.metric(document["metric"]).channel.integers
        assert {name: number(text) for name, text in document["integers"].items()} == {
            name: list(value) if isinstance(value, tuple) else value for name, value in integers.items()
        }
        texts = [
            part for text in document["integers"].values() for part in (text if isinstance(text, list) else [text])
        ]
        assert all(type(text) is str for text in texts)


def test_the_edition_of_every_metric_can_be_derived_from_what_is_shown() -> None:
    documents = shown()
    assert [document["metric"] for document in documents] == list(EVERY_KIND.metrics)
    for document in documents:
        meaning = {name: document[name] for name in ("kind", "domain", "window", "mechanism")}
        meaning |= {"schema": 1, "integers": {name: number(text) for name, text in document["integers"].items()}}
        canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(canonical.encode()).hexdigest()[:12] == document["edition"]


def test_stopped_metrics_are_listed_and_the_editions_of_all_strata_by_which_they_are_stopped() -> None:
    text = registry_text(dark_mode=BOOLEAN | {"strata": ["platform"]}) + '[strata]\nplatform = ["ios", "android"]\n'
    editions = Registry.parse(text).metric("dark_mode").editions
    stopped = [f"dark_mode:{edition}" for edition in editions]
    document = document_of(Registry.parse(f"stopped = {json.dumps(stopped)}\n{text}"))
    assert document["stopped"] == stopped
    assert [metric["editions"] for metric in document["metrics"]] == [list(editions)]
    assert document_of(EVERY_KIND)["stopped"] == []
    assert [[metric["edition"]] for metric in shown()] == [metric["editions"] for metric in shown()]
