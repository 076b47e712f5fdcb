"""The self-test passes on a sound system, and finds every fault that is planted."""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable
from itertools import chain, count, repeat
from pathlib import Path
from typing import Any

import pytest

from client_sdk.cli import main
from client_sdk.commands import selftest
from client_sdk.host import detached, forks
from client_sdk.ledger import charges, origin
from client_sdk.ledger import file as ledger_file
from tests.support.devices import faulty

Plant = Callable[[pytest.MonkeyPatch], None]


def replacing(owner: Any, name: str, value: object) -> Plant:
    return lambda patch: patch.setattr(owner, name, value)


FAULTS: dict[str, tuple[str, Plant, str]] = {
    "a lock of a file that always succeeds": (
        "locks",
        replacing(detached, "_lock", lambda *_, **__: True),
        "two processes locked the same file",
    ),
    "a lock of the ledger that always succeeds": (
        "locks",
        replacing(selftest, "hold", faulty.hold_nothing),
        "two processes wrote to one ledger",
    ),
    "a ledger that forgets a charge": ("ledger", replacing(charges, "charge", lambda *_: True), "LedgerError"),
    "a ledger that forgets all when it is closed": (
        "ledger",
        replacing(ledger_file, "open_own", lambda _path, app, *_: ledger_file.open_memory(app)),
        "a report was queued instead of already_recorded",
    ),
    "a ledger that knows no ceiling": (
        "ledger",
        replacing(charges, "spent_nanos", lambda *_: (0, 0, 0)),
        "a report was queued instead of out_of_budget",
    ),
    "a machine id that never differs": (
        "machine id",
        replacing(origin, "machine_id", lambda _: "always the same"),
        "from another machine",
    ),
    "files that cannot be told from copies": (
        "machine id",
        replacing(origin.Origin, "contradicts", lambda *_: False),
        "a copied ledger was not detected",
    ),
    "a kill that loses an acknowledged report": (
        "kill",
        replacing(selftest, "write", faulty.acknowledge_before_writing),
        "1 acknowledged reports were lost",
    ),
    "a spawned child with a ledger of its own": (
        "spawn",
        replacing(selftest, "write", faulty.write_elsewhere),
        "a report was queued instead of already_recorded",
    ),
    "a fork that leaves the ledger open": (
        "fork",
        replacing(forks, "register", lambda _: None),
        "a child process inherited the open ledger",
    ),
    "a forked child that does nothing": (
        "fork",
        replacing(selftest, "write", lambda *_: None),
        "a child process ended too early",
    ),
}
"""A check, how its fault is planted, and what it says then."""

NOW_S = 1_800_000_000.0


def standing(monotonic: Callable[[], float] = lambda: 0.0, now_s: float = NOW_S) -> selftest.Clocks:
    return selftest.Clocks(lambda: now_s, monotonic)


CLOCKS: dict[str, tuple[selftest.Clocks, str]] = {
    "that goes back": (
        selftest.Clocks(chain(repeat(NOW_S, 7), repeat(NOW_S - 0.5)).__next__, lambda: 0.0),
        "the clock went back by 0.5 s",
    ),
    "that is set meanwhile": (selftest.Clocks(count(NOW_S).__next__, lambda: 0.0), "the clock jumped by +100000 s"),
    "of 1970": (standing(now_s=9.0), "the clock shows 1970-01-01"),
    "beyond all windows": (standing(now_s=1e12), "no collector accepts"),
}


def only(patch: pytest.MonkeyPatch, check: str) -> None:
    patch.setattr(selftest, "CHECKS", {check: selftest.CHECKS[check]})


@pytest.mark.slow
def test_a_sound_system_passes_and_says_what_to_paste_into_an_issue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selftest", "--data-dir", str(tmp_path)]) == 0
    *lines, last = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0].split(None, 1) for line in lines] == [["ok", check] for check in selftest.CHECKS]
    assert re.fullmatch(r"Hearsay SDK \S+, CPython \S+, \S+, SQLite \S+, \S+: 7 of 7 checks passed", last)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check, plant, sentence = FAULTS[fault]
    only(monkeypatch, check)
    plant(monkeypatch)
    assert main(["selftest", "--data-dir", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert re.match(rf"FAILED +{check}: .*{re.escape(sentence)}", printed.out), printed.out
    assert printed.out.endswith(f": 0 of 1 checks passed, failed: {check}\n")
    assert f"failed: {check}\n" in printed.err


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_clock_that_cannot_be_believed_is_found(clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clocks, sentence = CLOCKS[clock]
    only(monkeypatch, "clock")
    found = selftest.selftest(None, clocks)
    assert found.text.startswith("FAILED   clock: ")
    assert sentence in found.text
    assert found.problems == ("failed: clock",)


def test_a_clock_that_stands_still_for_a_moment_is_sound(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "clock")
    assert selftest.selftest(None, standing()).problems == ()


def test_what_a_system_lacks_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "fork")
    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    found = selftest.selftest(None)
    assert found.text.startswith("absent   fork: not available on this system\n")
    assert found.problems == ()


def test_a_folder_that_is_not_there_is_refused_with_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["selftest", "--data-dir", str(tmp_path / "nowhere")]) == 1
    assert "nowhere cannot be used: No such file or directory; name a writable folder" in capsys.readouterr().err
