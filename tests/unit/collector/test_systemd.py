"""The collector's systemd unit: its command exists, and its settings agree."""

from __future__ import annotations

import shlex
import signal
from configparser import ConfigParser
from pathlib import Path

import pytest

from collector.commands.serve import serve
from collector.service import MAX_CONNECTIONS

FOLDER = Path(__file__).parents[3] / "docs" / "systemd"
UNITS = sorted(FOLDER.glob("*.service"))

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


def service(unit: Path = FOLDER / "hearsay-collector.service") -> dict[str, str]:
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keys of units keep their case
    parser.read(unit, encoding="utf-8")
    return dict(parser["Service"])


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_every_service_is_shut_in_alike(unit: Path) -> None:
    settings = service(unit)
    assert {name: settings.get(name) for name in SANDBOX} == SANDBOX


def test_no_service_is_forgotten() -> None:
    assert [unit.stem for unit in UNITS] == ["hearsay-collector", "hearsay-report"]


def test_the_command_of_the_service_is_one_and_its_token_is_a_credential() -> None:
    program, command, *words = shlex.split(service()["ExecStart"])
    assert (Path(program).name, command) == ("hearsay-collector", "serve")
    options = serve.make_context("serve", words).params
    credential = service()["LoadCredential"].partition(":")[0]
    assert str(options["read_token_file"]) == f"${{CREDENTIALS_DIRECTORY}}/{credential}"
    assert str(options["data_dir"]) == f"/var/lib/{service()['StateDirectory']}"


def test_a_reload_is_the_signal_that_the_collector_hears() -> None:
    assert signal.Signals.SIGHUP.name.endswith(service()["ExecReload"].split()[1].removeprefix("-"))


def test_a_worker_may_open_as_many_files_as_it_holds_connections() -> None:
    assert int(service()["LimitNOFILE"]) > MAX_CONNECTIONS
