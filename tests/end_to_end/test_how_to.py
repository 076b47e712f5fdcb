"""The pages on how to do something: what a reader saves and runs there works, in order."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk.consent import CI_VARIABLES
from client_sdk.protocol import Registry
from tests.support.services.git import commit_all, git
from tools.tutorial import ROOT, blocks, reading

DOCS = ROOT / "docs"
STARTER = ROOT / "client_sdk" / "commands" / "starter.toml"
OUTSIDE = ("privacy/templates", "reference/access", "reference/changing", "reference/plans")
"""Pages of other folders that also say how to do something."""
PATHS = {path.stem: path for path in (*sorted(DOCS.glob("how-to/*.md")), *(DOCS / f"{name}.md" for name in OUTSIDE))}
PAGES = {
    name: [block for block in blocks(path) if block.language != "toml" or block.file] for name, path in PATHS.items()
}
FROM_NOTHING = {"consent", "python-app", "testing", "web-app"}
"""Pages for somebody who has no file of questions yet; they say how to get one."""
FOR_ANALYSTS = "plans"
"""The page whose commands take seconds; a block of text right after one is a part of its output."""
WITH_SAMPLES = [
    pytest.param(name, marks=pytest.mark.long if name == FOR_ANALYSTS else ())
    for name, samples in PAGES.items()
    if samples
]


OWN_HOME = "export HOME=$PWD XDG_CONFIG_HOME=$PWD/.config\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A reader's folder."""
    return tmp_path


def test_there_are_pages_with_samples() -> None:
    with_samples = {name for name, samples in PAGES.items() if samples}
    assert {"python-app", "testing", "changing", FOR_ANALYSTS} <= with_samples


@pytest.mark.parametrize("name", WITH_SAMPLES)
def test_the_samples_of_a_page_work_in_order(name: str, folder: Path) -> None:
    if name not in FROM_NOTHING:
        shutil.copy(STARTER, folder / "metrics.toml")
    if name == "changing":
        commit_on_base_branch(folder)
    with reading(folder) as reader:
        reader.run(OWN_HOME)
        if name == "templates":
            reader.save("device.py", DEVICE)
            reader.run("python device.py\n")
        for block in PAGES[name]:
            if block.file:
                reader.save(block.file, block.text)
            else:
                assert block.language == "sh", f"no word before this block says where it is saved:\n{block.text}"
                command = block.text.replace("--exact", QUICKER).replace("4000", "600")
                command = f"{command.rstrip()} 2>&1\n" if block is TRIAL else command
                printed = reader.run(command).splitlines()
                assert block is not TRIAL or printed[-1].endswith(ACCEPTED)
                for line in quoted(name, block.text):
                    assert line in printed, f"{name}.md quotes what its command does not print:\n{line}"
                    printed = printed[printed.index(line) + 1 :]


QUICKER = "--exact --metric dark_mode"
"""A proof of the whole registry takes seconds: there is one below."""


TRIAL = PAGES["python-app"][2]
ACCEPTED = "; the collector's answer: accepted"
"""An app's first report, and how what it prints ends."""


def test_the_page_quotes_that_the_first_report_of_an_app_is_accepted() -> None:
    assert f"{ACCEPTED}\n```" in PATHS["python-app"].read_text(encoding="utf-8")
    assert TRIAL.text == "python tool.py\n"


def quoted(name: str, command: str) -> list[str]:
    """Return the lines of a command's output that a page quotes, without omissions."""
    _, _, after = PATHS[name].read_text(encoding="utf-8").partition(f"```sh\n{command}```\n\n```text\n")
    return [line for line in after.partition("```")[0].splitlines() if line.strip() not in {"", "…"}]


def test_the_page_for_analysts_quotes_its_commands() -> None:
    outputs = [lines for block in PAGES[FOR_ANALYSTS] if (lines := quoted(FOR_ANALYSTS, block.text))]
    assert [lines[0].split()[0] for lines in outputs] == ["50,000", "dark_mode:"]


@pytest.mark.long
def test_the_proof_of_the_health_example_is_quoted_to_the_last_digit(folder: Path) -> None:
    page = PATHS[FOR_ANALYSTS].read_text(encoding="utf-8")
    shutil.copy(ROOT / "examples" / "health" / "metrics.toml", folder)
    with reading(folder) as reader:
        assert f"```text\n{reader.run('hearsay-estimator audit --exact' + chr(10))}```" in page


@pytest.mark.long
def test_a_better_allocation_is_a_patch_of_the_registry_and_the_statement_is_for_users(folder: Path) -> None:
    shutil.copy(STARTER, folder / "metrics.toml")
    before = Registry.load(folder / "metrics.toml")
    with reading(folder) as reader:
        for block in (each for each in PAGES[FOR_ANALYSTS] if " audit " not in each.text):
            reader.save(block.file, block.text) if block.file else reader.run(block.text)
    after = Registry.load(folder / "metrics.toml")
    assert list(after.metrics) == list(before.metrics)
    assert after != before
    assert "hearsay-client forget" in (folder / "PRIVACY.md").read_text(encoding="utf-8")


DEVICE = """\
from client_sdk import Telemetry

with Telemetry("metrics.toml", collector="https://a.example", data_dir="app-data", consent=True) as telemetry:
    telemetry.record("dark_mode", True)
"""


def test_the_command_has_one_ledger_wherever_it_is_started_and_on_whatever_system(folder: Path) -> None:
    *_, program = (block.text for block in PAGES["python-app"] if block.file == "tool.py")
    (folder / "tool.py").write_text(program.replace('"process"', '"thread"'))
    shutil.copy(STARTER, folder / "metrics.toml")
    unsuppressed = {name: value for name, value in os.environ.items() if name not in ("DO_NOT_TRACK", *CI_VARIABLES)}
    for name in ("here", "there"):
        (folder / name).mkdir()
        subprocess.run(
            [sys.executable, "-c", "import sys; sys.platform = 'freebsd14'; import tool; tool.main(['build'])"],
            cwd=folder / name,
            env=unsuppressed
            | {
                "TOOL_TELEMETRY": "1",
                "HOME": str(folder),
                "XDG_CONFIG_HOME": f"{folder}/.config",
                "PYTHONPATH": str(folder),
            },
            check=True,
        )
    assert len(list(folder.rglob("*.sqlite3"))) == 1


def commit_on_base_branch(folder: Path) -> None:
    commit_all(folder)
    git(folder, "update-ref", "refs/remotes/origin/main", "HEAD")


def test_the_gate_refuses_a_change_that_reveals_more_than_the_base_branch(folder: Path) -> None:
    gate = next(block.text for block in PAGES["changing"])
    starter = STARTER.read_text()
    (folder / "metrics.toml").write_text(starter)
    commit_on_base_branch(folder)
    with reading(folder) as reader:
        reader.save("metrics.toml", starter.replace("lifetime = 5.0 ", "lifetime = 4.0 "))
        assert "+++ statement after" in reader.run(gate)
        reader.save("metrics.toml", starter.replace("epsilon = 0.75", "epsilon = 0.7500001", 1))
        with pytest.raises(RuntimeError, match="--against"):
            reader.run(gate)
