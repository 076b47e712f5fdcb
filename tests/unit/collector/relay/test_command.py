from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from collector.commands.cli import cli
from collector.errors import ConfigError
from collector.relay import serve
from collector.relay.config import MAX_GATHER_S, MAX_HELD, RelayConfig
from collector.relay.forward import CONNECT_TIMEOUT_S, DEADLINE_S, READ_TIMEOUT_S
from collector.relay.mixer import ANSWER_DEADLINE_S

STATE = ("--state", "relay.json")
TO = ("--to", "https://telemetry.example.com", *STATE)


@pytest.mark.parametrize(
    ("options", "environment", "refusal"),
    [
        (TO, {}, ("a relay needs a key: set HEARSAY_RELAY_KEY", 1)),
        (TO, {"HEARSAY_RELAY_KEY": "two words"}, ("the relay key must be printable ASCII without spaces", 1)),
        (TO, {"HEARSAY_RELAY_KEY": "secret-4"}, ("the relay key has fewer than 16 characters", 1)),
        ((*TO, "--key-file", "none"), {}, ("the secret file none cannot be read", 1)),
        ((*TO, "--key-file", "key"), {"HEARSAY_RELAY_KEY": "secret-1"}, ("keep only one of them", 1)),
        ((*TO, "--key-file", "key", "--gather", "60"), {}, ("--gather must be above 0 and at most 10.0 seconds", 2)),
        ((*TO, "--key-file", "key", "--bind", "8081"), {}, ("--bind must be HOST:PORT", 2)),
        ((*TO, "--key-file", "key", "--state", "key"), {}, ("key is damaged: restore a copy of the file", 1)),
        ((*TO, "--key-file", "key", "--state", "none/relay.json"), {}, ("name a file in a folder", 1)),
        ((*TO[:2], "--key-file", "key"), {}, ("Missing option '--state'", 2)),
        (
            ("--to", "https://me:secret-2@example.com", *STATE, "--key-file", "key"),
            {},
            ("--to must be a URL such as https://", 2),
        ),
    ],
)
def test_what_is_wrong_is_said_for_people_and_no_secret_is_shown(
    options: tuple[str, ...],
    environment: dict[str, str],
    refusal: tuple[str, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("key").write_text("secret-3-of-the-tests\n", encoding="utf-8")
    result = CliRunner(env=environment).invoke(cli, ["relay", *options])
    message, status = refusal
    assert result.exit_code == status
    assert message in result.stderr
    assert "secret-" not in result.output


def allowed_files(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int) -> list[tuple[int, int]]:
    """Pretend that the system has these limits of open files; return the limits that are set."""
    limits_set: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: limits_set.append(limits))
    return limits_set


@pytest.mark.parametrize(
    ("soft", "hard", "limits_set"),
    [
        (1024, 5000, [(4000, 5000)]),
        (1024, resource.RLIM_INFINITY, [(4000, resource.RLIM_INFINITY)]),
        (4000, 4000, []),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, []),
    ],
)
def test_as_many_files_are_allowed_as_connections_need(
    soft: int, hard: int, limits_set: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = allowed_files(monkeypatch, soft, hard)
    serve._allow_files(4000)
    assert limits == limits_set


def test_where_the_system_allows_too_few_files_it_is_said_by_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed_files(monkeypatch, 1024, 3000)
    with pytest.raises(ConfigError, match="lower --held by 1000"):
        serve._allow_files(4000)


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
    with pytest.raises(ConfigError, match="--to must be an https:// URL, unless the collector is on this machine"):
        RelayConfig(**elsewhere)
    assert RelayConfig(**elsewhere, allow_plain_http=True).collector == "http://10.0.0.1:8080"
    assert RelayConfig(**GOOD | {"collector": "http://127.0.0.1:8080"}).collector == "http://127.0.0.1:8080"
