"""Alert rules and dashboard, by Prometheus's own programs and on a scrape of a real collector."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

import estimator
from estimator.output_files import write_whole
from estimator.render.openmetrics import as_openmetrics
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.composed import project
from tests.support.services.processes import (
    RunningCollector,
    free_port,
    kill,
    run_command,
    running_collector,
    started,
    wait_until,
)
from tests.support.services.programs import program
from tests.support.services.wire import ANSWER_TIMEOUT_S, post, tallies

pytestmark = pytest.mark.system

FOLDER = Path(__file__).parents[2] / "docker" / "monitoring"
RULES = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"][0]["rules"]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))

SCRAPE = """
global: {{scrape_interval: 500ms, evaluation_interval: 500ms}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: hearsay
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
  - job_name: node
    static_configs: [{{targets: ["127.0.0.1:{node_port}"]}}]
"""

GOLDEN = Path(__file__).parents[1] / "golden"

Ask = Callable[[str], list[dict[str, Any]]]


def expressions() -> list[str]:
    """Return every query of the rules and of the dashboard, as Grafana would send it."""
    shown = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    filled = [query.replace("$__rate_interval", "1m").replace("$instance", ".*") for query in shown]
    return [*filled, *(rule["expr"] for rule in RULES)]


@pytest.fixture(scope="module")
def collector(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningCollector, int]]:
    """A collector of two workers that has counted, and the port of its metrics."""
    folder, port = tmp_path_factory.mktemp("scraped"), free_port()
    registry = folder / "metrics.toml"
    registry.write_text(REGISTRY_TEXT, encoding="utf-8")
    options = ("--workers", "2", "--metrics-bind", f"127.0.0.1:{port}", "--snapshot-interval", "1")
    with running_collector(registry, folder / "data", *options) as running:
        yield running, port


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of Debian's node exporter, which serves a report; there are no other metrics."""
    folder, port = tmp_path_factory.mktemp("textfile"), free_port()
    content = as_openmetrics(estimator.estimate(GOLDEN / "metrics.toml", GOLDEN / "tallies.ndjson"))
    write_whole(folder / "report.prom", content.encode())
    promtool = [program("promtool"), "check", "metrics"]
    checked = subprocess.run(promtool, input=content, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    textfile = ("--collector.disable-defaults", "--collector.textfile", f"--collector.textfile.directory={folder}")
    listening = f"--web.listen-address=127.0.0.1:{port}"
    with (folder / "log").open("wb") as log:
        exporter = started([program("prometheus-node-exporter"), *textfile, listening], stderr=log)
    try:
        yield port
    finally:
        exporter.terminate()
        exporter.wait()


@pytest.fixture(scope="module")
def ask(collector: tuple[RunningCollector, int], node: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Debian's Prometheus, which scrapes the collector and the report; it is asked over HTTP."""
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    settings = folder / "prometheus.yaml"
    scrape = SCRAPE.format(rules=FOLDER / "alerts.yaml", port=collector[1], node_port=node)
    settings.write_text(scrape, encoding="utf-8")
    options = (f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}")
    with (folder / "log").open("wb") as log:
        prometheus = started([program("prometheus"), *options, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
    try:
        wait_until(lambda: is_ready(port) or prometheus.poll() is not None, what="Prometheus")
        yield partial(answer, port)
    finally:
        prometheus.terminate()
        prometheus.wait()


def is_ready(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=ANSWER_TIMEOUT_S):
            return True
    except OSError:
        return False


def answer(port: int, query: str) -> list[dict[str, Any]]:
    """Return what Prometheus finds; a query that is not valid fails."""
    words = urllib.parse.urlencode({"query": query})
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?{words}", timeout=ANSWER_TIMEOUT_S) as body:
            series: list[dict[str, Any]] = json.load(body)["data"]["result"]
    except urllib.error.HTTPError as error:
        raise AssertionError(f"{query}: {error.read().decode()}") from error
    return series


def selectors(query: str) -> set[str]:
    """Return the names and labels that a query selects."""
    return set(re.findall(r"\b((?:hearsay|process)_\w+(?:\{[^}]*\})?|up(?:\{[^}]*\}))", query))


def test_the_rules_are_valid_and_fire_in_their_own_tests() -> None:
    checked = run_command([program("promtool"), "check", "rules", str(FOLDER / "alerts.yaml")])
    assert checked.returncode == 0, checked.stderr
    tested = run_command([program("promtool"), "test", "rules", str(FOLDER / "alerts.test.yaml")])
    assert tested.returncode == 0, tested.stdout + tested.stderr
    expected = (FOLDER / "alerts.test.yaml").read_text(encoding="utf-8")
    assert {rule["alert"] for rule in RULES} == set(re.findall(r'alertname="(\w+)"', expected))


def test_a_burst_of_a_sender_leaves_the_range_of_a_rule_before_the_rule_may_fire() -> None:
    about_senders = [rule for rule in RULES if re.search(r"hearsay_(reports|problems)_total", rule["expr"])]
    assert len(about_senders) >= 5
    for rule in about_senders:
        ranges = [minutes(text) for text in re.findall(r"\[(\w+)\]", rule["expr"])]
        assert minutes(rule["for"]) > max(ranges), rule["alert"]


def minutes(text: str) -> int:
    """Return a duration of Prometheus in minutes."""
    return int(text[:-1]) * {"m": 1, "h": 60, "d": 1440}[text[-1]]


def test_a_rule_that_never_fires_is_found(tmp_path: Path) -> None:
    text = (FOLDER / "alerts.yaml").read_text(encoding="utf-8")
    (tmp_path / "alerts.yaml").write_text(text.replace("> 0.75", "> 0.85"), encoding="utf-8")
    (tmp_path / "alerts.test.yaml").write_text((FOLDER / "alerts.test.yaml").read_text("utf-8"), encoding="utf-8")
    tested = run_command([program("promtool"), "test", "rules", str(tmp_path / "alerts.test.yaml")])
    assert tested.returncode == 1
    assert "HearsayStoreNearlyFull" in tested.stdout + tested.stderr


def test_the_shipped_settings_of_prometheus_load_the_rules() -> None:
    checked = run_command([program("promtool"), "check", "config", str(FOLDER / "prometheus.yaml")])
    assert checked.returncode == 0, checked.stderr
    assert f"{len(RULES)} rules found" in checked.stdout + checked.stderr


def test_the_shipped_settings_of_prometheus_name_the_composed_collectors() -> None:
    (job,) = yaml.safe_load((FOLDER / "prometheus.yaml").read_text(encoding="utf-8"))["scrape_configs"]
    services = project("compose.yaml")["services"]
    addresses = [services[name]["networks"]["front"]["ipv4_address"] for name in ("collector-1", "collector-2")]
    bind = services["collector-1"]["command"]
    port = bind[bind.index("--metrics-bind") + 1].partition(":")[2]
    assert job["static_configs"] == [{"targets": [f"{address}:{port}" for address in addresses]}]


def test_no_panel_of_the_dashboard_covers_another() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (place["x"] + across, place["y"] + down)
        for place in (panel["gridPos"] for panel in panels)
        for across in range(place["w"])
        for down in range(place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert {across for across, _ in cells} == set(range(24))


def test_every_query_is_valid_and_every_series_that_it_names_is_scraped(
    ask: Ask, collector: tuple[RunningCollector, int]
) -> None:
    running, _ = collector
    assert post(running.url, upload(report(window=today())))[0] == 200
    wait_until(lambda: ask('sum(hearsay_reports_total{verdict="accepted"}) > 0') != [], what="a scrape")
    wait_until(lambda: ask("count(up) == 2") != [], what="both scrapes")
    queries = expressions()
    assert len(queries) > len(RULES) > 0
    for query in queries:
        ask(query)
        assert selectors(query), query
        for selector in selectors(query):
            wait_until(partial(is_found, ask, selector), what=selector)
    assert ask('ALERTS{alertstate="firing"}') == []


def is_found(ask: Ask, query: str) -> bool:
    return ask(query) != []


def test_a_report_is_scraped_with_the_figures_that_its_csv_has(ask: Ask) -> None:
    with (GOLDEN / "printed" / "report.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("skipped")))
    closed = max(row["window"] for row in rows if row["metric"] == "dark_mode" and row["closed"] == "true")
    expected = {
        (row["value"], end): float(row[end])
        for row in rows
        if (row["metric"], row["window"], row["statistic"]) == ("dark_mode", closed, "share")
        for end in ("estimate", "low", "high")
    }
    assert len(expected) == 6
    wait_until(partial(is_found, ask, "hearsay_high"), what="a scrape of the report")
    scraped = {
        (series["metric"]["value"], end): float(series["value"][1])
        for end in ("estimate", "low", "high")
        for series in ask(f'hearsay_{end}{{metric="dark_mode",statistic="share"}}')
    }
    assert scraped == pytest.approx(expected)
    assert ask('hearsay_estimate{statistic="found_text"}') == [], "devices choose such texts"
    assert ask("hearsay_reports")


def test_open_windows_count_what_everybody_may_look_at(ask: Ask, collector: tuple[RunningCollector, int]) -> None:
    running, _ = collector
    for sent in (report("os", 2, today()), report("os", 3, today())):
        assert post(running.url, upload(sent))[0] == 200
    query = f'hearsay_window_reports{{metric="os",window="{today()}"}} == 2'
    wait_until(partial(is_found, ask, query), what="a look at the open windows")
    (series,) = ask(query)
    assert set(series["metric"]) == {"__name__", "instance", "job", "metric", "window"}
    (shown,) = (tally for tally in tallies(running.url, "?preliminary=1") if tally["metric"] == "os")
    assert (shown["window"], shown["reports"]) == (today(), 2)


def test_every_process_is_measured_and_a_new_worker_continues_the_name_of_a_dead_one(
    ask: Ask, collector: tuple[RunningCollector, int]
) -> None:
    running, _ = collector
    series = 'process_resident_memory_bytes{process="%s"} > 10e6'
    for process in ("main", "worker-1", "worker-2"):
        wait_until(partial(is_found, ask, series % process), what=process)
    kill(running.worker_pids()[0])
    wait_until(
        partial(is_found, ask, 'changes(process_start_time_seconds{process=~"worker-.*"}[5m]) > 0'), what="a start"
    )
    assert len(ask('process_start_time_seconds{job="hearsay"}')) == 3
