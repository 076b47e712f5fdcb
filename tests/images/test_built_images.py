"""The images, really built: each begins from Debian's own Python, and runs as its named user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services.buildah import BASE, Storage
from tests.support.services.collecting import report, today, upload
from tests.support.services.composed import initialized
from tests.support.services.images import ROOT
from tests.support.services.processes import free_port, wait_until
from tests.support.services.wire import post
from tools.images import version

pytestmark = pytest.mark.system

COLLECTOR, ESTIMATOR = (f"localhost/hearsay-{name}:{version()}" for name in ("collector", "estimator"))
UPLOADS = 20
MEGABYTE = 10**6


@pytest.fixture(scope="session")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """A storage with both images, built as `make images` builds them."""
    assert os.geteuid() == 0, "these tests make a root of Debian: run them as root"
    folder = tmp_path_factory.mktemp("images")
    storage = Storage(folder)
    try:
        storage.prepare()
        build(storage)
        yield storage
    finally:
        shutil.rmtree(folder)


def build(storage: Storage, *arguments: str) -> None:
    command = [sys.executable, "-m", "tools.images", *arguments]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **storage.environment}, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_both_images_run_as_their_user_take_an_upload_and_report_it(
    storage: Storage, registry_file: Path, tmp_path: Path
) -> None:
    port, url = free_port(), ""
    settings = storage.settings(COLLECTOR)
    check = [word.replace(":8080", f":{port}") for word in settings["Healthcheck"]["Test"][1:]]
    command = [word.replace("0.0.0.0:8080", f"127.0.0.1:{port}") for word in settings["Entrypoint"] + settings["Cmd"]]
    tmp_path.chmod(0o755)
    folder = initialized(tmp_path)
    shutil.copy(registry_file, folder / "config" / "metrics.toml")
    options = (
        f"--volume={folder / 'config'}:/etc/hearsay:ro",
        f"--volume={folder / 'secrets' / 'read_token'}:/run/secrets/read_token:ro",
        "--env=HEARSAY_READ_TOKEN_FILE=/run/secrets/read_token",
    )
    container = storage.container(COLLECTOR)
    collector = storage.start(container, command, *options)
    try:
        wait_until(
            lambda: storage.run(container, check).returncode == 0 or collector.poll() is not None,
            what="the collector's health",
        )
        assert storage.run(container, ["id", "-u"]).stdout.strip() == settings["User"].partition(":")[0] == "10001"
        url = f"http://127.0.0.1:{port}"
        for _ in range(UPLOADS):
            assert post(url, upload(report(window=today())))[0] == 200
        job = storage.container(ESTIMATOR)
        words = ["report", "--registry", "/etc/hearsay/metrics.toml", "--collector", url, "--preliminary"]
        entry = storage.settings(ESTIMATOR)["Entrypoint"]
        shown = storage.run(job, [*entry, *words, "--format=csv"], *options)
        assert shown.returncode == 0, shown.stderr
        assert f",{UPLOADS}," in shown.stdout
    finally:
        collector.terminate()
        collector.wait()


def test_the_images_are_small_and_keep_nothing_of_the_builders_pip(storage: Storage) -> None:
    base = storage.size_bytes(BASE)
    sizes = {image: (storage.size_bytes(image) - base) / MEGABYTE for image in (COLLECTOR, ESTIMATOR)}
    assert sizes[COLLECTOR] <= 80
    assert sizes[ESTIMATOR] <= 210
    for image in (COLLECTOR, ESTIMATOR):
        container = storage.container(image)
        for path in ("/etc/pip.conf", "/etc/pip.crt", "/opt/hearsay-pip", "/src"):
            assert storage.run(container, ["test", "-e", path]).returncode == 1, path


def test_the_estimator_writes_parquet_only_if_it_was_built_so(storage: Storage) -> None:
    asks = ["/opt/hearsay/bin/python", "-c", "import pyarrow.parquet"]
    assert storage.run(storage.container(ESTIMATOR), asks).returncode == 1
    build(storage, "estimator", "--build-arg", "EXTRAS=estimator,parquet")
    assert storage.run(storage.container(ESTIMATOR), asks).returncode == 0
