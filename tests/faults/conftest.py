"""How often each fault is injected: once in `make test`, twenty times in `make faults`; and a disk
to fill.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.services.small_disks import mounted


@pytest.fixture(autouse=True)
def round_number(request: pytest.FixtureRequest) -> int:
    """The number of this round."""
    number: int = request.param
    return number


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three megabytes."""
    with mounted(tmp_path / "disk") as disk:
        yield disk


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run every test of this folder in rounds."""
    metafunc.parametrize("round_number", range(1, metafunc.config.getoption("--rounds") + 1), indirect=True)
