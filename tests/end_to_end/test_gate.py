"""The gate where teams work: the action and the hooks of pre-commit, run from their files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from client_sdk.cli import main
from tests.support.services.git import ALONE, ROOT, commit_all, git, snapshot

PAGE = (ROOT / "docs" / "reference" / "changing.md").read_text(encoding="utf-8")
ON_GITHUB, WITH_PRE_COMMIT = (
    yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
)
PINNED = {"PIP_CONSTRAINT": str(ROOT / "constraints.txt"), "PIP_QUIET": "1"}

PURPOSE = ('purpose = "Is start-up getting slower?"', 'purpose = "Is it slow?"')
LIFETIME = ("lifetime = 4.0 ", "lifetime = 5.0 ")
RAISED = "budget.lifetime: was raised to 5 (previously 4)\n"


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """A clone of an app's repository, with a registry on its base branch."""
    origin = tmp_path / "origin"
    origin.mkdir()
    registry = origin / "metrics.toml"
    assert main(["init", "--registry", str(registry)]) == 0
    registry.write_text(registry.read_text().replace(LIFETIME[1], LIFETIME[0]))
    commit_all(origin)
    git(tmp_path, "clone", "--quiet", origin.as_uri(), "app")
    return tmp_path / "app"


def change(app: Path, *changes: tuple[str, str]) -> None:
    """Change the registry on a branch, in what it says and in a comment."""
    path = app / "metrics.toml"
    text = f"# changed\n{path.read_text()}"
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    git(app, "checkout", "--quiet", "-B", "change")
    git(app, "add", "--all")


class Runner:
    """Runs the steps of the action as GitHub's runners do."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
        self.summary = folder / "summary.md"

    def step(self, number: int, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step in a folder."""
        step = self._action["runs"]["steps"][number]
        assert step["shell"] == "bash"
        script = self._folder / f"step{number}.sh"
        script.write_text(step["run"])
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],  # noqa: S607 as GitHub's runners
            cwd=folder,
            env={
                **os.environ,
                **ALONE,
                **PINNED,
                **{name: self._filled_in(value, inputs) for name, value in step["env"].items()},
                "RUNNER_TEMP": str(self._folder),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def _filled_in(self, value: str, inputs: dict[str, str]) -> str:
        """Return a value with its expression replaced."""
        expression = re.fullmatch(r"\$\{\{ (\S+) \}\}", value)
        assert expression, value
        if expression[1] == "github.action_path":
            return str(ROOT)
        name = expression[1].removeprefix("inputs.")
        return inputs.get(name, str(self._action["inputs"][name]["default"]))


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A runner on which the action has installed what it needs."""
    folder = tmp_path_factory.mktemp("runner")
    made = Runner(folder)
    installed = made.step(0, folder)
    assert installed.returncode == 0, installed.stderr
    return made


CASES: dict[str, tuple[list[tuple[str, str]], dict[str, str], int, str]] = {
    "nothing": ([], {"base": "main"}, 0, "reveal at most epsilon 4: "),
    "words": ([PURPOSE], {"base": "main", "at-most": "5"}, 0, "\n+* Why it is asked: Is it slow?\n"),
    "more for life": ([LIFETIME], {"base": "main"}, 1, RAISED),
    "more for life, compared with nothing": ([LIFETIME], {"base": ""}, 0, "reveal at most epsilon 5: "),
    "too much a year": ([], {"base": "", "at-most": "3"}, 1, "but --at-most allows only 3;"),
    "a mistake": ([("epsilon = 1.0", "epsilon = 0")], {"base": "main"}, 2, "\nmetrics.toml:34: metric.startup_ms.eps"),
}
"""Changes of the registry, the action's inputs, the exit status and what is said."""


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_the_action_refuses_what_reveals_more_and_shows_what_changed(case: str, app: Path, runner: Runner) -> None:
    changes, inputs, status, said = CASES[case]
    change(app, *changes)
    runner.summary.unlink(missing_ok=True)
    done = runner.step(1, app, **inputs)
    assert done.returncode == status, done.stdout + done.stderr
    assert said in done.stdout
    assert runner.summary.read_text() == f"```diff\n{done.stdout}```\n"


@pytest.mark.long
@pytest.mark.parametrize("depth", [(), ("--depth=1",)])
def test_the_action_leaves_a_clone_as_deep_as_it_was(depth: tuple[str, ...], app: Path, runner: Runner) -> None:
    change(app)
    git(app, "commit", "--quiet", "--message", "changed")
    clone = app.with_name("clone")
    git(app, "clone", "--quiet", *depth, app.as_uri(), str(clone))
    shallow = git(clone, "rev-parse", "--is-shallow-repository")
    git(clone, "remote", "set-url", "origin", app.with_name("origin").as_uri())
    assert runner.step(1, clone, base="main").returncode == 0
    assert git(clone, "rev-parse", "--is-shallow-repository") == shallow
    assert (shallow == "true\n") is bool(depth)


def test_the_sample_of_the_page_gives_the_action_inputs_that_it_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (_, step) = ON_GITHUB["jobs"]["gate"]["steps"]
    assert step["with"].keys() <= action["inputs"].keys()
    assert action["inputs"]["base"]["default"] == "${{ github.base_ref }}"


@pytest.mark.long
def test_the_hooks_of_the_page_run_by_pre_commit_and_refuse_what_reveals_more(app: Path, tmp_path: Path) -> None:
    hooks = snapshot(tmp_path / "hooks", "v0.1.0")
    config: dict[str, Any] = WITH_PRE_COMMIT
    (repository,) = config["repos"]
    assert repository["rev"] == "v0.1.0"
    repository["repo"] = str(hooks)
    (app / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    home = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "XDG_DATA_HOME": str(tmp_path / "data")}

    def run() -> tuple[int, str]:
        command = [sys.executable, "-m", "pre_commit", "run", "--color=never"]
        done = subprocess.run(
            command, cwd=app, env=os.environ | ALONE | PINNED | home, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout

    change(app, PURPOSE)
    status, said = run()
    assert (status, said.count("Passed")) == (0, 3), said
    assert "\n+* Why it is asked: Is it slow?\n" in said
    change(app, LIFETIME)
    status, said = run()
    assert (status, said.count("Passed"), said.count("Failed")) == (1, 2, 1), said
    assert RAISED in said
