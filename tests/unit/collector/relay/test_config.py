from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collector.errors import ConfigError
from collector.relay.config import MAX_GATHER_S, MAX_HELD, RelayConfig
from collector.relay.forward import CONNECT_TIMEOUT_S, DEADLINE_S, READ_TIMEOUT_S
from collector.relay.mixer import ANSWER_DEADLINE_S

GOOD: dict[str, Any] = {
    "collector": "https://telemetry.example.com",
    "key": "key-canary-of-the-tests",
    "state": Path("relay.json"),
    "host": "127.0.0.1",
    "port": 8081,
}


def test_settings_at_their_limits_are_taken_and_the_key_is_not_shown() -> None:
    config = RelayConfig(**GOOD, gather_s=MAX_GATHER_S, held=MAX_HELD)
    assert "key-canary" not in repr(config)


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        *(
            ({"collector": url}, "--to")
            for url in ("", "example.com", "ftp://example.com", "https://", "https://user:secret@example.com")
        ),
        ({"collector": "https://example..com"}, "--to"),
        *(({"collector": f"https://example.com{rest}"}, "--to") for rest in ("?a=b", "#x", "/ x", ":0", ":99999")),
        *(({"key": key}, "relay key") for key in ("", "two words", "schl\u00fcssel", "line\n")),
        *(({"port": port}, "--bind") for port in (0, 65_536)),
        *(({"gather_s": seconds}, "--gather") for seconds in (0.0, -1.0, MAX_GATHER_S + 1, float("nan"))),
        *(({"held": held}, "--held") for held in (0, MAX_HELD + 1)),
    ],
)
def test_a_setting_that_cannot_work_is_refused_by_name_and_no_secret_is_shown(
    changed: dict[str, Any], named: str
) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        RelayConfig(**GOOD | changed)
    assert "secret" not in str(caught.value)


def test_gathering_and_asking_the_collector_fit_into_what_a_device_waits() -> None:
    assert CONNECT_TIMEOUT_S + READ_TIMEOUT_S <= DEADLINE_S
    assert MAX_GATHER_S + DEADLINE_S <= ANSWER_DEADLINE_S


def test_a_collector_elsewhere_is_not_spoken_to_without_tls_unless_that_is_said() -> None:
    elsewhere = GOOD | {"collector": "http://10.0.0.1:8080"}
    with pytest.raises(ConfigError, match="--to must be an https:// URL, unless it is on this machine"):
        RelayConfig(**elsewhere)
    assert RelayConfig(**elsewhere, allow_plain_http=True).collector == "http://10.0.0.1:8080"
    assert RelayConfig(**GOOD | {"collector": "http://127.0.0.1:8080"}).collector == "http://127.0.0.1:8080"
