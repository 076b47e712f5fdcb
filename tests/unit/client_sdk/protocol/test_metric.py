"""Metrics: the edition stands for what a report means, and an answer outside the domain is never
shown.
"""

from __future__ import annotations

import traceback
from dataclasses import replace
from datetime import date

import pytest

from client_sdk.protocol import HearsayError, Metric, OutsideDomainError, Window
from client_sdk.protocol.errors import RegistryError, UnknownMetricError, WindowError
from client_sdk.protocol.wire.report import EDITION
from client_sdk.protocol.wire.strict_json import MalformedError
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    NUMBER,
    ORDINAL,
    SET,
    Field,
    Toml,
    metric_of,
    parsed,
)
from tests.support.laws.coins import ScriptedCoins

MARK = 987_654_321_123


@for_each("fields", [BOOLEAN, CATEGORY | {"epsilon": 2}, NUMBER])
@for_each("change", [{"purpose": "Other words."}, {"owner": "me@example.com"}, {"expires": Toml("2027-12-31")}])
def test_no_edition_depends_on_purpose_owner_or_expiry(fields: dict[str, Field], change: dict[str, Field]) -> None:
    assert metric_of(fields, **change).edition == metric_of(fields).edition


@pytest.mark.parametrize(
    ("fields", "change"),
    [
        *((BOOLEAN, {"epsilon": 1.1}), (BOOLEAN, {"epsilon": "ln 3"}), (BOOLEAN, {"epsilon": Toml("1.000000000001")})),
        *((BOOLEAN, {"window": "week"}), (BOOLEAN, {"window": "month"}), (CATEGORY, {"values": ["a", "b"]})),
        *((CATEGORY, {"values": ["a", "b", "c", "d"], "epsilon": 1}), (CATEGORY, {"values": ["a", "b", "C"]})),
        *((CATEGORY, {"values": ["b", "a", "c"]}), (CATEGORY, {"epsilon": 2}), (NUMBER, {"low": -1})),
        *((NUMBER, {"high": 10}), (NUMBER, {"epsilon": 0.25}), (NUMBER, {"statistic": "distribution"})),
        *((NUMBER, {"clip": False}), (COUNT, {"clip": False}), (COUNT, {"max": 8}), (COUNT, {"statistic": "mean"})),
        *((COUNT, {"epsilon": 2}), (ORDINAL, {"values": ["b", "a", "c"]}), (SET, {"values": ["b", "a", "c"]})),
        *((ORDINAL, {"mechanism": "k-ary-randomized-response"}), (SET, {"max_items": 1})),
        (ORDINAL | {"mechanism": "auto"}, {"kind": "category"}),
    ],
    ids=str,
)
def test_the_edition_depends_on_all_that_a_report_means(fields: dict[str, Field], change: dict[str, Field]) -> None:
    changed = metric_of(fields, **change).edition
    assert changed != metric_of(fields).edition
    assert EDITION.fullmatch(changed)


def test_the_edition_tells_kinds_and_mechanisms_apart_that_share_their_integers() -> None:
    boolean, mean = metric_of(BOOLEAN), metric_of(NUMBER, epsilon=1, mechanism="one-bit")
    assert boolean.channel.integers == mean.channel.integers
    assert boolean.edition != mean.edition


def test_naming_what_auto_chooses_changes_nothing() -> None:
    assert metric_of(BOOLEAN, mechanism="randomized-response") == metric_of(BOOLEAN, mechanism="auto")
    assert metric_of(CATEGORY, mechanism="k-ary-randomized-response") == metric_of(CATEGORY)
    assert metric_of(NUMBER, mechanism="optimal-mean") == metric_of(NUMBER)


def test_a_metric_is_asked_in_windows_that_begin_until_its_last_day() -> None:
    metric = metric_of(BOOLEAN, expires=Toml("2026-11-20"))
    assert metric.expires == date(2026, 11, 20)
    for text in ("2026-11-20", "2026-W47", "2026-11", "1999-01-01"):
        assert not metric.has_expired(Window.parse(text))
    for text in ("2026-11-21", "2026-W48", "2026-12"):
        assert metric.has_expired(Window.parse(text))
    assert not metric_of(BOOLEAN).has_expired(Window.parse("9998-12-31"))


@pytest.mark.parametrize(
    ("fields", "answer"),
    [
        *((BOOLEAN, MARK), (CATEGORY, str(MARK)), (NUMBER, MARK), (NUMBER, float(MARK)), (NUMBER, str(MARK))),
        *((COUNT | {"clip": False}, MARK), (COUNT, str(MARK)), (COUNT, float(MARK)), (ORDINAL, str(MARK))),
        *((SET, [str(MARK)]), (SET, {str(MARK): 1}), (SET, ["a", "b", "c", str(MARK)]), (SET, str(MARK))),
    ],
    ids=str,
)
def test_an_answer_outside_the_domain_is_in_no_error_and_no_traceback(fields: dict[str, Field], answer: object) -> None:
    is_not_shown(metric_of(fields), answer)


@pytest.mark.parametrize("answer", [(True, str(MARK)), (MARK, "a"), [True, "a", MARK], str(MARK)], ids=str)
def test_a_pair_outside_its_domains_is_in_no_error_and_no_traceback(answer: object) -> None:
    is_not_shown(parsed(dark_mode=BOOLEAN, os=CATEGORY, m=CROSS)["m"], answer)


def is_not_shown(metric: Metric, answer: object) -> None:
    with pytest.raises(OutsideDomainError) as caught:
        metric.perturb(answer, ScriptedCoins([]))
    error = caught.value
    assert error.metric == "m"
    assert error.expected in str(error)
    assert str(MARK) not in f"{error!s} {error!r} {error.args} {vars(error)}"
    assert str(MARK) not in "".join(traceback.format_exception(error))


def test_a_metric_without_title_has_its_name_and_persists_no_answer() -> None:
    parsed_metric = metric_of(BOOLEAN)
    metric = Metric("m", "Why?", parsed_metric.kind, parsed_metric.channel, parsed_metric.window)
    assert (metric.title, metric.persist) == ("m", False)
    assert replace(metric, title="Mood").title == "Mood"


def test_every_error_of_the_vocabulary_has_the_one_base() -> None:
    for error in (RegistryError, WindowError, UnknownMetricError, OutsideDomainError, MalformedError):
        assert issubclass(error, HearsayError)
