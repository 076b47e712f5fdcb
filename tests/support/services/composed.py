"""Reads compose files as `docker compose` does, with what each service extends."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).resolve().parents[3] / "docker"

Service = dict[str, Any]


def initialized(folder: Path, *words: str) -> Path:
    """Return a copy of the folder of the compose files in which init.sh has run."""
    copy = folder / "docker"
    copy.mkdir()
    for name in ("init.sh", "users.example.acl"):
        shutil.copy(FOLDER / name, copy)
    subprocess.run([copy / "init.sh", *words], check=True, stdout=subprocess.DEVNULL)
    return copy


@cache
def read(name: str) -> dict[str, Any]:
    """Return a file of the folder."""
    document: dict[str, Any] = yaml.load((FOLDER / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return document


def project(name: str) -> dict[str, Any]:
    """Return a compose file with complete services."""
    document = read(name)
    return document | {"services": {name: _complete(own) for name, own in document["services"].items()}}


def _complete(own: Service) -> Service:
    extended = own.get("extends")
    if extended is None:
        return own
    base = _complete(read(extended["file"])["services"][extended["service"]])
    return _merged(base, {key: value for key, value in own.items() if key != "extends"})


REPLACED = ("command", "entrypoint", "test")


def _merged(base: Service, own: Service) -> Service:
    merged = dict(base)
    for key, value in own.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _merged(old, value)
        elif isinstance(old, list) and isinstance(value, list) and key not in REPLACED:
            merged[key] = old + value
        else:
            merged[key] = value
    return merged
