"""The files of this package that pages include, and the policy that allows nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

PACKAGE: Final = "estimator.render.html"

STYLE: Final = "report.css"


@cache
def asset(name: str) -> str:
    """Return the text of a file that a page includes.

    Raises:
        AssertionError: if it would end the element around it.

    """
    text = files(PACKAGE).joinpath("assets", name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise AssertionError(f"{name} would end the element around it")
    return text


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a content security policy that allows these texts and loads nothing."""
    script_sources = _hashes(scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {script_sources}; style-src {_hashes(styles)};"
        " base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)
