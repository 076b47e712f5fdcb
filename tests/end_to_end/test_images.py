"""The images: their own commands, run without Docker (see `tests.support.services.images`)."""

from __future__ import annotations

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services.images import Image
from tests.support.services.processes import wait_until

pytestmark = pytest.mark.system


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that another user may enter."""
    with tempfile.TemporaryDirectory(prefix="hearsay-image-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def installer() -> Iterator[Path]:
    """The place of the environment that installs both images."""
    with tempfile.TemporaryDirectory(prefix="hearsay-pip-") as name:
        yield Path(name) / "pip"


def test_the_collector_runs_as_nobody_in_particular_on_a_read_only_root_and_is_found_healthy(
    folder: Path, installer: Path, registry_file: Path
) -> None:
    image = Image.built("collector.Dockerfile", folder, installer)
    shutil.copy(registry_file, folder / "metrics.toml")
    places = {"/etc/hearsay/metrics.toml": f"{folder}/metrics.toml", "/var/lib/hearsay": f"{folder}/data"}
    words = [places.get(word, word) for word in image.last("CMD").words]
    with image.started(words) as collector:
        check = image.last("HEALTHCHECK").words
        wait_until(lambda: image.run_beside(collector, check) == 0 or collector.poll() is not None, what="its health")
        assert image.run_beside(collector, ["touch", str(folder / "tmp" / "may-write")]) == 0
        assert image.run_beside(collector, ["touch", str(folder / "hearsay" / "may-not-write")]) == 1
        collector.send_signal(signal.Signals[image.last("STOPSIGNAL").text])
        assert collector.wait() == 0
    assert (folder / "data" / "appendonlydir").is_dir()


def test_the_estimator_runs_as_nobody_in_particular_on_a_read_only_root(
    folder: Path, installer: Path, registry_file: Path
) -> None:
    image = Image.built("estimator.Dockerfile", folder, installer)
    shutil.copy(registry_file, folder / "metrics.toml")
    (folder / "tallies.ndjson").touch()
    words = ["archive", "--registry", f"{folder}/metrics.toml", "--tallies", f"{folder}/tallies.ndjson"]
    with image.started([*words, f"{folder}/data"]) as job:
        assert job.wait() == 3
