from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.config import CollectorConfig, parse_bind
from collector.errors import ConfigError
from collector.required_settings import ON_DISK, Durability, Promise
from tests.support.core.tables import for_each

SOUND: dict[str, Any] = {
    "registry": Path("metrics.toml"),
    "host": "127.0.0.1",
    "port": 8080,
    "data_dir": Path("data"),
    "redis_url": None,
    "read_token": "token-of-the-tests",
}


@pytest.mark.parametrize(
    ("text", "bind"),
    [("127.0.0.1:8080", ("127.0.0.1", 8080)), ("[::1]:80", ("::1", 80)), ("localhost:1", ("localhost", 1))],
)
def test_a_bind_names_host_and_port(text: str, bind: tuple[str, int]) -> None:
    assert parse_bind(text) == bind


@for_each("text", ["", "8080", ":8080", "host:", "host:x", "host:-1", "host:8080:", f"host:{'9' * 5000}"])
def test_another_bind_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:8080"):
        parse_bind(text)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"port": 0}, "--bind"),
        ({"is_cluster": True}, "--cluster needs --redis"),
        ({"store_memory_bytes": 2**24 - 1}, "--store-memory must be at least 16M"),
        ({"store_memory_bytes": 2**30, "redis_url": "redis://x"}, "set maxmemory on the server"),
        ({"durability": Durability.REPLICATED}, "the embedded store has none"),
        ({"copies": 2}, "--copies is for --durability replicated"),
        ({"copies": 0}, "--copies must be from 1"),
        ({"copies": 6, "durability": Durability.REPLICATED, "redis_url": "redis://x"}, "--copies must be from 1 to 5"),
        ({"port": 65_536}, "--bind"),
        ({"read_token": ""}, "HEARSAY_READ_TOKEN"),
        ({"read_token": " x"}, "HEARSAY_READ_TOKEN"),
        ({"read_token": "abc"}, "the read token has fewer than 16 characters"),
        ({"read_token": "x" * 15}, "the read token has fewer than 16 characters"),
        ({"read_token": "a b"}, "HEARSAY_READ_TOKEN"),
        ({"read_token": "tok\u00e9n"}, "HEARSAY_READ_TOKEN"),
        ({"grace_s": 367 * 86_400}, "--grace"),
        ({"snapshot_interval_s": 10**20}, "--snapshot-interval"),
        ({"cors_origins": ("https://",)}, "--cors-origin"),
        ({"cors_origins": ("https://App.example.com",)}, "--cors-origin"),
        ({"cors_origins": ("https://a b",)}, "--cors-origin"),
        ({"cors_origins": ("https://[::1",)}, "--cors-origin"),
        ({"cors_origins": ("http://*",)}, "--cors-origin"),
        ({"read_token": None}, "HEARSAY_READ_TOKEN"),
        ({"access_file": Path("access.toml")}, "--access"),
        ({"grace_s": -1}, "--grace"),
        ({"snapshot_interval_s": 0}, "--snapshot-interval"),
        ({"workers": 0}, "--workers"),
        ({"threads": 0}, "--threads"),
        ({"cors_origins": ("app.example.com",)}, "--cors-origin"),
        ({"cors_origins": ("https://app.example.com/",)}, "--cors-origin"),
        ({"cors_origins": ("*",)}, "--cors-origin"),
    ],
)
def test_a_setting_that_cannot_work_is_named(change: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigError, match=named):
        CollectorConfig(**SOUND | change)


def test_a_setting_that_is_a_secret_is_not_shown() -> None:
    shown = repr(
        CollectorConfig(**SOUND | {"read_token": "canary-of-the-tests", "redis_url": "redis://:canary@localhost"})
    )
    assert "canary" not in shown


def test_sound_settings_are_taken() -> None:
    assert CollectorConfig(**SOUND, cors_origins=("https://app.example.com",)).workers == 1


def test_copies_are_promised_only_where_the_store_is_replicated() -> None:
    assert CollectorConfig(**SOUND).promise == ON_DISK
    replicated = SOUND | {"redis_url": "redis://localhost", "durability": Durability.REPLICATED}
    assert CollectorConfig(**replicated).promise == Promise(Durability.REPLICATED, 1)
    assert CollectorConfig(**replicated, copies=2).promise.copies == 2
