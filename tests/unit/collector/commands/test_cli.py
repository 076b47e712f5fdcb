"""The collector's command line without a server: names, and refused settings."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import redis
from click.testing import CliRunner, Result

from client_sdk.protocol import Window
from collector.access import Role, parse_access
from collector.commands.cli import cli
from collector.errors import StoreUnavailableError
from collector.required_settings import Durability
from collector.store.redis_store import RedisStore, agree_on_settings
from tests.support.devices.clients import run_without_room
from tests.support.services.collecting import TODAY, judged, report, upload


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


@pytest.mark.parametrize("role", Role)
def test_a_key_is_made_for_every_role_by_the_name_that_the_access_file_has_for_it(role: Role) -> None:
    result = run("key", "edge", "--role", role.value)
    assert result.exit_code == 0
    reader = "" if role is Role.READ else f'[[key]]\nname = "reader"\nrole = "read"\nsha256 = "{"0" * 64}"\n'
    uploads = "" if role is Role.UPLOAD else 'uploads = "keys"\n'
    assert parse_access(uploads + result.stdout + reader).keys[0].role is role
    assert ('uploads = "open"' in result.stderr) is (role is not Role.UPLOAD)


def test_the_help_names_choices_as_they_are_documented() -> None:
    assert "[upload|read|relay]" in run("key", "--help").output
    assert f"[{'|'.join(Durability)}]" in run("serve", "--help").output
    assert "[default: fsync]" in run("serve", "--help").output.replace("\n", " ").replace("  ", "")


@pytest.mark.parametrize("name", ["", "Ä", "x" * 65, '"]\nx = 1', "-edge"])
def test_a_name_that_no_key_can_have_is_refused_by_the_rule_for_names(name: str) -> None:
    refused = run("key", "--", name)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "NAME must have 1 to 64 characters" in refused.stderr


def test_a_setting_that_is_refused_shows_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARSAY_READ_TOKEN", raising=False)
    refused = run("serve", "--registry", "none.toml", "--workers", "0")
    assert (refused.exit_code, "--workers must be" in refused.stderr) == (2, True)
    assert "token" not in refused.stderr


@pytest.mark.parametrize("command", [("close", "--yes", "--window", TODAY), ("retire", "--before", TODAY)])
def test_a_command_that_changes_a_store_keeps_the_promise_that_the_service_makes(
    command: tuple[str, ...], embedded_url: str
) -> None:
    store = ("--redis", embedded_url)
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
        store_with_a_report(embedded_url)
        assert run("store", *command, *store).exit_code == 0
        client.config_set("appendfsync", "everysec")
        try:
            refused = run("store", *command, *store)
            assert (refused.exit_code, "appendfsync always (now everysec)" in refused.stderr) == (1, True)
        finally:
            client.config_set("appendfsync", "always")
    serving = RedisStore(embedded_url)
    agree_on_settings(serving, 60, copies=1)
    serving.disconnect()
    alone = run("store", *command, *store)
    assert (alone.exit_code, "has 0 replicas in sync" in alone.stderr) == (1, True)


def store_with_a_report(url: str) -> None:
    counting = RedisStore(url)
    counting.prepare()
    counting.count(judged(upload(report(window=TODAY))))
    counting.disconnect()


def test_a_window_is_closed_only_after_a_yes_and_only_if_a_metric_has_it(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    close = ("store", "close", "--redis", embedded_url, "--window")
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    empty = run(*close, TODAY, "--yes")
    assert (empty.exit_code, "there is nothing to close: the store has no reports yet" in empty.stderr) == (1, True)
    store_with_a_report(embedded_url)
    of_no_metric = run(*close, "2026-W47", "--yes")
    assert (
        of_no_metric.exit_code,
        "the store has no week windows, only day windows; choose --window accordingly" in of_no_metric.stderr,
    ) == (1, True)
    unasked = run(*close, TODAY)
    assert (unasked.exit_code, "there is no terminal to confirm it: add --yes" in unasked.stderr) == (1, True)
    assert "for good" not in unasked.output
    monkeypatch.setattr("collector.commands.windows.is_terminal", lambda: True)
    assert CliRunner().invoke(cli, [*close, TODAY], input="n\n").exit_code == 1
    declined = CliRunner().invoke(cli, [*close, "2026-11-19"], input="n\n").output
    sealed = "closing window 2026-11-19 for good: it has no reports yet; later reports for it are refused"
    assert declined.startswith(f"{sealed}\nClose it? [y/N]: n")
    agreed = CliRunner().invoke(cli, [*close, TODAY], input="y\n")
    assert (agreed.exit_code, "it has 1 report of 1 question;" in agreed.output) == (0, True)
    assert agreed.output.endswith(f"window {TODAY} is closed\n")
    assert run(*close, TODAY).output == f"window {TODAY} was closed already\n"


def test_a_closing_that_broke_off_says_that_it_may_hold_in_part(
    embedded_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(_: RedisStore, __: Window) -> None:
        raise StoreUnavailableError("the store cannot be reached")

    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    store_with_a_report(embedded_url)
    close = ("store", "close", "--redis", embedded_url, "--window", TODAY, "--yes")
    said = f"cannot be reached; part of the store may already refuse reports for {TODAY}: run this command again\n"
    with monkeypatch.context() as patched:
        patched.setattr(RedisStore, "close", unavailable)
        broken = run(*close)
    assert (broken.exit_code, broken.stderr.endswith(said)) == (1, True)
    assert run(*close).exit_code == 0
    # its replicas may not have what an earlier command has closed
    monkeypatch.setattr(RedisStore, "close", unavailable)
    again = run(*close)
    assert (again.exit_code, again.stdout, again.stderr.endswith(said)) == (1, "", True)


def test_of_an_emptied_server_no_loss_can_be_accepted_and_a_whole_one_has_none(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    said = "the store is empty, with no record of earlier content: a collector that starts on it creates a new store\n"
    assert run("store", "accept-loss", "--redis", embedded_url).output == said
    store_with_a_report(embedded_url)
    assert run("store", "accept-loss", "--redis", embedded_url).output == "nothing that was recorded is missing\n"


@pytest.mark.parametrize(
    "command", [("check", "--registry", "none.toml"), ("store", "close", "--window", "2026-11-20"), ("store", "export")]
)
def test_a_directory_that_cannot_be_looked_at_is_said_to_be_one(command: tuple[str, ...]) -> None:
    refused = run(*command, "--data-dir", "x" * 10_000)
    assert (refused.exit_code, "cannot be used: File name too long" in refused.stderr) == (1, True)


NO_ROOM = "Error: the output cannot be written: No space left on device; redirect it elsewhere"


def test_output_that_finds_no_room_is_one_sentence() -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "collector", "key", "edge"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env=os.environ | {"PYTHONUNBUFFERED": ""},
        )
    assert (ended.returncode, ended.stderr.splitlines()[1:]) == (1, [NO_ROOM])


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize(
    ("command", "buffered"),
    [("store export --redis URL", False), ("--help", True), ("check --help", False), ("--version", True)],
)
def test_every_command_notices_that_its_output_finds_no_room(
    command: str, embedded_url: str, *, buffered: bool
) -> None:
    words = command.replace("URL", embedded_url).split()
    assert run_without_room(partial(cli, words), buffered=buffered) == f"1\n{NO_ROOM}\n"
