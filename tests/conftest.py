"""Fixtures of all tests, and the rule that a skipped test is a failure."""

from __future__ import annotations

import gc
import os
import tempfile
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from client_sdk import recorder
from client_sdk.host import forks
from estimator.__main__ import ONE_THREAD
from tests.support.services.programs import RUNS_SYSTEM_TEST

if TYPE_CHECKING:
    from tests.support.services.cluster import Cluster

PATIENCE_S = 60.0

ALLOCATIONS = 50_000
"""After how many new objects garbage is searched: syntax trees and tables have many, and few of
them are garbage.
"""

pytest_plugins = ["tests.support.services.outer_environment", "tests.support.services.temporary"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rounds", type=int, default=1, help="how often each fault is injected")


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """Calculate in one thread, as the command does. Workers inherit it."""
    os.environ.setdefault(*ONE_THREAD)
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Search what tests make for garbage, and not again and again the tests themselves."""
    gc.freeze()
    gc.enable()
    gc.set_threshold(ALLOCATIONS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let tests that are marked `system`, and no others, use programs and rights of the system."""
    os.environ.pop(RUNS_SYSTEM_TEST, None)
    if item.get_closest_marker("system"):
        os.environ[RUNS_SYSTEM_TEST] = item.nodeid


def pytest_xdist_auto_num_workers() -> int:
    """Return a worker more than there are cores: a test of servers often waits for them."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test has checked nothing: report it as a failure."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped; a test that needs a part installs or starts it"
    return report


@pytest.fixture(autouse=True, scope="session")
def patience() -> Iterator[None]:
    """Let devices wait long for a loaded machine; the tests about a deadline set it back.

    An answer that a busy ledger takes late is already recorded when it is given again, and has
    drawn more coins.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorder, "RECORD_DEADLINE_S", PATIENCE_S)
        patch.setattr(recorder, "SECRET_DEADLINE_S", PATIENCE_S)
        patch.setattr(forks, "PAUSE_DEADLINE_S", PATIENCE_S)
        yield


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket's; that of a test may be too long."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


@pytest.fixture
def registry_file(tmp_path: Path) -> Path:
    """A registry on disk."""
    from tests.support.services.collecting import REGISTRY_TEXT  # noqa: PLC0415 tests of the SDK run without a collector

    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A running cluster of three masters and their replicas, shared as the embedded store is."""
    from tests.support.services.cluster import running_cluster  # noqa: PLC0415 as above

    with running_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="session")
def embedded_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A running embedded store, shared by the tests of a session: each begins by emptying it."""
    from collector.embedded.store import EmbeddedStore  # noqa: PLC0415 as above

    with EmbeddedStore(tmp_path_factory.mktemp("store")) as store:
        yield store.url
