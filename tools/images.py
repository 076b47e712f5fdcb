"""Builds images of the collector and the estimator with Docker, Podman or Buildah.

    python -m tools.images [collector|estimator ...] [--build-arg NAME=VALUE ...]

The first working program is used. pip runs inside the build, and may need this machine's package
index or certificate. The build gets this machine's pip configuration as build secrets, which no
image contains.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ("collector", "estimator")

ENGINES = (
    (["docker", "info"], ["docker", "build"]),
    (["podman", "info"], ["podman", "build", "--format", "docker"]),
    # these options work without root and without a daemon, for instance in a container
    (["buildah", "info"], ["buildah", "bud", "--isolation", "chroot", "--network", "host", "--format", "docker"]),
)
"""For each program, a command that tests the program, and the beginning of a build command.

Only Docker's image format has health checks.
"""

PASSED = ("index-url", "extra-index-url", "trusted-host", "timeout", "default-timeout")
"""The pip settings that are passed to a build. Other settings refer to folders of this machine."""


def main() -> None:
    """Build the named images."""
    parser = argparse.ArgumentParser(description="Build the images.")
    parser.add_argument("images", nargs="*", metavar="|".join(IMAGES), default=IMAGES)
    parser.add_argument("--build-arg", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = [*engine(), *pip_secrets(Path(folder))]
        for image in options.images:
            file = f"docker/{image}.Dockerfile"
            arguments = [f"--build-arg={argument}" for argument in options.build_arg]
            tag = f"hearsay-{image}:{version()}"
            subprocess.run([*build, *arguments, "--file", file, "--tag", tag, "."], cwd=ROOT, check=True)
            print(f"built {tag}")


def engine() -> list[str]:
    """Return the beginning of a build command that works on this machine."""
    for ask, build in ENGINES:
        try:
            subprocess.run(ask, check=True, capture_output=True)
        except (FileNotFoundError, subprocess.CalledProcessError):
            continue
        return build
    sys.exit("no engine works here: install Docker, Podman or Buildah")


def version() -> str:
    """Return the project's version."""
    text = (ROOT / "client_sdk" / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def pip_secrets(folder: Path) -> Iterator[str]:
    """Write this machine's pip configuration to a folder, and yield build options for it."""
    settings = pip_settings()
    lines = [f"{name} = {value}" for name in PASSED if (value := within_a_build(settings.get(name, "")))]
    if certificate := settings.get("cert"):
        yield f"--secret=id=pip_cert,src={certificate}"
        lines.append("cert = /etc/pip.crt")
    (folder / "pip.conf").write_text("\n".join(["[global]", *lines, ""]), encoding="utf-8")
    yield f"--secret=id=pip,src={folder / 'pip.conf'}"


def pip_settings() -> dict[str, str]:
    """Return pip's settings on this machine, or {} if this Python has no pip.

    Environment variables override settings from files.
    """
    command = [sys.executable, "-m", "pip", "config", "list"]
    listed = subprocess.run(command, check=False, capture_output=True, text=True)
    pairs = [line.partition("=") for line in listed.stdout.splitlines()]
    ordered = sorted(pairs, key=lambda pair: pair[0].startswith(":env:"))
    return {name.rpartition(".")[2]: value.strip("'\"") for name, _, value in ordered}


def within_a_build(value: str) -> str:
    """Return a setting without folders of this machine."""
    return " ".join(word for word in value.split() if not word.startswith(("file:", "/")))


if __name__ == "__main__":
    main()
