"""Hearsay's collector, which judges uploads and stores only tallies of perturbed reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collector.app import create_app

__all__ = ["create_app"]


def __getattr__(name: str) -> object:
    """Import `create_app` on first use, so that `__main__` can report that Flask is missing."""
    if name != "create_app":
        raise AttributeError(name)
    from collector.app import create_app  # noqa: PLC0415 saves 199 ms in commands that need no server

    return create_app
