"""Writes the images' packages as CycloneDX: ``python -m tools.sbom FOLDER``."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from tools.images import IMAGES, ROOT, version

PINNED: Final = re.compile(r"^([a-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)


def sbom(image: str) -> dict[str, Any]:
    """Return the document for an image: the packages that pip installs besides this project."""
    pinned = PINNED.findall((ROOT / "docker" / "requirements" / f"{image}.txt").read_text(encoding="utf-8"))
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": f"hearsay-{image}", "version": version()}},
        "components": [
            {"type": "library", "name": name, "version": number, "purl": f"pkg:pypi/{name}@{number}"}
            for name, number in pinned
        ],
    }


if __name__ == "__main__":
    for each in IMAGES:
        text = json.dumps(sbom(each), indent=2) + "\n"
        (Path(sys.argv[1]) / f"hearsay-{each}-{version()}.cdx.json").write_text(text, encoding="utf-8")
