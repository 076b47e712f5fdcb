"""Runs the command of a shipped unit as systemd does, with its folders below one of the test's."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.services.manager import listening_manager
from tests.support.services.processes import START_DEADLINE_S, started

FOLDER: Final = Path(__file__).resolve().parents[3] / "docs" / "systemd"

PROGRAMS: Final = {
    "/opt/hearsay/bin/hearsay-collector": (sys.executable, "-m", "collector"),
    "/opt/hearsay/bin/hearsay-estimator": (sys.executable, "-m", "estimator"),
}


def service(name: str) -> dict[str, str]:
    """Return the settings of a service."""
    parser = ConfigParser(interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # keys of units keep their case
    parser.read(FOLDER / f"{name}@.service", encoding="utf-8")
    return dict(parser["Service"])


@dataclass(frozen=True)
class App:
    """An app that is configured on a host.

    Attributes:
        name: the instance of the units.
        root: stands for the root of the file system.

    """

    name: str
    root: Path

    @property
    def url(self) -> str:
        """The base address of its collector."""
        return f"http://{self._variables('hearsay-collector')['BIND']}"

    def command(self, unit: str) -> list[str]:
        """Return the command that a unit runs for this app."""
        settings = service(unit)
        variables = self._variables(unit)
        program, *words = shlex.split(self._here(settings["ExecStart"]))
        filled = (re.sub(r"\$\{(\w+)\}|^\$(\w+)$", lambda name: variables[name[1] or name[2]], word) for word in words)
        return [*PROGRAMS[program], *filled]

    def environment(self, unit: str) -> dict[str, str]:
        """Return the variables that a unit sets."""
        name, _, value = service(unit).get("Environment", "HEARSAY_UNUSED=").partition("=")
        return {name: value.replace("%d", str(self.root / "etc" / "hearsay" / self.name))}

    def _variables(self, unit: str) -> dict[str, str]:
        settings = service(unit)
        file = Path(self._here(settings["EnvironmentFile"]))
        variables = dict(line.split("=", 1) for line in file.read_text(encoding="utf-8").splitlines())
        credential, _, source = self._here(settings["LoadCredential"]).partition(":")
        assert Path(source).name == credential
        assert Path(source).parent == self.root / "etc" / "hearsay" / self.name
        return self.environment(unit) | variables

    def _here(self, text: str) -> str:
        text = text.replace("%i", self.name).replace("/etc/hearsay/", f"{self.root}/etc/hearsay/")
        return text.replace("/var/lib/", f"{self.root}/var/lib/")


@contextlib.contextmanager
def running_service(app: App) -> Iterator[subprocess.Popen[bytes]]:
    """Run an app's collector, and yield once systemd would consider it started."""
    with (
        listening_manager(None) as manager,
        (app.root / f"{app.name}.log").open("wb") as log,
    ):
        environment = {**os.environ, **manager.environment}
        (app.root / "var" / "lib" / "hearsay" / app.name).mkdir(parents=True, exist_ok=True)
        process = started(app.command("hearsay-collector"), stdout=log, stderr=subprocess.STDOUT, env=environment)
        try:
            manager.wait_for("READY")
            yield process
        finally:
            process.terminate()
            process.wait(START_DEADLINE_S)
