from __future__ import annotations

import pytest

from collector.errors import ConfigError
from collector.required_settings import (
    NO_EVICTION,
    NO_PROMISE,
    ON_DISK,
    PART_COVERAGE,
    WRITE_THROUGH,
    Durability,
    Promise,
    require_promise,
)
from tests.support.core.tables import for_each

SOUND = NO_EVICTION | WRITE_THROUGH


ON_TWO_DISKS = Promise(Durability.REPLICATED, 1)


@for_each("version", ["7.2.4", "8.0.1", "10.1"])
@for_each("promise", [NO_PROMISE, ON_DISK, ON_TWO_DISKS])
def test_a_server_that_is_set_right_is_taken(version: str, promise: Promise) -> None:
    require_promise(version, SOUND, promise)


@for_each("version", ["6.2.14", "5.0.0"])
@for_each("promise", [NO_PROMISE, ON_DISK, ON_TWO_DISKS])
def test_a_server_that_is_too_old_is_refused_whatever_is_promised(version: str, promise: Promise) -> None:
    with pytest.raises(ConfigError, match=f"version {version}"):
        require_promise(version, SOUND, promise)


@pytest.mark.parametrize("setting", SOUND)
def test_every_setting_is_required_where_the_disk_is_promised(setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"{setting} {SOUND[setting]} \(now other\)"):
        require_promise("7.2.4", SOUND | {setting: "other"}, ON_DISK)


def test_eviction_is_refused_even_where_memory_is_enough() -> None:
    require_promise("7.2.4", SOUND | dict.fromkeys(WRITE_THROUGH, "other"), NO_PROMISE)
    with pytest.raises(ConfigError, match="maxmemory-policy"):
        require_promise("7.2.4", SOUND | {"maxmemory-policy": "volatile-lru"}, NO_PROMISE)


def test_a_server_that_cannot_wait_for_copies_is_refused_where_they_are_promised() -> None:
    require_promise("7.0.0", SOUND, ON_DISK)
    with pytest.raises(ConfigError, match="replicated needs 7"):
        require_promise("7.0.0", SOUND, ON_TWO_DISKS)


def test_a_cluster_that_cannot_wait_for_copies_of_what_is_read_is_refused() -> None:
    with pytest.raises(ConfigError, match="a cluster needs 7"):
        require_promise("7.0.0", SOUND | PART_COVERAGE, ON_DISK, is_cluster=True)


def test_a_cluster_that_stops_as_a_whole_where_one_node_is_lost_is_refused() -> None:
    require_promise("7.2.4", SOUND, ON_DISK, is_cluster=False)
    require_promise("7.2.4", SOUND | PART_COVERAGE, ON_DISK, is_cluster=True)
    with pytest.raises(ConfigError, match=r"cluster-require-full-coverage no \(now yes\)"):
        require_promise("7.2.4", SOUND | {"cluster-require-full-coverage": "yes"}, ON_DISK, is_cluster=True)
