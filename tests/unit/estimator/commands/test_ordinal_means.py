"""The mean answer on a scale, from the registry to every form of its figures."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.ordinal import OrdinalMean
from estimator.audit.answers import answers_of
from estimator.audit.run import extremes
from estimator.commands.cli import command
from tests.support.devices.definitions import Field, registry_text
from tests.support.estimates.command_line import report, run
from tests.support.estimates.documents import only
from tests.support.estimates.tallies import tally

STEPS = ["bad", "poor", "fair", "good", "great"]
SHARES = (0.07, 0.31, 0.02, 0.13, 0.47)
DEVICES = 20_000
TRUE = sum(place * share for place, share in enumerate(SHARES, start=1))
LIKED: dict[str, Field] = {
    "purpose": "Is it liked?",
    "kind": "ordinal",
    "values": STEPS,
    "statistic": "mean",
    "epsilon": 2,
    "mechanism": "optimal-mean",
}
TEXT = registry_text(liked=LIKED)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a registry, true answers and a tally of them."""
    folder = tmp_path_factory.mktemp("scales")
    (folder / "metrics.toml").write_text(TEXT)
    answers = [f"{step}\n" * round(share * DEVICES) for step, share in zip(STEPS, SHARES, strict=True)]
    (folder / "answers.csv").write_text("".join(["liked\n", *answers]))
    metric = Registry.parse(TEXT).metric("liked")
    places = np.linspace(0, metric.channel.inputs - 1, len(STEPS)).round().astype(int).tolist()
    law = np.zeros(metric.channel.symbols)
    for place, share in zip(places, SHARES, strict=True):
        law += share * np.array([float(metric.channel.probability(y, place)) for y in range(metric.channel.symbols)])
    counts = np.random.default_rng(3).multinomial(DEVICES, law / law.sum()).tolist()
    (folder / "tallies").write_bytes(tally(metric, counts))
    return folder


@pytest.mark.slow
def test_a_report_has_the_mean_place_and_no_share_and_no_sum(folder: Path) -> None:
    (metric,) = json.loads(report(folder, "--format", "json", "--with", "clusters"))["metrics"]
    assert (metric["kind"], metric["mechanism"]) == ("ordinal", "optimal-mean")
    (group,) = metric["groups"]
    assert (group["statistic"], group["ends"]) == ("mean_position", [1, 5])
    assert only(metric, "mean_position")["low"] < TRUE < only(metric, "mean_position")["high"]
    assert only(metric, "mean_position")["high"] - only(metric, "mean_position")["low"] < 0.1
    assert "clusters" not in metric


def test_words_page_and_rows_name_it_as_a_step_of_the_scale(folder: Path) -> None:
    assert "of 5" in report(folder)
    assert "mean" in report(folder, "--verbose")
    report(folder, "--output", str(folder / "report.html"))
    assert "of 5" in (folder / "report.html").read_text()
    header, row, _ = report(folder, "--format", "csv").splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["statistic"] == "mean_position"


def test_a_rehearsal_compares_it_with_the_truth(folder: Path) -> None:
    words = ("rehearse", "--csv", str(folder / "answers.csv"), "--seed", "4", "--format", "json")
    metric: dict[str, Any] = json.loads(run(folder, *words).stdout)["metrics"][0]
    assert only(metric, "mean_position")["truth"] == pytest.approx(TRUE)
    assert only(metric, "mean_position")["holds"]
    spread = run(folder, "rehearse", "--population", "1000", "--seed", "4", "--format", "json").stdout
    assert only(json.loads(spread)["metrics"][0], "mean_position")["truth"] == pytest.approx(3)


def test_a_plan_promises_more_than_for_the_same_scale_with_shares(folder: Path, tmp_path: Path) -> None:
    shares = {key: value for key, value in LIKED.items() if key not in {"statistic", "mechanism"}}
    (tmp_path / "metrics.toml").write_text(registry_text(liked=shares))
    ours, others = (
        json.loads(run(at, "plan", "--population", "20000", "--format", "json").stdout)["metrics"][0]["mean"][
            "standard_error_worst"
        ]
        for at in (folder, tmp_path)
    )
    assert ours < 0.95 * others


def test_an_alert_takes_its_mean_and_never_its_sum(folder: Path) -> None:
    tallies = str(folder / "tallies")
    words = ["report", "--registry", str(folder / "metrics.toml"), "--tallies", tallies, "--alert"]
    assert CliRunner().invoke(command, [*words, "liked.mean > 2"]).exit_code == 5
    refused = CliRunner().invoke(command, [*words, "liked.sum > 2"])
    assert refused.exit_code not in {0, 5}
    assert "write one of: mean" in refused.output


def test_the_exact_audit_proves_its_epsilon_for_every_step(tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(registry_text(liked=LIKED | {"mechanism": "one-bit"}))
    assert "liked" in run(tmp_path, "audit", "--exact").stdout
    metric = Registry.parse((tmp_path / "metrics.toml").read_text()).metric("liked")
    walked = {answer.value: answer.inputs for answer in answers_of(metric, (0, 1))}
    assert list(walked) == STEPS
    assert walked["poor"] == {0: Fraction(3, 4), 1: Fraction(1, 4)}


def test_the_audit_plays_the_ends_and_what_permanent_rounding_may_break() -> None:
    permanent: dict[str, Field] = {"mechanism": "auto", "permanent_epsilon": 3}
    metric = Registry.parse(registry_text(liked=LIKED | permanent)).metric("liked")
    assert isinstance(metric.kind, OrdinalMean)
    played = extremes(metric)
    assert [(answer.value, answer.name) for answer in played] == [(step, step) for step in ("bad", "great", "fair")]
