"""Simulates devices, a collector and the estimator, and prints true values next to estimates."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from math import inf
from pathlib import Path
from statistics import fmean
from typing import Any

import click

from client_sdk import Recorded, Registry, Telemetry
from client_sdk.protocol import Window, WindowKind
from estimator.render.rounding import number

HERE = Path(__file__).parent
REGISTRY = HERE / "metrics.toml"
ANSWERS = HERE / "health.csv"

DEVICES_AT_ONCE = 8
DEVICES_AT_A_TIME = 16
"""The number of devices that a process simulates between two reports of progress. Reports of
progress then take no noticeable time.
"""

DECIMALS = 3
"""The number of decimals of every figure."""

FLUSH_TIMEOUT_S = 60.0
BUSY_PAUSE_S = 0.05

Answers = Mapping[str, bool | str | float]


@click.command()
@click.option("--devices", type=click.IntRange(1), help="How many people to simulate.  [default: all 5,638 of year 1]")
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("report.html"),
    show_default=True,
    help="The file for the report as a page.",
)
def main(devices: int | None, html: Path) -> None:
    """Simulate one device per person of year 1, and print estimates beside true values."""
    started_s = time.time()  # all devices use one instant, because midnight may pass while they report
    people = read_people()[:devices]
    token = secrets.token_urlsafe(16)
    with tempfile.TemporaryDirectory(prefix="hearsay-demo-") as scratch, collector(Path(scratch), token) as url:
        answered = report_all(people, url, started_s)
        window = Window.at(WindowKind.DAY, started_s)
        command(
            "collector", "store", "close", "--yes", "--window", window.text, "--data-dir", str(Path(scratch) / "data")
        )
        report = ("estimator", "report", "--registry", str(REGISTRY), "--collector", url)
        output = command(*report, "--format", "json", HEARSAY_READ_TOKEN=token)
        command(*report, "--format", "html", "--output", str(html), HEARSAY_READ_TOKEN=token)
    print_comparison(json.loads(output), people)
    click.echo(f"{len(people):,} devices sent {answered:,} reports, in {time.time() - started_s:.0f} s.")
    click.echo(f"\nThe same as a page: {html}. Open it:\n  python3 -m webbrowser {html.absolute().as_uri()}")


def read_people() -> list[Answers]:
    """Return the answers of each person in year 1. Unknown answers are left out."""
    with ANSWERS.open(newline="", encoding="utf-8") as file:
        return [answers_of(row) for row in csv.DictReader(file) if row["year"] == "1"]


def answers_of(row: Mapping[str, str]) -> Answers:
    """Return one person's answers by metric."""
    answers: dict[str, bool | str | float] = {
        "self_rated_health": row["self_rated_health"],
        "doctor_visits": float(row["doctor_visits"]),
        "chronic_disease_index": float(row["chronic_disease_index"]),
    }
    if row["physical_limitation"]:
        answers["physical_limitation"] = row["physical_limitation"] == "yes"
    return answers


@contextlib.contextmanager
def collector(scratch: Path, token: str) -> Iterator[str]:
    """Run a collector with its embedded store, yield its URL, and stop it afterwards.

    If the collector does not start, its log is printed.
    """
    log = scratch / "collector.log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    options = ("serve", "--registry", str(REGISTRY), "--bind", bind, "--data-dir", str(scratch / "data"))
    with (
        log.open("w", encoding="utf-8") as sink,
        subprocess.Popen(  # noqa: S603 this project's own command
            [sys.executable, "-m", "collector", *options],
            stdout=subprocess.PIPE,
            stderr=sink,
            env=environment(HEARSAY_READ_TOKEN=token),
            text=True,
        ) as process,
    ):
        try:
            if not (process.stdout and process.stdout.readline()):
                sys.exit(f"the collector did not start:\n{log.read_text(encoding='utf-8')}")
            yield f"http://{bind}"
        finally:
            process.terminate()


