"""The collector's systemd unit: its command exists, and its settings agree."""

from __future__ import annotations

import shlex
import signal
from pathlib import Path

import pytest

from collector.commands.serve import serve
from collector.service import MAX_CONNECTIONS
from tests.support.services.units import FOLDER, service

SERVICES = sorted(path.name.partition("@")[0] for path in FOLDER.glob("*.service"))

SANDBOX = {
    **dict.fromkeys(
        (
            *("DynamicUser", "LockPersonality", "NoNewPrivileges", "PrivateDevices", "PrivateTmp", "ProtectClock"),
            *("ProtectControlGroups", "ProtectHome", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules"),
            *("ProtectKernelTunables", "RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"),
        ),
        "yes",
    ),
    "CapabilityBoundingSet": "",
    "ProtectProc": "invisible",
    "ProtectSystem": "strict",
    "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX",
    "StateDirectoryMode": "0700",
    "SystemCallArchitectures": "native",
    "SystemCallFilter": "@system-service",
    "SystemCallErrorNumber": "EPERM",
    "UMask": "0077",
}
"""Restrictions of every service; `systemd-analyze security` scores a unit with it below 2 of 10."""


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_shut_in_alike(name: str) -> None:
    settings = service(name)
    assert {setting: settings.get(setting) for setting in SANDBOX} == SANDBOX


@pytest.mark.parametrize("name", SERVICES)
def test_nothing_of_an_app_is_another_apps(name: str) -> None:
    """Each path and user of a service has the instance in it, so instances share nothing."""
    settings = service(name)
    words = shlex.split(settings["ExecStart"])
    places = [word for word in words if word.startswith(("/etc/", "/var/"))]
    places += [settings[place] for place in ("EnvironmentFile", "LoadCredential", "StateDirectory")]
    assert len(places) == 5
    assert [place for place in places if "/%i" not in place] == []
    assert [word for word in words if any(address in word for address in ("127.", "8080"))] == []


def test_no_service_is_forgotten() -> None:
    assert SERVICES == ["hearsay-collector", "hearsay-report"]
    assert {path.name.partition("@")[1] for path in FOLDER.iterdir()} == {"@"}


def test_the_command_of_the_service_is_one_and_its_token_is_a_credential() -> None:
    settings = service("hearsay-collector")
    name, _, keys = settings["Environment"].partition("=")
    line = settings["ExecStart"].replace("${BIND}", "127.0.0.1:8080").replace("${METRICS_BIND}", "127.0.0.1:9090")
    program, command, *words = shlex.split(line.replace(f"${name}", keys))
    assert (Path(program).name, command) == ("hearsay-collector", "serve")
    options = serve.make_context("serve", words).params
    credential = settings["LoadCredential"].partition(":")[0]
    assert str(options["read_token_file"]) == f"%d/{credential}"
    assert str(options["data_dir"]) == f"/var/lib/{settings['StateDirectory']}"


def test_a_reload_is_the_signal_that_the_collector_receives() -> None:
    command = service("hearsay-collector")["ExecReload"].split()[1]
    assert signal.Signals.SIGHUP.name.endswith(command.removeprefix("-"))


def test_a_worker_may_open_as_many_files_as_it_holds_connections() -> None:
    assert int(service("hearsay-collector")["LimitNOFILE"]) > MAX_CONNECTIONS
