"""The two distributions: what they hold, and what they say of themselves.

Neither needs the other to be built.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections import Counter
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

from tests.support.services.wheels import PROJECTS, ROOT, build, only
from tools.images import IMAGES

NO_CACHE = {"NODE_DISABLE_COMPILE_CACHE": "1"}
"""It would stay in the folder for temporary files."""
PROGRAMS = Path(sys.executable).parent
TYPESCRIPT = ROOT / "client_sdk" / "typescript"
VECTORS = "estimator/conformance/vectors/"
"""Where a wheel holds what `hearsay-conformance` plays."""
VECTORS_HERE = ROOT / "tests" / "vectors"
EACH = pytest.mark.parametrize("name", PROJECTS)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of both distributions."""
    folder = tmp_path_factory.mktemp("built")
    for project in PROJECTS.values():
        build(project, folder, "wheel", "sdist")
    return folder


def wheel_of(built: Path, name: str) -> zipfile.ZipFile:
    return zipfile.ZipFile(only(built, f"{name.replace('-', '_')}-[0-9]*.whl"))


def metadata_of(wheel: zipfile.ZipFile) -> Message:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return Parser().parsestr(wheel.read(name).decode())


def unpacked(built: Path, name: str, target: Path) -> Path:
    """Unpack an sdist and return its folder."""
    with tarfile.open(only(built, f"{name.replace('-', '_')}-[0-9]*.tar.gz")) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive):  # `extractall` has no filter before Python 3.11.4
            file, path = archive.extractfile(member), target / member.name
            assert file is not None
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.read())
    return only(target, "*")


def sources(*packages: str) -> set[str]:
    """Return the files of packages that belong into a wheel."""
    files = {path for package in packages for path in (ROOT / package).rglob("*") if path.is_file()}
    return {str(path.relative_to(ROOT)) for path in files if not {"__pycache__", "typescript"} & set(path.parts)}


def test_the_wheel_of_apps_holds_the_sdk_and_nothing_of_the_service(built: Path) -> None:
    about = {"README.md", "LICENSE", "pyproject.toml", "protocol/README.md"}
    expected = sources("client_sdk") - {f"client_sdk/{name}" for name in about}
    held = {name for name in wheel_of(built, "hearsay-ldp-client").namelist() if ".dist-info/" not in name}
    assert held == expected


def test_the_wheel_of_services_holds_the_collector_the_estimator_and_their_files(built: Path) -> None:
    held = {name for name in wheel_of(built, "hearsay-ldp").namelist() if ".dist-info/" not in name}
    assert held == sources("collector", "estimator") | {f"{VECTORS}{path.name}" for path in VECTORS_HERE.iterdir()}
    assert {Path(name).suffix for name in held} >= {".py", ".js", ".css", ".jinja", ".json", ".typed"}


@EACH
def test_the_files_of_a_wheel_are_those_of_the_repository_byte_for_byte(built: Path, name: str) -> None:
    wheel = wheel_of(built, name)
    held = [entry for entry in wheel.namelist() if ".dist-info/" not in entry]
    assert sum(entry.endswith(".py") for entry in held) > 100
    for entry in held:
        assert wheel.read(entry) == (ROOT / entry.replace(VECTORS, "tests/vectors/")).read_bytes(), entry


@EACH
def test_a_wheel_says_whose_it_is_where_to_ask_and_what_may_be_done_with_it(built: Path, name: str) -> None:
    wheel = wheel_of(built, name)
    metadata = metadata_of(wheel)
    assert metadata["Name"] == name
    assert metadata["Author"]
    assert metadata["License-Expression"] == "Apache-2.0"
    links = {link.partition(", ")[0] for link in metadata.get_all("Project-URL", [])}
    assert links == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert metadata["Requires-Python"] == ">=3.11"
    for minor in (11, 12, 13, 14):
        assert f"Programming Language :: Python :: 3.{minor}" in metadata.get_all("Classifier", [])
    (file,) = (entry for entry in wheel.namelist() if entry.endswith("/licenses/LICENSE"))
    assert wheel.read(file) == (ROOT / "LICENSE").read_bytes()


def test_both_have_one_version_and_the_service_needs_the_sdk_of_its_own(built: Path) -> None:
    client, service = (metadata_of(wheel_of(built, name)) for name in PROJECTS)
    assert client["Version"] == service["Version"]
    bare = [need for need in service.get_all("Requires-Dist", []) if "extra ==" not in need]
    assert bare == [f"hearsay-ldp-client=={client['Version']}"]
    assert [need.partition("<")[0] for need in client.get_all("Requires-Dist", [])] == ["requests"]


def test_the_version_stands_in_one_file() -> None:
    documents = {
        name: tomllib.loads((folder / "pyproject.toml").read_text("utf-8")) for name, folder in PROJECTS.items()
    }
    assert [name for name, document in documents.items() if "version" in document["project"]] == ["hearsay-ldp-client"]


