"""How often each fault is injected: once in `make test`, twenty times in `make faults`."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def round_number(request: pytest.FixtureRequest) -> int:
    """The how manieth time it is."""
    number: int = request.param
    return number


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make every test of this folder run in rounds."""
    metafunc.parametrize("round_number", range(1, metafunc.config.getoption("--rounds") + 1), indirect=True)
