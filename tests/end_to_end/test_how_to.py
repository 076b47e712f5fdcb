"""The pages on how to do something: what a reader saves and runs there works, in order."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools.tutorial import ROOT, blocks, reading

FOLDER = ROOT / "docs" / "how-to"
STARTER = ROOT / "client_sdk" / "commands" / "starter.toml"
ELSEWHERE = {"operating", "planning"}
"""Pages whose samples test_readme.py runs."""
PAGES = {
    path.stem: [block for block in blocks(path) if block.language != "toml"]
    for path in sorted(FOLDER.glob("*.md"))
    if path.stem not in ELSEWHERE
}
WITH_SAMPLES = [name for name, found in PAGES.items() if found]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reader's folder, with the starter and a device that has reported nothing."""
    shutil.copy(STARTER, tmp_path / "metrics.toml")
    return tmp_path


def test_there_are_pages_with_samples() -> None:
    assert {"cli-app", "service", "gui-app", "testing", "ci-gate"} <= set(WITH_SAMPLES)


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_the_samples_of_a_page_work_in_order(name: str, folder: Path) -> None:
    with reading(folder) as reader:
        if name == "asked-by-a-user":
            reader.save("device.py", DEVICE)
            reader.run("python device.py\n")
        for block in PAGES[name]:
            if block.file:
                reader.save(block.file, block.text)
            else:
                assert block.language == "sh", f"no word before this block says where it is saved:\n{block.text}"
                reader.run(block.text.replace("--exact", QUICKER))


QUICKER = "--exact --metric dark_mode"
"""A proof of the whole registry takes seconds; test_readme.py has one."""

DEVICE = """\
from client_sdk import Telemetry

with Telemetry("metrics.toml", collector="https://a.example", data_dir="app-data", consent=True) as telemetry:
    telemetry.record("dark_mode", True)
"""
