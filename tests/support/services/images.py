"""Follows a Dockerfile of this project as Docker would, without Docker.

The Dockerfile's own commands run on a copy of the build context. Those that build run in a
temporary folder that stands for `/opt/hearsay`. The command that starts runs in its own mount and
network namespaces, as the user of the image. Its root is read-only, except for a temporary folder
and the folder that the image calls its data.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.support.services.processes import wait_until
from tests.support.services.programs import require_mark

ROOT: Final = Path(__file__).resolve().parents[3]

OF_IMAGES: Final = (3, 11)
"""The version of Python in the images."""

INSTALLED: Final = "/opt/hearsay"

INSTALLER: Final = "/opt/hearsay-pip"
"""The environment that installs. Both Dockerfiles make it alike, so that builders make it once."""

_ENTER = """
python="$1"; folder="$2"; user="$3"; shift 3
"$python" -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 1))'
mount --make-rprivate /
mount --bind "$folder" "$folder"
mount --bind "$folder/data" "$folder/data"
mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
mount -o remount,bind,ro "$folder"
mount -o remount,bind,ro /
exec setpriv --reuid "$user" --regid "$user" --clear-groups --bounding-set=-all,+dac_read_search \
    --inh-caps=-all,+dac_read_search --ambient-caps=-all,+dac_read_search --no-new-privs -- "$@"
"""
"""Brings up the loopback, makes the root read-only, and becomes the user.

The user may still read Python's files.
"""


@dataclass(frozen=True)
class Instruction:
    """An instruction of a Dockerfile, such as ``RUN``, with its text."""

    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The command of an instruction in exec form."""
        words: list[str] = json.loads(self.text[self.text.index("[") :])
        return words


def instructions(file: Path) -> list[Instruction]:
    """Return the instructions of a Dockerfile."""
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    whole = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in whole if line]


def build_context(target: Path) -> None:
    """Copy everything that `.dockerignore` allows in an image."""
    names = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for name in (name[1:] for name in names if name.startswith("!")):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)


@dataclass(frozen=True)
class Image:
    """An image, built in a folder that stands for its file system."""

    folder: Path
    installer: Path
    parts: list[Instruction]

    @classmethod
    def built(cls, dockerfile: str, folder: Path, installer: Path) -> Image:
        """Run the Dockerfile's commands, except those that create folders, which are data here.

        Args:
            dockerfile: its name in the folder `docker`.
            folder: stands for the file system.
            installer: stands for `INSTALLER`. If it is there already, it is used again, as from the
                cache of a builder.

        """
        require_mark("another user")
        assert os.geteuid() == 0, "this test becomes another user in namespaces: run it as root"
        image = cls(folder, installer, instructions(ROOT / "docker" / dockerfile))
        for name in ("src", "data", "tmp"):
            (folder / name).mkdir(parents=True)
        os.chown(folder / "data", image.user, image.user)
        build_context(folder / "src")
        arguments = dict(part.text.split("=") for part in image.parts if part.name == "ARG")
        for part in image.parts:
            is_cached = INSTALLER in part.text.split('"') and installer.exists()
            if part.name == "RUN" and part.words[0] != "install" and not is_cached:
                command = image.here(part.words)
                subprocess.run(command, check=True, cwd=folder / "src", env={**os.environ, **arguments})
        return image

    @property
    def user(self) -> int:
        """The user id with which the image runs."""
        return int(self.last("USER").text.partition(":")[0])

    def last(self, name: str) -> Instruction:
        """Return the last instruction with a name, which overrides the earlier ones."""
        return [part for part in self.parts if part.name == name][-1]

    def here(self, words: Sequence[str]) -> list[str]:
        """Return a command of the image with the paths of this machine."""
        words = [word.replace(INSTALLER, str(self.installer)) for word in words]
        python, *_ = words = [word.replace(INSTALLED, str(self.folder / "hearsay")) for word in words]
        return [_python(), *words[1:]] if python == "python" else words

    @contextlib.contextmanager
    def started(self, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
        """Run the entry point with arguments until the context ends."""
        command = [*self.here(self.last("ENTRYPOINT").words), *words]
        inside = ["sh", "-ec", _ENTER, "sh", sys.executable, str(self.folder), str(self.user), *command]
        process = subprocess.Popen(["unshare", "--mount", "--net", *inside], env=self.environment())  # noqa: S607
        try:
            wait_until(lambda: process.poll() is not None or _is_apart(process.pid), what="its own namespaces")
            yield process
        finally:
            process.terminate()
            process.wait()

    def run_beside(self, process: subprocess.Popen[bytes], words: Sequence[str]) -> int:
        """Run a command in a process's namespaces as the same user; return its exit status."""
        enter = ("nsenter", "--target", str(process.pid), "--mount", "--net", "setpriv", "--reuid", str(self.user))
        may_read = ("--inh-caps=-all,+dac_read_search", "--ambient-caps=-all,+dac_read_search")
        command = [*enter, "--regid", str(self.user), "--clear-groups", *may_read, "--", *self.here(words)]
        return subprocess.run(command, check=False, env=self.environment(), capture_output=True).returncode

    def environment(self) -> dict[str, str]:
        """The variables of the image; there is no HOME."""
        set_here = dict(pair.split("=") for part in self.parts if part.name == "ENV" for pair in part.text.split())
        return {"PATH": os.environ["PATH"], "TMPDIR": str(self.folder / "tmp"), **set_here}


def _is_apart(pid: int) -> bool:
    """Return whether a process has left this network.

    Another collector may run in it on the same port.
    """
    own, other = (Path(f"/proc/{process}/ns/net") for process in ("self", pid))
    return own.readlink() != other.readlink()


def _python() -> str:
    """Return a Python of the images' version, for which their requirements have hashes."""
    if sys.version_info[:2] == OF_IMAGES:
        return sys.executable
    found = shutil.which(f"python{OF_IMAGES[0]}.{OF_IMAGES[1]}")
    assert found is not None, "install Debian's python3.11 and python3.11-venv"
    return found
