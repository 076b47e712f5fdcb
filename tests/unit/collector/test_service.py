"""What the service does with a store before it counts."""

from __future__ import annotations

import logging
import time
from datetime import date

import pytest
import redis

from client_sdk.protocol import GRACE_S, Registry, Window, WindowKind
from client_sdk.protocol.registry.history import Release, with_former
from collector.errors import ConfigError
from collector.judge import judge
from collector.service import admit, require_known_editions
from collector.store.redis_store import RedisStore
from collector.store.strata import own_editions
from tests.support.services.collecting import REGISTRY, REGISTRY_TEXT, report, upload


def test_a_store_that_is_ready_for_a_registry_remembers_its_editions(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    store = RedisStore(embedded_url)
    store.prepare()
    assert admit(store, REGISTRY) == own_editions(REGISTRY).keys()
    assert store.own_editions() == own_editions(REGISTRY)
    store.disconnect()


def test_a_start_or_reload_warns_once_of_a_stop_that_stops_no_known_metric(
    embedded_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = RedisStore(embedded_url)
    store.prepare()
    with caplog.at_level(logging.WARNING, logger="collector"):
        admit(store, Registry.parse(f'stopped = ["os:0123456789ab"]\n{REGISTRY_TEXT}'))
        admit(store, Registry.parse(f'stopped = ["os:{REGISTRY.metric("os").edition}"]\n{REGISTRY_TEXT}'))
    (warning,) = caplog.messages
    assert "stopped:" in warning
    assert "os:0123456789ab" in warning
    store.disconnect()


def test_a_registry_that_would_lose_reports_of_open_windows_is_refused_with_what_to_do(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    store = RedisStore(embedded_url)
    store.prepare()
    now_s = time.time()
    window = Window.at(WindowKind.DAY, now_s).text
    judgement = judge(upload(report("os", 2, window)), REGISTRY, now_s=now_s, grace_s=GRACE_S)
    store.count(judgement)
    now = Registry.parse(REGISTRY_TEXT.replace('"windows", ', ""))
    lost = f"os:{REGISTRY.metric('os').edition}"
    with pytest.raises(ConfigError, match=rf"devices report {lost} .+--allow-unknown-editions"):
        require_known_editions(store, now, grace_s=GRACE_S)
    released = with_former(now, [Release(date(2026, 11, 1), REGISTRY)])
    require_known_editions(store, released, grace_s=GRACE_S)
    store.close(Window.parse(window))
    require_known_editions(store, now, grace_s=GRACE_S)
    store.disconnect()
