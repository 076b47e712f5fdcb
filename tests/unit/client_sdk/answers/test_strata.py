"""Devices send public strata with reports: one report and charge a window, in any stratum."""

from __future__ import annotations

from pathlib import Path

import pytest

from client_sdk import Recorded, Telemetry
from client_sdk.protocol import Registry
from tests.support.devices.clients import DAY_S, NOON, ScriptedTransport, SetClock, ask, report_from, rows, telemetry

STRATA = '[strata]\nplatform = ["ios", "android"]\n'
BOOLEAN = '[metric.m]\nkind = "boolean"\nstrata = ["platform"]\n'
FILLED = f"{BOOLEAN}fill_in = true\n"
COUNT = '[metric.m]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\nstrata = ["platform"]\n'
IOS, ANDROID = {"platform": "ios"}, {"platform": "android"}


def asking(metrics: str, budget: str = "") -> Registry:
    plain = ask(metrics.replace('strata = ["platform"]\n', ""), budget)
    return Registry.parse(
        plain.source.replace("[metric.m]", f"{STRATA}[metric.m]").replace(
            "purpose =", 'strata = ["platform"]\npurpose ='
        )
    )


def sent(transport: ScriptedTransport) -> list[tuple[str, str]]:
    return [(report.edition, report.window) for report in transport.reports]


def test_the_edition_of_a_report_names_its_stratum_and_everything_else_is_as_without(tmp_path: Path) -> None:
    registry, transport = asking(BOOLEAN), ScriptedTransport()
    for folder, strata in (("ios", IOS), ("android", ANDROID), ("web", {"platform": "web"}), ("none", None)):
        with telemetry(tmp_path / folder, registry=registry, transport=transport, strata=strata) as device:
            assert device.record("m", value=True) is Recorded.QUEUED
            device.flush(timeout_s=60)
            assert device.history()[0].label in ("true", "false")
    others, ios, android = registry.metric("m").editions
    assert [edition for edition, _ in sent(transport)] == [ios, android, others, others]
    charged = {rows(tmp_path / folder, "SELECT nanos FROM charges")[0] for folder in ("ios", "android", "web", "none")}
    assert len(charged) == 1


@pytest.mark.parametrize("metrics", [BOOLEAN, FILLED, COUNT], ids=["at once", "filled in", "counted"])
def test_a_device_that_moves_within_a_window_reports_it_once_and_pays_once(tmp_path: Path, metrics: str) -> None:
    registry, clock, transport = asking(metrics), SetClock(), ScriptedTransport()

    def answer(strata: dict[str, str]) -> Recorded:
        with telemetry(tmp_path, registry=registry, clock=clock, transport=transport, strata=strata) as device:
            device.flush(timeout_s=60)
            return device.count("m") if metrics == COUNT else device.record("m", value=True)

    first, second, third = (answer(strata) for strata in (IOS, ANDROID, IOS))
    if metrics != COUNT:
        assert first is Recorded.QUEUED
        assert second is third is Recorded.ALREADY_RECORDED
    clock.now_s += DAY_S * 1.5
    for strata in (ANDROID, IOS):
        report_from(tmp_path, registry=registry, clock=clock, transport=transport, strata=strata)
    windows = [window for _, window in sent(transport)]
    assert windows.count("2026-11-20") == 1
    assert rows(tmp_path, "SELECT COUNT(*) FROM charges WHERE window = '2026-11-20'") == [(1,)]


def test_a_filled_in_report_leaves_in_the_stratum_in_which_its_window_began_whether_or_not_anything_is_recorded(
    tmp_path: Path,
) -> None:
    registry = asking(FILLED)

    def life(folder: Path, *, records: bool) -> list[tuple[str, str]]:
        clock, transport = SetClock(), ScriptedTransport()
        for strata in (IOS, ANDROID):
            with telemetry(folder, registry=registry, clock=clock, transport=transport, strata=strata) as device:
                device.flush(timeout_s=60)
                if records:
                    device.record("m", value=True)
            clock.now_s += 3600
        clock.now_s += 2 * DAY_S
        report_from(folder, registry=registry, clock=clock, transport=transport, strata=ANDROID)
        return sorted(sent(transport))

    silent = life(tmp_path / "silent", records=False)
    assert life(tmp_path / "recording", records=True) == silent
    assert (registry.metric("m").editions[1], "2026-11-20") in silent


ACTIVITY = (
    '[metric.m]\nkind = "activity"\ndays = 7\nstatistic = "distribution"\nwindow = "week"\nepsilon = 20\n'
    'strata = ["platform"]\n'
)
CERTAIN = "epsilon = 20\n"
SAMPLE = 'strategy = "sample"\nanswers = 1'


@pytest.mark.parametrize(
    ("metrics", "strategy"),
    [
        (f"{FILLED}{CERTAIN}", ""),
        (f"{BOOLEAN}{CERTAIN}", SAMPLE),
        (f"{ACTIVITY}fill_in = true\n", ""),
        (ACTIVITY, f'{SAMPLE}\nwindow = "week"'),
        (COUNT.replace('"mean"', '"distribution"') + CERTAIN, ""),
        (COUNT.replace('"mean"', '"distribution"') + CERTAIN, SAMPLE),
    ],
    ids=["filled in", "drawn", "days filled in", "days drawn", "counted", "counted and drawn"],
)
def test_what_a_device_answers_after_it_has_moved_is_reported_in_the_window_that_it_has_paid_for(
    tmp_path: Path, metrics: str, strategy: str
) -> None:
    registry, clock, transport = asking(metrics, strategy), SetClock(NOON - 2 * DAY_S), ScriptedTransport()

    def answer(device: Telemetry) -> Recorded:
        if "activity" in metrics:
            return device.active("m")
        return device.count("m", 2) if "count" in metrics else device.record("m", value=True)

    for strata in (IOS, ANDROID):
        with telemetry(tmp_path, registry=registry, clock=clock, transport=transport, strata=strata) as device:
            if strata is ANDROID or "count" in metrics:
                assert answer(device) in {Recorded.QUEUED, Recorded.COUNTED}
            device.flush(timeout_s=60)
    clock.now_s += DAY_S * (5 if "activity" in metrics else 1)
    with telemetry(tmp_path, registry=registry, clock=clock, transport=transport, strata=ANDROID) as device:
        device.flush(timeout_s=60)
        clock.now_s += DAY_S / 2
        device.flush(timeout_s=60)
        (entry,) = (entry for entry in device.history() if entry.window in {"2026-11-18", "2026-W47"})
    expected = "1" if "activity" in metrics else "4" if "count" in metrics else "true"
    assert entry.label == expected
    _, ios, android = registry.metric("m").editions
    is_paid_before = "fill_in" in metrics or strategy
    assert entry.edition == (ios if is_paid_before else android)


def test_a_variable_that_the_registry_lacks_is_refused_when_the_app_starts() -> None:
    with pytest.raises(ValueError, match="no public variable 'color'"):
        telemetry(None, registry=asking(BOOLEAN), strata={"color": "red"})
