"""The smallest difference of two strata in a plan is seen 9 times in 10."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry
from estimator.commands.cli import command
from estimator.plan.amplification import shuffled_epsilon
from estimator.plan.blanket import Blanket
from estimator.plan.plan import PlanRequest, make_plan
from estimator.statistics.arrays import Floats
from tests.support.devices.definitions import BOOLEAN, NUMBER, Field, registry_text

STRATA: dict[str, Field] = {"strata": ["platform"]}
TEXT = registry_text(
    dark_mode=BOOLEAN | {"epsilon": 2} | STRATA,
    startup_ms=NUMBER | {"high": 5000, "unit": "ms", "epsilon": 1} | STRATA,
    plain=BOOLEAN | {"epsilon": 2},
).replace("[metric.", '[strata]\nplatform = ["ios", "android"]\n[metric.', 1)
TODAY = date(2026, 11, 21)


def test_a_difference_of_that_size_is_seen_nine_times_in_ten() -> None:
    boolean, _, plain = make_plan(Registry.parse(TEXT), PlanRequest(20_000, TODAY)).metrics
    assert plain.strata is None
    assert boolean.strata is not None
    assert (boolean.strata.strata, boolean.strata.reports) == (2, 10_000)
    difference = boolean.strata.smallest_difference
    assert difference is not None
    chance, rounds = np.exp(2) / (1 + np.exp(2)), 40_000
    random = np.random.default_rng(1)

    def estimates(share: float) -> Floats:
        yes = random.binomial(10_000, share * chance + (1 - share) * (1 - chance), rounds) / 10_000
        unbiased: Floats = (yes - (1 - chance)) / (2 * chance - 1)
        return unbiased

    first, second = estimates(0.5 - difference / 2), estimates(0.5 + difference / 2)
    error = np.sqrt(2 * 0.25 / 10_000) / (2 * chance - 1)
    seen = np.mean(second - first > 1.96 * error)
    # three standard deviations of the simulation, and shares near one half have the worst variance
    assert seen == pytest.approx(0.9, abs=3 * np.sqrt(0.9 * 0.1 / rounds) + 2e-3)


@pytest.mark.slow
def test_the_difference_shrinks_with_the_root_of_the_reports_and_is_none_without() -> None:
    registry = Registry.parse(TEXT)

    def difference(population: int, metric: int) -> float | None:
        strata = make_plan(registry, PlanRequest(population, TODAY)).metrics[metric].strata
        assert strata is not None
        return strata.smallest_difference

    for metric in (0, 1):
        few, many = difference(20_000, metric), difference(80_000, metric)
        assert few is not None
        assert many == pytest.approx(few / 2)
        assert difference(1, metric) is None


@pytest.mark.slow
def test_the_plan_and_the_statement_say_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("plan") / "metrics.toml"
    path.write_text(TEXT)
    words = ["plan", "--registry", str(path), "--today", str(TODAY), "--population", "20000"]
    table = CliRunner().invoke(command, words).stdout
    assert table.count("detectable difference of strata") == 2
    assert table.count("9 times in 10, with 10,000 reports in each of 2") == 2
    document = json.loads(CliRunner().invoke(command, [*words, "--format", "json"]).stdout)
    assert document["metrics"][0]["strata"]["reports"] == 10_000
    assert "strata" not in document["metrics"][2]
    page = CliRunner().invoke(command, ["plan", "--registry", str(path), "--statement"]).stdout
    assert page.count("What is also sent, without randomization") == 2
    assert "if any, applies to your device (platform=ios; platform=android)" in " ".join(page.split())


def test_the_tally_that_is_published_is_of_one_stratum() -> None:
    boolean, _, plain = make_plan(Registry.parse(TEXT), PlanRequest(20_000, TODAY)).metrics
    assert boolean.central is not None
    assert plain.central is not None
    assert (
        boolean.central.epsilon
        == shuffled_epsilon(10_000, Blanket.of_epsilon(2.0), boolean.central.delta)
        > plain.central.epsilon
    )
