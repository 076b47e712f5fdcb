"""Devices, network, clocks, collector and releases in one process, from one seed."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, Phase, find, settings
from hypothesis import strategies as st

from tests.support.devices.clients import DAY_S, run_python
from tests.support.simulation.history import HOUR_S, Step, history_of, step_of
from tests.support.simulation.oracle import BrokenPromiseError
from tests.support.simulation.planted import DOUBLE_COUNT, FAULTS, OVERSPEND
from tests.support.simulation.world import World, live

STEPS = 400
"""Some seventy days of three devices."""

CORPUS = range(6)
MANY = range(1000, 1050)
PAGE = 40

PAUSES_S = (0, HOUR_S, 7 * HOUR_S, DAY_S)
HISTORIES = st.lists(
    st.randoms(use_true_random=False).map(lambda random: step_of(random, PAUSES_S)), min_size=1, max_size=60
)


def live_through(seeds: Iterable[int]) -> None:
    for seed in seeds:
        live(seed, history_of(seed, STEPS))


@pytest.mark.parametrize("seed", CORPUS)
def test_a_seed_of_the_corpus_breaks_no_promise(seed: int) -> None:
    assert live(seed, history_of(seed, STEPS)) > STEPS  # device-days, of both lives


@pytest.mark.long
@pytest.mark.parametrize("seed", MANY)
def test_a_further_seed_breaks_no_promise(seed: int) -> None:
    live(seed, history_of(seed, STEPS))


def test_a_seed_replays_exactly_in_another_process() -> None:
    code = (
        "from tests.support.simulation.world import World\n"
        "from tests.support.simulation.history import history_of\n"
        "world = World(1)\n"
        f"world.live(history_of(1, {STEPS // 4}))\n"
        "print(world.departed)"
    )
    world = World(1)
    world.live(history_of(1, STEPS // 4))
    assert len(world.departed) > 10
    assert run_python(code).strip() == str(world.departed)


@pytest.mark.long
@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found(name: str) -> None:
    fault = FAULTS[name]
    with fault.planted(), pytest.raises(BrokenPromiseError, match=fault.breaks):
        live_through(CORPUS)


@pytest.mark.long
@pytest.mark.parametrize("name", [DOUBLE_COUNT, OVERSPEND])
def test_a_planted_fault_is_shrunk_to_a_page(name: str) -> None:
    fault = FAULTS[name]

    def breaks(steps: list[Step]) -> bool:
        try:
            live(0, steps)
        except BrokenPromiseError as error:
            return re.search(fault.breaks, str(error)) is not None
        return False

    with fault.planted():
        steps = find(
            HISTORIES,
            breaks,
            settings=settings(
                max_examples=2000,
                derandomize=True,
                database=None,
                deadline=None,
                phases=(Phase.generate, Phase.shrink),
                suppress_health_check=list(HealthCheck),
            ),
        )
    page = "\n".join(map(str, steps))
    print(page)  # noqa: T201 with --capture=no it can be read
    assert len(page.splitlines()) <= PAGE
