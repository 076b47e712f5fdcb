"""Which app a store belongs to: it is not silently served under another app's registry."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from client_sdk.protocol import Registry, RegistryError
from collector.check import Level, check_store
from collector.errors import ConfigError
from collector.live_config import require_additive
from collector.required_settings import ON_DISK
from collector.store import keys
from collector.store.facts import APP_FIELD
from collector.store.preparation import agree_on_app, app_of
from collector.store.redis_store import RedisStore
from tests.support.services.cluster import Cluster
from tests.support.services.collecting import REGISTRY, REGISTRY_TEXT

OTHER = Registry.parse(REGISTRY_TEXT.replace("acme-notes", "acme-mail"))


@pytest.fixture(params=["server", "cluster"])
def store(request: pytest.FixtureRequest, embedded_url: str) -> Iterator[RedisStore]:
    if request.param == "server":
        with redis.Redis.from_url(embedded_url) as client:
            client.flushall()
        opened = RedisStore(embedded_url, ON_DISK)
    else:
        cluster: Cluster = request.getfixturevalue("cluster")
        cluster.empty()
        opened = RedisStore(cluster.url, ON_DISK, is_cluster=True)
    opened.prepare()
    yield opened
    opened.disconnect()


def test_a_store_is_the_first_apps_until_it_is_renamed_on_purpose(store: RedisStore) -> None:
    assert app_of(store) is None
    for _ in range(2):
        agree_on_app(store, REGISTRY.app)
    with pytest.raises(
        ConfigError, match=r"belongs to the app acme-notes, but the registry belongs to acme-mail.*--rename-app"
    ):
        agree_on_app(store, OTHER.app)
    assert app_of(store) == REGISTRY.app
    agree_on_app(store, OTHER.app, renames=True)
    agree_on_app(store, OTHER.app)
    with pytest.raises(ConfigError, match="belongs to the app acme-mail"):
        agree_on_app(store, REGISTRY.app)


def test_a_store_of_before_names_were_kept_takes_the_first(store: RedisStore) -> None:
    agree_on_app(store, REGISTRY.app)
    store.run_on_facts("HDEL", keys.STORE, APP_FIELD)
    agree_on_app(store, OTHER.app)
    assert app_of(store) == OTHER.app


@pytest.mark.slow
def test_a_check_says_that_a_store_is_another_apps(store: RedisStore) -> None:
    agree_on_app(store, REGISTRY.app)
    for registry, failed in ((REGISTRY, []), (OTHER, ["app"])):
        results = check_store(store, ON_DISK, registry)
        assert [result.subject for result in results if result.level is Level.FAILED] == failed


def test_the_name_does_not_change_while_a_collector_runs() -> None:
    with pytest.raises(RegistryError, match=r"^app\.name: is being served and cannot change"):
        require_additive(REGISTRY, OTHER)
