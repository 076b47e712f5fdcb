"""The hashes of what images install: complete, of the pinned versions, and bound to no index."""

from __future__ import annotations

import contextlib
import re
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.services.images import ROOT, instructions
from tools.requirements import EXTRAS, FOLDER, requirements

LINE = re.compile(r"([a-z0-9._-]+)==(\S+)( ; [a-z_]+ < \"[0-9.]+\")?((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n")

NAMES = ("build", *EXTRAS)

OLDEST = {"extra": "", "python_full_version": "3.11.2"}
"""Debian's Python, from which images of the tests begin: it needs more than that of the images."""


def pinned(text: str) -> dict[str, str]:
    """Return versions by names, as a file of pip has them."""
    lines = re.findall(r"^([A-Za-z0-9._-]+)==([^\s\\]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in lines}


def content(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def needed(name: str) -> set[str]:
    """Return the names of all that a file must have, by what is installed here."""
    names, waiting = set[str](), [Requirement(text) for text in requirements(name)]
    while waiting:
        requirement = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate(OLDEST):
            continue
        own = canonicalize_name(requirement.name)
        if own not in names:
            names.add(own)
            with contextlib.suppress(PackageNotFoundError):  # an older Python needs it, and nothing else for it
                waiting += map(Requirement, requires(own) or ())
    return names


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_hashes_of_the_versions_that_are_pinned_and_nothing_else(name: str) -> None:
    head, _, lines = content(name).partition("\n")
    assert head.startswith("# Written by `make requirements`")
    assert LINE.sub("", lines) == ""
    constraints = pinned((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert {package: constraints.get(package) for package in pinned(lines)} == pinned(lines)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_has_all_that_is_needed_and_no_more(name: str) -> None:
    assert set(pinned(content(name))) == needed(name)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_names_no_index_and_no_host(name: str) -> None:
    assert re.findall(r"://|index|find-links|trusted|www|\.(?:org|com|net|io)\b", content(name)) == []


def test_an_image_installs_nothing_without_a_hash_but_what_it_has_built() -> None:
    for file in sorted((ROOT / "docker").glob("*.Dockerfile")):
        for part in instructions(file):
            if part.name == "RUN" and re.search(r"\b(install|wheel)\b", part.text) and "pip" in part.text:
                assert "--require-hashes" in part.text or "--no-index" in part.text, part.text
