"""What the SDK offers to the tests of apps, and that none of it can be left on by accident."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from client_sdk import OutsideDomainError, Recorded, Telemetry
from client_sdk.ledger.file import FILE_NAME
from client_sdk.testing import Answer, FakeClock, KeptUploads, SeededCoins, answers, call_due
from tests.support.devices.clients import COLLECTOR, ScriptedTransport, ask, registry, run_python


def app(data_dir: Path | None, **options: object) -> Telemetry:
    """Make a Telemetry as an app does, which knows of no test."""
    return Telemetry(registry(), collector=COLLECTOR, data_dir=data_dir, consent=True, **options)  # type: ignore[arg-type]


def test_within_answers_a_test_sees_what_an_app_recorded_and_what_would_leave(tmp_path: Path) -> None:
    with answers() as recorded, app(tmp_path) as telemetry:
        telemetry.record("size", 4.5)
        telemetry.record("system", "linux")
        telemetry.count("taps")
        telemetry.count("taps", by=3)
        assert telemetry.flush(timeout_s=60)
    assert recorded == [Answer("size", 4.5), Answer("system", "linux"), Answer("taps", 1), Answer("taps", 3)]
    assert [answer.outcome for answer in recorded] == [Recorded.QUEUED] * 2 + [Recorded.COUNTED] * 2
    assert sorted(report.metric for report in recorded.uploads.reports) == ["size", "system"]


def test_an_answer_without_consent_equals_no_recorded_one(tmp_path: Path) -> None:
    with answers() as recorded, app(tmp_path) as telemetry:
        telemetry.record("dark_mode", value=True)
        telemetry.record("dark_mode", value=True)
        telemetry.consent = False
        telemetry.record("dark_mode", value=True)
    taken, repeated, refused = recorded
    assert taken == repeated == Answer("dark_mode", value=True)
    assert repeated.outcome is Recorded.ALREADY_RECORDED
    assert refused == Answer("dark_mode", True, Recorded.NO_CONSENT)  # noqa: FBT003 an answer
    assert refused not in (taken, Answer("dark_mode", True, Recorded.CLOSED))  # noqa: FBT003 as above


def test_what_an_app_provides_is_called_at_once_and_its_errors_are_seen(tmp_path: Path) -> None:
    def fails() -> object:
        raise KeyError("theme")

    with answers() as recorded, app(tmp_path) as telemetry:
        telemetry.provide("dark_mode", lambda: True)
        with pytest.raises(KeyError):
            telemetry.provide("sound", fails)
        with pytest.raises(OutsideDomainError):
            telemetry.provide("sound", lambda: None)
    assert recorded == [Answer("dark_mode", value=True)]


def test_a_test_calls_what_is_due_by_its_own_clock() -> None:
    clock, uploads, calls = FakeClock(), KeptUploads(), []

    def is_dark() -> bool:
        calls.append(clock.now.day)
        return True

    with app(None, transport=uploads, clock=clock) as telemetry:
        telemetry.provide("dark_mode", is_dark)
        for _ in range(3):
            call_due(telemetry)
            clock.advance(timedelta(minutes=1))
            assert telemetry.flush(timeout_s=60)
            clock.advance(timedelta(days=1))
    assert calls == [1, 2, 3]
    assert [report.window for report in uploads.reports] == ["2026-07-01", "2026-07-02", "2026-07-03"]


def test_a_day_of_use_is_an_answer_too(tmp_path: Path) -> None:
    days = ask('[metric.used]\nkind = "activity"\ndays = 7\nstatistic = "mean"')
    with answers() as recorded, Telemetry(days, collector=COLLECTOR, data_dir=tmp_path, consent=True) as telemetry:
        telemetry.active("used")
    assert recorded == [Answer("used", value=True)]
    assert recorded[0].outcome is Recorded.COUNTED


def test_a_telemetry_made_within_answers_never_finds_its_way_to_a_collector(tmp_path: Path) -> None:
    with answers() as recorded:
        telemetry = app(tmp_path)
    telemetry.record("dark_mode", value=True)  # after the context: it is no longer watched
    assert telemetry.flush(timeout_s=60)
    assert recorded == []
    assert len(recorded.uploads.bodies) == 1


@pytest.mark.parametrize("consent", [True, False])
def test_a_telemetry_made_within_answers_leaves_what_the_app_has_counted(tmp_path: Path, *, consent: bool) -> None:
    counting = ask('[metric.taps]\nkind = "count"\nmax = 9\nepsilon = 1\nstatistic = "mean"\npersist = true')
    with Telemetry(counting, collector=COLLECTOR, data_dir=tmp_path, consent=True) as telemetry:
        assert telemetry.count("taps") is Recorded.COUNTED
    with answers(), Telemetry(counting, collector=COLLECTOR, data_dir=tmp_path, consent=consent):
        time.sleep(0.5)  # a wipe would be done in the background
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as ledger:
        assert ledger.execute("SELECT count(*) FROM counts").fetchone() == (1,)
    assert not any(path.is_dir() for path in tmp_path.iterdir())


def test_no_telemetry_that_could_reach_a_collector_is_watched(tmp_path: Path) -> None:
    with app(tmp_path) as telemetry, app(None, transport=ScriptedTransport()) as own, answers() as recorded:
        for device in (telemetry, own):
            with pytest.raises(RuntimeError, match="could reach a collector"):
                device.record("dark_mode", value=True)
            with pytest.raises(RuntimeError, match="could reach a collector"):
                device.count("taps")
    assert recorded == []
    assert Telemetry.record.__qualname__ == "Telemetry.record"
    assert not hasattr(Telemetry.record, "__wrapped__")


def test_a_mistake_is_the_apps_and_is_not_collected(tmp_path: Path) -> None:
    with answers() as recorded, app(tmp_path) as telemetry, pytest.raises(OutsideDomainError):
        telemetry.record("system", "a canary")
    assert recorded == []
    with answers(), pytest.raises(ValueError, match="collector must be a URL"):
        Telemetry(registry(), collector="nowhere", data_dir=None, consent=True)


MISTAKES: dict[str, tuple[dict[str, object], str]] = {
    "a helper without a ledger": ({"data_dir": None, "sender": "process"}, "sender must be"),
    "a sender that is none": ({"sender": "bogus"}, "sender must be"),
    "coins without a transport": ({"coins": SeededCoins(1)}, "coins are for tests"),
    "another machine without TLS": ({"collector": "http://a.example"}, "must be an https:// URL"),
    "a key that no header holds": ({"upload_key": "a b"}, "upload_key must be"),
    "a directory that is no path": ({"data_dir": 5}, "^data_dir must be the path"),
    "a directory without a name": ({"data_dir": ""}, "^data_dir is empty"),
}


@pytest.mark.parametrize(("changes", "sentence"), MISTAKES.values(), ids=MISTAKES)
def test_what_an_app_may_not_say_is_refused_in_tests_too(
    changes: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    arguments: dict[str, Any] = {"collector": COLLECTOR, "data_dir": tmp_path, "consent": True} | changes
    with pytest.raises((ValueError, TypeError), match=sentence) as outside:
        Telemetry(registry(), **arguments)
    with answers(), pytest.raises(outside.type, match=sentence):
        Telemetry(registry(), **arguments)


def test_a_telemetry_with_a_helper_is_watched_within_answers_and_starts_none(tmp_path: Path) -> None:
    with answers() as recorded, app(tmp_path, sender="process") as telemetry:
        telemetry.record("dark_mode", value=True)
    assert recorded == [Answer("dark_mode", value=True)]
    assert list(tmp_path.iterdir()) == []


def test_a_kept_upload_is_accepted_and_offline_nothing_is() -> None:
    uploads = KeptUploads()
    uploads.is_online = False
    with app(None, transport=uploads) as telemetry:
        telemetry.record("dark_mode", value=True)
        assert not telemetry.flush(timeout_s=0.2)
        assert uploads.bodies == []
        uploads.is_online = True
        assert telemetry.flush(timeout_s=60)
        assert [str(entry.outcome) for entry in telemetry.history()] == ["accepted"]


def test_a_clock_is_at_the_same_instant_on_every_machine() -> None:
    with pytest.raises(ValueError, match="time zone"):
        FakeClock(datetime(2026, 7, 1, 12))  # noqa: DTZ001 the mistake


def test_a_clock_moves_by_hand_only() -> None:
    clock = FakeClock()
    before = clock()
    assert clock() == before
    with app(None, transport=KeptUploads(), clock=clock) as telemetry:
        assert telemetry.record("dark_mode", value=True) is Recorded.QUEUED
        assert telemetry.record("dark_mode", value=True) is Recorded.ALREADY_RECORDED
        clock.advance(timedelta(days=1))
        assert telemetry.record("dark_mode", value=True) is Recorded.QUEUED
    assert clock() == before + 86_400


def reported(seed: int) -> list[int]:
    uploads, clock = KeptUploads(), FakeClock()
    with app(None, transport=uploads, clock=clock, coins=SeededCoins(seed)) as telemetry:
        for _ in range(2):
            for metric in ("dark_mode", "sound"):
                telemetry.record(metric, value=True)
            telemetry.flush(timeout_s=60)
            clock.advance(timedelta(days=1))
    return [report.symbol for report in sorted(uploads.reports, key=lambda report: (report.window, report.metric))]


def test_the_same_seed_gives_the_same_reports_and_others_give_others() -> None:
    assert reported(1) == reported(1)
    assert len({tuple(reported(seed)) for seed in range(12)}) > 1


def test_the_sdk_never_imports_what_is_for_tests() -> None:
    program = (
        "import sys, client_sdk\n"
        "for name in client_sdk.__all__: getattr(client_sdk, name)\n"
        "import client_sdk.cli\n"
        "print('client_sdk.testing' in sys.modules)"
    )
    assert run_python(program) == "False\n"


def test_a_test_spends_nothing_of_the_developers_own_device_and_leaves_nothing_to_send(tmp_path: Path) -> None:
    with answers(), Telemetry(registry(), collector=COLLECTOR, data_dir=tmp_path / "app", consent=True) as device:
        assert device.record("dark_mode", value=True) is Recorded.QUEUED
    assert not (tmp_path / "app").exists()