def report_all(people: list[Answers], url: str, now_s: float) -> int:
    """Simulate a device for each person. Return the number of delivered reports."""
    with ProcessPoolExecutor(DEVICES_AT_ONCE) as pool:  # processes, because threads would share a single core
        reports = pool.map(partial(report, url, now_s), people, chunksize=DEVICES_AT_A_TIME)
        with click.progressbar(reports, length=len(people), label="devices report", file=sys.stderr) as bar:
            return sum(bar)


def report(url: str, now_s: float, answers: Answers) -> int:
    """Record a person's answers on one device, and return the number of delivered reports."""
    with Telemetry(registry(), collector=url, data_dir=None, consent=True, clock=lambda: now_s) as telemetry:
        for metric, answer in answers.items():
            record(telemetry, metric, answer)
        if not telemetry.flush(timeout_s=FLUSH_TIMEOUT_S):
            sys.exit("a device could not deliver its reports; is the collector running?")
    return len(answers)


@cache
def registry() -> Registry:
    """Return the metrics. Each process reads the registry only once."""
    return Registry.load(REGISTRY)


def record(telemetry: Telemetry, metric: str, answer: bool | str | float) -> None:  # noqa: FBT001 an answer, not a switch
    """Record an answer, and try again if this machine is too busy for a confirmation in time.

    The device never counts an answer twice.
    """
    while (result := telemetry.record(metric, answer)) in (Recorded.BUSY, Recorded.WAITING):
        time.sleep(BUSY_PAUSE_S)
    if result not in (Recorded.QUEUED, Recorded.ALREADY_RECORDED):
        sys.exit(f"a device could not record {metric}: {result}")


def command(package: str, *arguments: str, **settings: str) -> str:
    """Run a command of the project, and return its output. On failure, exit with the error."""
    done = subprocess.run(  # noqa: S603 this project's own command
        [sys.executable, "-m", package, *arguments],
        capture_output=True,
        env=environment(**settings),
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def environment(**settings: str) -> dict[str, str]:
    """Return the environment for a command, with only the given settings of the project.

    The user may have exported other settings, such as the URL of a collector's store.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HEARSAY_")}
    return inherited | settings


def print_comparison(report: Mapping[str, Any], people: list[Answers]) -> None:
    """Print estimates beside true values, and the number of intervals with the true value."""
    percent = round(100 * report["confidence"])
    click.echo(f"\n{'':34}{'truth':>9}{'estimate':>10}   {percent}% interval")
    held = []
    for metric in report["metrics"]:
        truths = [answers[metric["metric"]] for answers in people if metric["metric"] in answers]
        target = ", ".join(filter(None, (metric["metric"], metric.get("counted"))))
        click.echo(f"{target}  ({metric['reports']} reports, epsilon {metric['epsilon']:.4f})")
        for label, truth, entry in rows(metric, truths):
            holds = entry["low"] <= truth <= entry["high"]
            held.append(holds)
            shown = number(entry["estimate"], entry["low"], entry["high"], decimals=DECIMALS)
            interval = f"{shown.low:>8} to {shown.high:>7}"
            missed = "" if holds else "misses"
            click.echo(f"  {label:32}{truth:9.{DECIMALS}f}{shown.estimate:>10}   {interval}  {missed}".rstrip())
    click.echo(f"\n{sum(held)} of {len(held)} intervals contain the true value; at {percent}%, about 1 in 20 does not.")


def rows(metric: Mapping[str, Any], truths: list[Any]) -> Iterator[tuple[str, float, Mapping[str, float]]]:
    """Yield the label, the true value and the estimate of each figure."""
    figures = {group["statistic"]: group["figures"] for group in metric["groups"]}
    ends = [group["ends"] for group in metric["groups"] if group["statistic"] == "mean" and "ends" in group]
    least, greatest = ends[0] if ends else (-inf, inf)  # numbers beyond the ends of the range count as the nearer end
    for entry in figures.get("mean", ()):
        yield "mean", fmean(min(max(truth, least), greatest) for truth in truths), entry
    for entry in figures.get("share", ()):
        # the share of no is one minus the share of yes, so only the interval of yes is counted
        if entry["value"] is not False:
            label = "yes" if entry["value"] is True else entry["value"]
            yield label, truths.count(entry["value"]) / len(truths), entry


if __name__ == "__main__":
    main()
