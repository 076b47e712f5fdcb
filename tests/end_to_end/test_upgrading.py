"""The page on upgrades, between two builds of this head, forth and back, while devices send."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from client_sdk.protocol import Registry, Report, Upload
from collector.embedded.store import EmbeddedStore
from collector.store.facts import SCHEMA
from tests.support.services.builds import Build
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.delivering import Load
from tests.support.services.processes import RunningCollector, free_port, run_command, running_collector, wait_until
from tests.support.services.wire import post, tallies
from tools.tutorial import ROOT, blocks

pytestmark = pytest.mark.long

*_, PREPARE, SWITCH, ACROSS = (block.text for block in blocks(ROOT / "docs" / "reference" / "upgrading.md"))
OLD, NEW = "0.1.0", "0.2.0"

ADDED = """
[metric.tabs]
purpose = "Are tabs used?"
kind = "boolean"
epsilon = 1
"""
GROWN = Registry.parse(REGISTRY_TEXT + ADDED)

SENDERS = 2
MOST_UPLOADS_EACH = 100_000
BETWEEN = 20


def about_tabs() -> Upload:
    return upload(Report("tabs", GROWN.metric("tabs").edition, today(), 1))


class Gate:
    """What nginx is for devices: once it is stopped, nothing that it took is unanswered."""

    def __init__(self) -> None:
        self._is_open = True
        self._inside = 0
        self._lock = threading.Lock()

    def post(self, url: str, sent: Upload) -> tuple[int, Any]:
        """Post an upload; status 0 if the gate is closed."""
        with self._lock:
            if not self._is_open:
                return 0, None
            self._inside += 1
        try:
            return post(url, sent)
        finally:
            with self._lock:
                self._inside -= 1

    def close(self) -> None:
        with self._lock:
            self._is_open = False
        wait_until(lambda: not self._inside, what="the last answers")

    def open(self) -> None:
        with self._lock:
            self._is_open = True


class Host:
    """A host on which one service runs, as the page has it.

    Attributes:
        root: stands for the root of its file system.
        registry: the service's registry.
        port: where the service listens.
        gate: its nginx.
        service: the service, while it runs.

    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = root / "etc" / "hearsay" / "notes" / "metrics.toml"
        self.registry.parent.mkdir(parents=True)
        self.registry.write_text(REGISTRY_TEXT)
        self.port = free_port()
        self.gate = Gate()
        self.service: RunningCollector
        self._running = ExitStack()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def data(self) -> Path:
        return self.root / "var" / "lib" / "private" / "hearsay" / "notes"

    def start(self) -> None:
        """Start the version that the link names."""
        program = (self.root / "opt" / "hearsay" / "bin" / "hearsay-collector").read_text()
        environment = dict(re.findall(r"(\w+)='([^']*)'", program))
        running = running_collector(self.registry, self.data, port=self.port, environment=environment)
        self.service = self._running.enter_context(running)

    def stop(self) -> None:
        self._running.close()

    def run(self, text: str) -> str:
        """Run commands of the page; return what they print and stop at the first that fails."""
        assignments, printed = "", ""
        for line in text.splitlines():
            words = line.split()
            if words[0] == "systemctl":
                for unit in words[2:]:
                    self._control(words[1], unit)
            elif re.match(r"\w+=", line):
                assignments += self._here(line) + "\n"
            elif "/bin/pip" not in line and words[0] != "python3":  # the builds are there
                script = f"cd {self.root}\n{assignments}{self._here(line)}"
                done = run_command(["bash", "-euc", script])
                printed += done.stdout + done.stderr
                if done.returncode:
                    raise RuntimeError(printed)
        return printed

    def _here(self, line: str) -> str:
        line = line.replace("/var/lib/hearsay/", "/var/lib/private/hearsay/")
        return re.sub(r"(?<![\w/])/(opt|etc|var)\b", rf"{self.root}/\1", line)

    def _control(self, verb: str, unit: str) -> None:
        if unit == "nginx":
            self.gate.close() if verb == "stop" else self.gate.open()
        else:
            assert unit == "hearsay-collector@$app.service"
            if verb in ("stop", "restart"):
                self.stop()
            if verb in ("start", "restart"):
                self.start()


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Build, Build]:
    """This head, and the same with another schema."""
    folder = tmp_path_factory.mktemp("builds")
    head = Build.installed(folder)
    return head, head.with_next_schema(folder / "next")


