from __future__ import annotations

import pytest

from collector.config import ConfigError, Durability
from collector.promise import NO_EVICTION, SETTINGS, WRITE_THROUGH, require_promise

SOUND = NO_EVICTION | WRITE_THROUGH


@pytest.mark.parametrize("version", ["7.0.0", "7.2.4", "8.0.1", "10.1"])
@pytest.mark.parametrize("durability", list(Durability))
def test_a_server_that_is_set_right_is_taken(version: str, durability: Durability) -> None:
    require_promise(version, SOUND, durability)


@pytest.mark.parametrize("version", ["6.2.14", "5.0.0"])
@pytest.mark.parametrize("durability", list(Durability))
def test_a_server_that_is_too_old_is_refused_whatever_is_promised(version: str, durability: Durability) -> None:
    with pytest.raises(ConfigError, match=f"version {version}"):
        require_promise(version, SOUND, durability)


@pytest.mark.parametrize("setting", SETTINGS)
def test_every_setting_is_required_where_the_disk_is_promised(setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"{setting} {SOUND[setting]} \(now other\)"):
        require_promise("7.2.4", SOUND | {setting: "other"}, Durability.FSYNC)


def test_eviction_is_refused_even_where_memory_is_enough() -> None:
    require_promise("7.2.4", SOUND | dict.fromkeys(WRITE_THROUGH, "other"), Durability.MEMORY)
    with pytest.raises(ConfigError, match="maxmemory-policy"):
        require_promise("7.2.4", SOUND | {"maxmemory-policy": "volatile-lru"}, Durability.MEMORY)
