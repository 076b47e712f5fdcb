"""No reading of tallies shows a stratum of few reports, and no two readings differ by one."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from flask.testing import FlaskClient
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry, RegistryError, Report, Window
from collector import create_app
from collector.access import Access
from collector.live_config import Served, require_additive
from collector.store.store_protocol import StoredTally
from collector.store.strata import LEAST_REPORTS, folded, own_editions
from tests.support.services.collecting import NOON, REGISTRY_TEXT, TODAY, judged, upload
from tests.support.services.conforming import conforming_client
from tests.support.services.memory_store import MemoryStore

STRATA = '[strata]\nplatform = ["ios", "android", "web"]\n'
TEXT = REGISTRY_TEXT.replace("[metric.dark_mode]\n", f'{STRATA}[metric.dark_mode]\nstrata = ["platform"]\n')
REGISTRY = Registry.parse(TEXT)
METRIC = REGISTRY.metric("dark_mode")
KNOWN = own_editions(REGISTRY)
READ = {"Authorization": "Bearer let-me-read-these"}
JSON = {"Content-Type": "application/json"}


def tallies(reports: Iterable[int], *, closed: bool = True) -> list[StoredTally]:
    """Return a tally of each stratum, the others first, whose reports are given."""
    return [
        StoredTally("dark_mode", edition, TODAY, closed, (number // 3, number - number // 3))
        for edition, number in zip(METRIC.editions, reports, strict=True)
        if number
    ]


def read(tallied: list[StoredTally]) -> dict[str, int]:
    names = ("others", *METRIC.strata)
    return {names[METRIC.editions.index(tally.edition)]: sum(tally.counts) for tally in folded(tallied, KNOWN)}


@pytest.mark.parametrize(
    ("reports", "shown"),
    [
        ((0, 100, 200, 300), {"platform=ios": 100, "platform=android": 200, "platform=web": 300}),
        ((0, 99, 200, 300), {"others": 299, "platform=web": 300}),
        ((50, 99, 200, 300), {"others": 149, "platform=android": 200, "platform=web": 300}),
        ((99, 100, 200, 300), {"others": 199, "platform=android": 200, "platform=web": 300}),
        ((0, 60, 60, 300), {"others": 120, "platform=web": 300}),
        ((0, 1, 0, 0), {"others": 1}),
        ((0, 0, 0, 0), {}),
    ],
)
def test_a_small_stratum_is_folded_and_hides_among_as_many_as_the_floor(
    reports: tuple[int, ...], shown: dict[str, int]
) -> None:
    assert read(tallies(reports)) == shown


@settings(derandomize=True, deadline=None)
@given(st.tuples(*[st.integers(0, 250)] * 4))
def test_nothing_is_lost_and_nothing_that_is_shown_is_small_unless_all_is(reports: tuple[int, ...]) -> None:
    shown = read(tallies(reports))
    assert sum(shown.values()) == sum(reports)
    assert min(shown.values(), default=0) >= min(LEAST_REPORTS, sum(reports))
    counted = [tally.counts for tally in folded(tallies(reports), KNOWN)]
    assert [sum(column) for column in zip(*counted, strict=True)] == [
        sum(column) for column in zip(*(tally.counts for tally in tallies(reports)), strict=True)
    ]


@given(st.tuples(*[st.integers(0, 10**6)] * 4))
def test_an_open_window_shows_no_stratum_however_large(reports: tuple[int, ...]) -> None:
    assert set(read(tallies(reports, closed=False))) <= {"others"}


def test_other_metrics_stay_as_they_are() -> None:
    others = [
        StoredTally("os", REGISTRY.metric("os").edition, TODAY, closed=True, counts=(1, 0, 0, 0)),
        StoredTally("dark_mode", "0123456789ab", TODAY, closed=True, counts=(1, 0)),
    ]
    assert list(folded(others, {**KNOWN, "dark_mode:0123456789ab": "0123456789ab"})) == others


@given(st.tuples(*[st.integers(0, 10**6)] * 4), st.booleans())
def test_editions_that_nobody_remembers_show_nothing(
    reports: tuple[int, ...],
    closed: bool,  # noqa: FBT001 a case
) -> None:
    assert list(folded(tallies(reports, closed=closed), {})) == []


def test_a_known_edition_is_not_shown_beside_one_that_may_be_its_stratum() -> None:
    without_strata = own_editions(Registry.parse(REGISTRY_TEXT))
    assert list(folded(tallies((120, 3, 0, 0)), without_strata)) == []


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


def client_of(store: MemoryStore, registry: Registry) -> FlaskClient:
    served = Served(registry, Access.of_token("let-me-read-these"))
    return conforming_client(create_app(lambda: served, store, clock=lambda: NOON))


@pytest.fixture
def client(store: MemoryStore) -> FlaskClient:
    return client_of(store, REGISTRY)


def test_reports_of_strata_are_counted_apart_and_read_folded(client: FlaskClient, store: MemoryStore) -> None:
    for edition, number in zip(METRIC.editions[1:], (150, 160, 3), strict=True):
        for begin in range(0, number, 50):
            reports = [Report("dark_mode", edition, TODAY, 1)] * min(50, number - begin)
            assert client.post("/v1/reports", data=upload(*reports).encode(), headers=JSON).json == {
                "accepted": len(reports),
                "refused": [],
            }
    looked = [json.loads(line) for line in client.get("/v1/tallies?preliminary=1", headers=READ).text.splitlines()]
    assert [(line["edition"], line["reports"]) for line in looked] == [(METRIC.edition, 313)]
    store.close(Window.parse(TODAY))
    closed = [json.loads(line) for line in client.get("/v1/tallies", headers=READ).text.splitlines()]
    assert [(line["edition"], line["counts"]) for line in closed] == [
        (METRIC.editions[0], [0, 153]),
        (METRIC.editions[2], [0, 160]),
    ]


@pytest.mark.parametrize(
    "later",
    [
        TEXT.replace('"ln 3"', "0.9"),
        TEXT.replace(', "web"]', "]"),
        REGISTRY_TEXT,
        REGISTRY_TEXT.replace("[metric.dark_mode]", "[metric.night]"),
        TEXT.replace("platform", "system"),
    ],
    ids=["a new edition", "a stratum less", "no strata", "another question", "other strata"],
)
def test_closed_windows_are_read_alike_whatever_registry_is_served_later(store: MemoryStore, later: str) -> None:
    store.remember_editions(own_editions(REGISTRY))
    for edition, number in zip(METRIC.editions, (120, 3, 170, 130), strict=True):
        for begin in range(0, number, 50):
            reports = [Report("dark_mode", edition, TODAY, 1)] * min(50, number - begin)
            store.count(judged(upload(*reports), registry=REGISTRY))
    store.close(Window.parse(TODAY))
    first, second = (
        client_of(store, registry).get("/v1/tallies", headers=READ).text
        for registry in (REGISTRY, Registry.parse(later))
    )
    assert [json.loads(line)["reports"] for line in first.splitlines()] == [123, 170, 130]
    assert sorted(second.splitlines()) == sorted(first.splitlines())


def test_a_stratum_that_is_served_may_not_disappear() -> None:
    fewer = Registry.parse(TEXT.replace(', "web"]', "]"))
    with pytest.raises(RegistryError, match=r"metric\.dark_mode: is being served, and its reports"):
        require_additive(REGISTRY, fewer)
    require_additive(fewer, REGISTRY)
    require_additive(Registry.parse(REGISTRY_TEXT), REGISTRY)
