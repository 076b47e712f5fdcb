"""What surrounds the code: checks of a forge and of an editor, pages, and pictures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.core.schemas import refused
from tests.support.core.tables import for_each

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WORKFLOW = ROOT / ".github" / "workflows" / "ci.yml"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = [CONTRIBUTING, *(ROOT / f"{name}.md" for name in ("README", "RELEASING", "SECURITY")), *DOCS.rglob("*.md")]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "file"), [("github-workflows", WORKFLOW), ("github-actions", ROOT / "action.yml")])
def test_the_workflow_and_the_action_are_some_of_github(kind: str, file: Path) -> None:
    assert refused(kind, file) == ""


def test_the_sdk_is_tested_on_three_systems() -> None:
    job = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"]["sdk"]
    matrix, commands = job["strategy"]["matrix"], [step["run"] for step in job["steps"] if "run" in step]
    assert job["runs-on"] == "${{ matrix.system }}"
    assert matrix["system"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert all((ROOT / each["tests"]).is_dir() for each in matrix["include"])
    assert "hearsay-client selftest" in commands
    assert commands[-1].startswith("python -m pytest ")
    assert commands[-1].endswith(" ${{ matrix.tests }}")


def test_the_workflow_may_only_read_and_names_versions_and_targets_that_exist() -> None:
    text = WORKFLOW.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "permissions" not in str(yaml.safe_load(text)["jobs"])
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", action) for action in re.findall(r"uses: (\S+)", text))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"run: make (\S+)", text)
    assert targets == ["check", "test", "system"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_the_hooks_of_an_editor_have_the_versions_of_the_lint() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    versions = {hook["repo"].rpartition("/")[2].removesuffix("-pre-commit"): hook["rev"] for hook in hooks}
    pinned = re.findall(
        r"^(ruff|codespell)==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert versions == {name: f"v{version}" for name, version in pinned}


@for_each("page", PAGES)
def test_lines_of_prose_have_120_columns_at_most(page: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in prose.splitlines() if not line.startswith(("|", "![", "#", "    "))]
    assert [line for line in lines if len(line) > 120] == []


def test_every_path_that_contributors_read_exists() -> None:
    paths = set(re.findall(r"`(\.?\w[\w.-]*/[\w./-]*)`", CONTRIBUTING.read_text(encoding="utf-8"))) - {"build/docs"}
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_every_picture_is_shown() -> None:
    shown = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    pictures = {path for path in DOCS.rglob("*") if path.suffix in {".png", ".svg"}}
    assert len(pictures) > 5
    assert [path.name for path in pictures if f"/{path.name})" not in shown] == []
