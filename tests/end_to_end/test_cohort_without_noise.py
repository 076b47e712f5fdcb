"""A cohort whose noise is complete: from the wire to the command line, the estimate equals the
truth.

Each kind of user sends reports in the exact proportions of the law. If every probability is a
fraction with a small denominator, a few devices of each kind are enough, and the unbiased estimate
is exactly the truth.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import COIN_SCALE
from client_sdk.sending.transport import HttpTransport
from tests.support.estimates.documents import listed, only
from tests.support.laws.coins import ScriptedCoins
from tests.support.services.processes import READ_TOKEN, run_command, running_collector

REGISTRY = """
schema = 1
[app]
name = "cohort"
[budget]
per_window = 9
lifetime = 99
[metric.dark_mode]
purpose = "Is dark mode used?"
kind = "boolean"
epsilon = "ln 3"
[metric.os]
purpose = "Which systems must we test on?"
kind = "category"
values = ["linux", "macos", "windows", "other"]
epsilon = "ln 3"
mechanism = "k-ary-randomized-response"
[metric.tab]
purpose = "Which tab is open?"
kind = "category"
values = ["a", "b", "c", "d", "e", "f"]
epsilon = "ln 2"
mechanism = "cyclic-design"
[metric.locale]
purpose = "Which translations are needed?"
kind = "category"
values = ["bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "ga", "hr", "hu"]
epsilon = "ln 2.25"
mechanism = "projective-geometry"
[metric.load]
purpose = "How loaded is the machine?"
kind = "number"
low = -1
high = 3
statistic = "mean"
mechanism = "one-bit"
epsilon = "ln 3"
"""

ROUNDING = 16 * sys.float_info.epsilon
"""The rounding of p and q as floats: for designs they are no multiples of a power of two."""

REPORT = ("-m", "estimator", "report", "--preliminary", "--format", "json")

TRUTHS: dict[str, list[Any]] = {
    "dark_mode": [True] * 3 + [False] * 5,
    "os": ["linux"] * 4 + ["macos"] * 2 + ["windows"] * 2,
    "tab": ["b", "f"],
    "locale": ["bg", "en"],
    "load": [0.0] * 2 + [1.0] * 4 + [2.0] * 2,
}


def complete_noise(metric: str, answer: object) -> Iterator[tuple[object, Sequence[bool | int]]]:
    """Yield an answer with every outcome of its coins, each as often as it is likely."""
    if metric == "os":
        # Keep with 1/2; the lie, drawn in either case, is one of three.
        yield from ((answer, [keep, lie]) for keep in (True, False) for lie in range(3))
        return
    if metric == "tab":
        # One of five differences; kept with 1/2; one of two members and one of four others, both
        # drawn.
        yield from ((answer, list(way)) for way in itertools.product(range(5), (True, False), range(2), range(4)))
        return
    if metric == "locale":
        # Kept with 1/2; one of the four points of a line of PG(2, 3) and one of the nine others,
        # both drawn.
        yield from ((answer, list(way)) for way in itertools.product((True, False), range(4), range(9)))
        return
    keeps = (True, True, True, False)
    if metric == "dark_mode":
        yield from ((answer, [keep]) for keep in keeps)
        return
    rounding = Fraction(str(answer)) / 4 + Fraction(1, 4)  # from -1 to 3
    ups = [True] * int(4 * rounding) + [False] * int(4 - 4 * rounding)
    yield from ((answer, [up, keep]) for up in ups for keep in keeps)


def report_all(registry: Registry, url: str, now_s: float) -> None:
    """Let every device of the cohort report one metric."""
    for metric, answers in TRUTHS.items():
        for answer, script in itertools.chain.from_iterable(complete_noise(metric, answer) for answer in answers):
            coins = ScriptedCoins(script)
            with Telemetry(
                registry,
                collector=url,
                data_dir=None,
                consent=True,
                clock=lambda: now_s,
                coins=coins,
                transport=HttpTransport(url),
            ) as telemetry:
                assert telemetry.record(metric, answer) is Recorded.QUEUED
                assert telemetry.flush(timeout_s=30)
            coins.finish()


def test_the_proportions_of_the_cohort_are_those_of_the_law() -> None:
    registry = Registry.parse(REGISTRY)
    keeps = {}
    for name, metric in registry.metrics.items():
        numerator = metric.channel.integers["keep_numerator"]
        assert isinstance(numerator, int)
        keeps[name] = Fraction(numerator, COIN_SCALE)
    assert keeps == {
        "dark_mode": Fraction(3, 4),
        "os": Fraction(1, 2),
        "tab": Fraction(1, 2),
        "locale": Fraction(1, 2),
        "load": Fraction(3, 4),
    }


@pytest.mark.long
def test_a_cohort_whose_noise_is_complete_gives_the_truth_exactly(tmp_path: Path) -> None:
    registry_file = tmp_path / "metrics.toml"
    registry_file.write_text(REGISTRY, encoding="utf-8")
    started_s = time.time()
    with running_collector(registry_file, tmp_path / "data") as collector:
        report_all(Registry.load(registry_file), collector.url, started_s)
        done = run_command(
            [sys.executable, *REPORT, "--registry", str(registry_file), "--collector", collector.url],
            HEARSAY_READ_TOKEN=READ_TOKEN,
        )
    assert done.returncode == 0, done.stderr
    metrics = {metric["metric"]: metric for metric in json.loads(done.stdout)["metrics"]}
    for name in ("dark_mode", "os"):
        estimates = {entry["value"]: entry["estimate"] for entry in listed(metrics[name], "share")}
        answers = TRUTHS[name]
        assert estimates == {value: answers.count(value) / len(answers) for value in estimates}
    for name in ("tab", "locale"):
        estimates = {entry["value"]: entry["estimate"] for entry in listed(metrics[name], "share")}
        answers = TRUTHS[name]
        assert estimates == {value: pytest.approx(answers.count(value) / 2, abs=ROUNDING) for value in estimates}
    assert only(metrics["load"], "mean")["estimate"] == 1.0