@pytest.fixture
def host(builds: tuple[Build, Build], tmp_path: Path) -> Iterator[Host]:
    for version, build in zip((OLD, NEW), builds, strict=True):
        build.write_command(tmp_path / "opt" / f"hearsay-{version}" / "bin" / "hearsay-collector")
    (tmp_path / "opt" / "hearsay").symlink_to(f"hearsay-{OLD}")
    host = Host(tmp_path)
    host.start()
    yield host
    host.stop()


def counted(url: str, metric: str) -> int:
    return sum(sum(tally["counts"]) for tally in tallies(url, "?preliminary=1") if tally["metric"] == metric)


def test_across_schemas_forth_and_back_every_report_is_counted_once(host: Host) -> None:
    first = [upload(report(window=today())) for _ in range(BETWEEN)]

    def again() -> list[tuple[int, Any]]:
        return [host.gate.post(host.url, sent) for sent in first]

    accepted = [(200, {"accepted": 1, "refused": []})] * BETWEEN
    assert again() == accepted
    load = Load(host.url, SENDERS, MOST_UPLOADS_EACH, host.gate.post)
    load.wait_for(BETWEEN)
    with pytest.raises(RuntimeError, match=f"the store has schema {SCHEMA}, and this version of Hearsay reads"):
        host.run(PREPARE)
    assert host.gate.post(host.url, about_tabs())[1]["refused"][0]["code"] == "unknown_metric"
    host.registry.write_text(REGISTRY_TEXT + ADDED)
    forth = PREPARE.splitlines()[0]
    assert "old=0.1.0 new=0.2.0" in forth
    host.run(f"{forth}\n{ACROSS}")
    load.wait_for(load.acknowledged + BETWEEN)
    assert again() == accepted
    assert host.gate.post(host.url, about_tabs()) == (200, {"accepted": 1, "refused": []})
    host.run(f"app=notes old={NEW} new={OLD}\n{ACROSS}")
    load.wait_for(load.acknowledged + BETWEEN)
    assert again() == accepted
    load.end()
    assert [counted(host.url, metric) for metric in ("dark_mode", "os", "tabs")] == [BETWEEN, load.acknowledged, 1]
    host.stop()
    host.registry.write_text(REGISTRY_TEXT)
    with pytest.raises(RuntimeError, match="tabs"):
        host.start()
    host.registry.write_text(REGISTRY_TEXT + ADDED)
    host.start()
    assert counted(host.url, "os") == load.acknowledged


def test_a_version_that_refuses_a_store_leaves_it_as_it_is(host: Host) -> None:
    assert host.gate.post(host.url, upload(report(window=today())))[0] == 200
    with pytest.raises(RuntimeError, match="export a backup with that version"):
        host.run(f"app=notes old={OLD} new={NEW}\n{SWITCH}")
    host.run(f"app=notes old={NEW} new={OLD}\n{SWITCH}")
    assert counted(host.url, "dark_mode") == 1


def test_two_versions_with_one_schema_count_in_one_store_side_by_side(
    builds: tuple[Build, Build], registry_file: Path, tmp_path: Path
) -> None:
    newer = tmp_path / "newer.toml"
    newer.write_text(REGISTRY_TEXT + ADDED)
    with EmbeddedStore(tmp_path / "store") as store:
        options, environment = ("--redis", store.url), builds[0].environment
        with (
            running_collector(registry_file, tmp_path / "a", *options) as here,
            running_collector(newer, tmp_path / "b", *options, environment=environment) as there,
        ):
            sent = upload(report(window=today()))
            assert [post(each.url, sent)[0] for each in (here, there, here)] == [200] * 3
            assert post(there.url, about_tabs())[1]["accepted"] == 1
            assert [counted(each.url, "dark_mode") for each in (here, there)] == [1, 1]
