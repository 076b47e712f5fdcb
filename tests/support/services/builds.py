"""Builds of this head, side by side: as it is, and with another schema of the store."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from collector.store.facts import SCHEMA
from tests.support.services import wheels
from tests.support.services.processes import run_command


@dataclass(frozen=True)
class Build:
    """An installed build.

    Attributes:
        modules: the folder of its modules.

    """

    modules: Path

    @classmethod
    def installed(cls, folder: Path) -> Build:
        """Build this head's wheels, and install them without their dependencies, which are here."""
        for project in wheels.PROJECTS.values():
            wheels.build(project, folder / "wheels", "wheel")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
        files = map(str, (folder / "wheels").glob("*.whl"))
        subprocess.run([*pip, "--target", str(folder / "modules"), *files], check=True, capture_output=True)
        return cls(folder / "modules")

    def with_next_schema(self, folder: Path) -> Build:
        """Return a copy whose store has another schema."""
        shutil.copytree(self.modules, folder)
        file = folder / "collector" / "store" / "facts.py"
        line = f"\nSCHEMA = {SCHEMA}\n"
        text = file.read_text(encoding="utf-8")
        assert line in text
        file.write_text(text.replace(line, f"\nSCHEMA = {SCHEMA + 1}\n"), encoding="utf-8")
        return Build(folder)

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which Python runs this build, and not the one of this checkout."""
        return {"PYTHONPATH": str(self.modules), "PYTHONSAFEPATH": "1"}

    def write_command(self, path: Path) -> None:
        """Write a program hearsay-collector that is this build's."""
        found = run_command([sys.executable, "-c", "import collector; print(collector.__file__)"], **self.environment)
        assert Path(found.stdout.strip()).is_relative_to(self.modules)
        variables = " ".join(f"{name}='{value}'" for name, value in self.environment.items())
        path.parent.mkdir(parents=True)
        path.write_text(f'#!/bin/sh\n{variables} exec {sys.executable} -m collector "$@"\n', encoding="utf-8")
        path.chmod(0o755)