def test_the_commands_belong_to_whom_they_serve(built: Path) -> None:
    scripts = {
        name: wheel_of(built, name).read(f"{name.replace('-', '_')}-{version}.dist-info/entry_points.txt").decode()
        for name in PROJECTS
        for version in [metadata_of(wheel_of(built, name))["Version"]]
    }
    assert [line.partition(" ")[0] for line in scripts["hearsay-ldp-client"].splitlines()[1:]] == ["hearsay-client"]
    assert [line.partition(" ")[0] for line in scripts["hearsay-ldp"].splitlines()[1:]] == [
        "hearsay-collector",
        "hearsay-conformance",
        "hearsay-estimator",
    ]


@EACH
def test_an_sdist_alone_makes_the_same_wheel_whatever_lies_beside_it(built: Path, name: str, tmp_path: Path) -> None:
    source = unpacked(built, name, tmp_path / "source")
    for beside in (".venv/lib/other/__init__.py", ".venv/py.toml", "build/lib.py", "typescript/node_modules/a/b.py"):
        (source / beside).parent.mkdir(parents=True, exist_ok=True)
        (source / beside).touch()
    build(source, tmp_path / "again", "wheel")
    again = zipfile.ZipFile(only(tmp_path / "again", "*.whl"))
    first = wheel_of(built, name)
    assert {entry: again.read(entry) for entry in again.namelist()} == {
        entry: first.read(entry) for entry in first.namelist()
    }


NODE = """
import { Telemetry } from "hearsay-ldp/node";
import registry from "./hearsay.js";
const telemetry = new Telemetry(registry, { collector: "http://127.0.0.1:9", dataDir: "data", consent: true });
console.log(await telemetry.record("dark_mode", true), await telemetry.record("dark_mode", true));
process.exit(0);
"""


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a release."""
    return released(tmp_path_factory.mktemp("release"))


def released(folder: Path) -> Path:
    """Run ``make release`` with this environment, into a folder, and return it."""
    ready = ("-o", ".venv/.ready", "-o", ".venv/.dev-ready", f"BIN={PROGRAMS}")
    command = ["make", *ready, "release", f"DIST={folder}"]
    own = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # of `make test`
    subprocess.run(command, cwd=ROOT, env=own | NO_CACHE, check=True, capture_output=True)
    return folder


@pytest.mark.long
def test_two_releases_are_equal_byte_for_byte_and_have_hashes_and_documents_of_what_images_install(
    release: Path, tmp_path: Path
) -> None:
    files, again = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in (release, released(tmp_path))
    )
    assert files == again
    sums = dict(line.split()[::-1] for line in files.pop("SHA256SUMS").decode().splitlines())
    assert sums == {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    assert Counter(Path(name).suffix for name in files) == {".whl": 2, ".gz": 2, ".tgz": 1, ".json": 2}
    documents = [json.loads(content) for name, content in sorted(files.items()) if name.endswith(".cdx.json")]
    names = [{part["name"] for part in document["components"]} for document in documents]
    assert [document["metadata"]["component"]["name"] for document in documents] == sorted(
        f"hearsay-{image}" for image in IMAGES
    )
    assert [{"flask", "redis"} <= each for each in names] == [True, False]
    assert [{"numpy", "jinja2"} <= each for each in names] == [False, True]


@pytest.mark.long
def test_the_tarball_holds_the_compiled_sdk_alone_and_records_an_answer_where_it_is_installed(
    release: Path, registry_file: Path, tmp_path: Path
) -> None:
    tarball = only(release, "*.tgz")
    with tarfile.open(tarball) as archive:
        held = {name.removeprefix("package/") for name in archive.getnames()}
    modules = {str(path.relative_to(TYPESCRIPT).with_suffix("")) for path in (TYPESCRIPT / "src").rglob("*.ts")}
    compiled = {f"dist/{name}{suffix}" for name in modules for suffix in (".js", ".d.ts")}
    assert held == compiled | {"package.json", "README.md", "LICENSE"}
    app = tmp_path / "app"
    app.mkdir()
    (app / "app.mjs").write_text(NODE)
    (app / "package.json").write_text('{"type": "module"}')
    environment = os.environ | NO_CACHE | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}
    for command in (
        ("npm", "install", "--offline", "--no-audit", "--no-fund", tarball),
        ("hearsay-client", "compile", "--registry", registry_file, "--target", "node", "--output", "hearsay.js"),
        ("node", "app.mjs"),
    ):
        done = subprocess.run(command, cwd=app, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout == "queued already_recorded\n"


def test_the_sdist_of_the_sdk_holds_its_whole_source(built: Path, tmp_path: Path) -> None:
    folder = unpacked(built, "hearsay-ldp-client", tmp_path)
    for path in sorted((ROOT / "client_sdk").rglob("*.py")):
        assert (folder / path.relative_to(ROOT / "client_sdk")).read_bytes() == path.read_bytes()


def test_the_license_beside_the_sdk_is_the_projects() -> None:
    assert (ROOT / "client_sdk" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
