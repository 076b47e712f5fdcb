"""Fetches the JavaScript libraries of the HTML report from npm.

`vendored.toml` lists the libraries, and the SHA-256 digests of their files. If a fetched file has
another digest, the program stops.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "estimator" / "render" / "html" / "assets"


def main() -> None:
    """Write every file of every library."""
    for library in tomllib.loads((ASSETS / "vendored.toml").read_text(encoding="utf-8")).values():
        for name, content in fetched(library["package"], library["files"]).items():
            (ASSETS / name).write_bytes(content)
            print(f"{name}: as it is in {library['package']}")


def fetched(package: str, files: dict[str, dict[str, str]]) -> dict[str, bytes]:
    """Return the files of a package, by their names in this repository."""
    with tempfile.TemporaryDirectory(prefix="hearsay-assets-") as folder:
        subprocess.run(["npm", "pack", "--silent", package], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        with tarfile.open(archive) as packed:
            return {name: checked(packed, file["from"], file["sha256"]) for name, file in files.items()}


def checked(packed: tarfile.TarFile, path: str, sha256: str) -> bytes:
    """Return one file of a package. Exit if its digest differs from ``sha256``."""
    member = packed.extractfile(f"package/{path}")
    content = member.read() if member else b""
    if hashlib.sha256(content).hexdigest() != sha256:
        sys.exit(f"{path} is not what vendored.toml says; look at the new one, then change its sha256")
    return content


if __name__ == "__main__":
    main()
