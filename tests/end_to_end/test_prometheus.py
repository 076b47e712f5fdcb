"""Alert rules and dashboard, by Prometheus's own programs and on a scrape of a real collector."""

from __future__ import annotations

import contextlib
import csv
import json
import re
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

import estimator
from estimator.output_files import write_whole
from estimator.render.openmetrics import as_openmetrics
from tests.support.services.collecting import REGISTRY_TEXT, report, today, upload
from tests.support.services.composed import project
from tests.support.services.own_store import running_server
from tests.support.services.processes import (
    children,
    free_port,
    kill,
    run_command,
    started,
    wait_until,
)
from tests.support.services.programs import program
from tests.support.services.proxy import running_proxy
from tests.support.services.relaying import collector_with_key, running_relay
from tests.support.services.tls import Certificates
from tests.support.services.wire import ANSWER_TIMEOUT_S, post, tallies

pytestmark = pytest.mark.system

FOLDER = Path(__file__).parents[2] / "docker" / "monitoring"
GROUPS = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
DASHBOARD = json.loads((FOLDER / "dashboard.json").read_text(encoding="utf-8"))
PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "monitoring.md").read_text(encoding="utf-8")

(SCRAPE,) = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
"""The rule file and the jobs as the page has them; only targets are changed here."""

AT_ONCE = ("HearsayStoreDown", "HearsayCollectorDown", "HearsayRelayDown", "HearsayHealthzFails")
"""Rules that here fire within a second. The tests of promtool have their true times."""

GOLDEN = Path(__file__).parents[1] / "golden"

Ask = Callable[[str], list[dict[str, Any]]]


def expressions() -> list[str]:
    """Return every query of the rules and of the dashboard, as Grafana would send it."""
    shown = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", ())]
    filled = [query.replace("$__rate_interval", "1m").replace("$instance", ".*") for query in shown]
    return [*filled, *(rule["expr"] for rule in RULES)]


class Deployment:
    """A store, a collector of two workers, a relay and nginx. Each can be killed and started again.

    Attributes:
        metrics: the port of the collector's metrics.
        relay_metrics: the port of the relay's.
        authority: the certificate of the authority of nginx.

    """

    def __init__(self, folder: Path) -> None:
        """Choose ports, and write the files; nothing runs yet."""
        self._folder, self._parts = folder, dict[str, contextlib.ExitStack]()
        self._ports = {name: free_port() for name in self.starts}
        self.metrics, self.relay_metrics = free_port(), free_port()
        self._registry = folder / "metrics.toml"
        self._registry.write_text(REGISTRY_TEXT, encoding="utf-8")
        self._certificates = Certificates.issued_in(folder)
        self.authority = self._certificates.authority
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    starts: ClassVar = ("store", "collector", "relay", "proxy")
    """The parts, in the order in which they start."""

    def url(self, part: str) -> str:
        """Return the base address of a part over HTTP."""
        return f"{'https' if part == 'proxy' else 'http'}://127.0.0.1:{self._ports[part]}"

    def start(self, part: str) -> None:
        """Start a part on its port."""
        stack = self._parts[part] = contextlib.ExitStack()
        self._processes[part] = getattr(self, f"_{part}")(stack, self._ports[part])

    def kill(self, part: str) -> None:
        """Kill all processes that a part has now: nginx listens before it has workers."""
        main = self._processes[part].pid
        for pid in (main, *children(main)):
            with contextlib.suppress(ProcessLookupError):  # it may end with its parent
                kill(pid)
        self._parts[part].close()

    def stop(self) -> None:
        """Stop all parts, the last first."""
        for part in reversed(self.starts):
            self._parts.pop(part, contextlib.ExitStack()).close()

    def _store(self, stack: contextlib.ExitStack, port: int) -> subprocess.Popen[bytes]:
        return stack.enter_context(running_server(self._folder, port=port)).process

    def _collector(self, stack: contextlib.ExitStack, port: int) -> subprocess.Popen[bytes]:
        store = f"redis://127.0.0.1:{self._ports['store']}"
        options = ("--workers", "2", "--metrics-bind", f"127.0.0.1:{self.metrics}", "--snapshot-interval", "1")
        context = collector_with_key(self._registry, self._folder, "--redis", store, *options, port=port)
        self.collector = stack.enter_context(context)
        return self.collector.process

    def _relay(self, stack: contextlib.ExitStack, port: int) -> subprocess.Popen[bytes]:
        options = ("--gather", "0.1", "--metrics-bind", f"127.0.0.1:{self.relay_metrics}")
        context = running_relay(self.url("collector"), self._folder, *options, port=port)
        return stack.enter_context(context).process

    def _proxy(self, stack: contextlib.ExitStack, port: int) -> subprocess.Popen[bytes]:
        return stack.enter_context(running_proxy([self.url("collector")], self._certificates, port)).process


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """All parts, running."""
    running = Deployment(tmp_path_factory.mktemp("deployment"))
    try:
        for part in running.starts:
            running.start(part)
        yield running
    finally:
        running.stop()


@contextlib.contextmanager
def exporter(folder: Path, name: str, *options: str) -> Iterator[int]:
    """Run an exporter of Debian's, and yield its port."""
    port = free_port()
    with (folder / f"{name}.log").open("wb") as log:
        process = started([program(name), *options, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of Debian's node exporter, which serves a report and the room on the disks."""
    folder = tmp_path_factory.mktemp("textfile")
    content = as_openmetrics(estimator.estimate(GOLDEN / "metrics.toml", GOLDEN / "tallies.ndjson"))
    write_whole(folder / "report.prom", content.encode())
    promtool = [program("promtool"), "check", "metrics"]
    checked = subprocess.run(promtool, input=content, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, "")
    collectors = ("--collector.disable-defaults", "--collector.filesystem", "--collector.textfile")
    with exporter(folder, "prometheus-node-exporter", *collectors, f"--collector.textfile.directory={folder}") as port:
        yield port


@pytest.fixture(scope="module")
def blackbox(deployment: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of Debian's blackbox exporter, which trusts the authority of the test's nginx."""
    folder = tmp_path_factory.mktemp("blackbox")
    trusting = {"prober": "http", "http": {"tls_config": {"ca_file": str(deployment.authority)}}}
    settings = folder / "blackbox.yaml"
    settings.write_text(yaml.safe_dump({"modules": {"http_2xx": trusting}}), encoding="utf-8")
    with exporter(folder, "prometheus-blackbox-exporter", f"--config.file={settings}", "--timeout-offset=0.1") as port:
        yield port


@pytest.fixture(scope="module")
def prometheus(
    deployment: Deployment, node: int, blackbox: int, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The port of Debian's Prometheus, which scrapes everything by the jobs of the page."""
    folder, port = tmp_path_factory.mktemp("prometheus"), free_port()
    rules = yaml.safe_load((FOLDER / "alerts.yaml").read_text(encoding="utf-8"))
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        if rule["alert"] in AT_ONCE:
            rule["for"] = "1s"
    (folder / "alerts.yaml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    targets = {
        '"127.0.0.1:9090"': deployment.metrics,
        '"relay.example.com:9090"': deployment.relay_metrics,
        '"127.0.0.1:9100"': node,
        '"127.0.0.1:9115"': blackbox,
    }
    jobs = SCRAPE
    for shown, own in targets.items():
        assert shown in jobs
        jobs = jobs.replace(shown, f'"127.0.0.1:{own}"')
    jobs = jobs.replace("https://telemetry.example.com/healthz", f"{deployment.url('proxy')}/healthz")
    often = "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}\n"
    settings = folder / "prometheus.yaml"
    settings.write_text(f"{often}{jobs}", encoding="utf-8")
    options = (f"--config.file={settings}", f"--storage.tsdb.path={folder / 'data'}")
    with (folder / "log").open("wb") as log:
        process = started([program("prometheus"), *options, f"--web.listen-address=127.0.0.1:{port}"], stderr=log)
    try:
        wait_until(lambda: is_ready(port) or process.poll() is not None, what="Prometheus")
        yield port
    finally:
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def ask(prometheus: int) -> Ask:
    """Asks Prometheus over HTTP."""
    return partial(answer, prometheus)


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


def at_once(port: int) -> dict[str, str]:
    """Return the summaries of the alerts that fire within a second, by their names.

    A busy machine may be slow enough for others.
    """
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=ANSWER_TIMEOUT_S) as body:
        present = json.load(body)["data"]["alerts"]
    firing = {a["labels"]["alertname"]: a["annotations"]["summary"] for a in present if a["state"] == "firing"}
    return {name: summary for name, summary in firing.items() if name in AT_ONCE}


def selectors(query: str) -> set[str]:
    """Return the names and labels that a query selects."""
    return set(re.findall(r"\b((?:hearsay|process|probe|node)_\w+(?:\{[^}]*\})?|up(?:\{[^}]*\}))", query))


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
    names = [name for name in services if name.startswith("collector-")]
    bind = services["collector-1"]["command"]
    port = bind[bind.index("--metrics-bind") + 1].partition(":")[2]
    assert job["static_configs"] == [{"targets": [f"{name}:{port}" for name in names]}]


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


def test_every_query_is_valid_and_every_series_that_it_names_is_scraped(ask: Ask, deployment: Deployment) -> None:
    for part in ("collector", "relay"):
        assert post(deployment.url(part), upload(report(window=today())))[0] == 200
    wait_until(lambda: ask('sum(hearsay_reports_total{verdict="accepted"}) > 0') != [], what="a scrape")
    wait_until(lambda: ask("count(up) == 4") != [], what="all scrapes")
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


def test_open_windows_count_what_everybody_may_look_at(ask: Ask, deployment: Deployment) -> None:
    running = deployment.collector
    for sent in (report("os", 2, today()), report("os", 3, today())):
        assert post(running.url, upload(sent))[0] == 200
    query = f'hearsay_window_reports{{metric="os",window="{today()}"}} == 2'
    wait_until(partial(is_found, ask, query), what="a look at the open windows")
    (series,) = ask(query)
    assert set(series["metric"]) == {"__name__", "instance", "job", "metric", "window"}
    (shown,) = (tally for tally in tallies(running.url, "?preliminary=1") if tally["metric"] == "os")
    assert (shown["window"], shown["reports"]) == (today(), 2)


def test_every_process_is_measured_and_a_new_worker_continues_the_name_of_a_dead_one(
    ask: Ask, deployment: Deployment
) -> None:
    running = deployment.collector
    series = 'process_resident_memory_bytes{process="%s"} > 10e6'
    for process in ("main", "worker-1", "worker-2"):
        wait_until(partial(is_found, ask, series % process), what=process)
    kill(running.worker_pids()[0])
    wait_until(
        partial(is_found, ask, 'changes(process_start_time_seconds{process=~"worker-.*"}[5m]) > 0'), what="a start"
    )
    assert len(ask('process_start_time_seconds{job="hearsay"}')) == 3


def test_the_jobs_of_the_page_are_settings_of_prometheus(tmp_path: Path) -> None:
    (tmp_path / "prometheus.yaml").write_text(SCRAPE, encoding="utf-8")
    shutil.copy(FOLDER / "alerts.yaml", tmp_path)
    checked = run_command([program("promtool"), "check", "config", str(tmp_path / "prometheus.yaml")])
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("store", {"HearsayStoreDown": "The store of {collector} accepts no uploads"}),
        ("relay", {"HearsayRelayDown": "The relay {relay} does not answer"}),
        ("proxy", {"HearsayHealthzFails": "{proxy}/healthz does not answer through its public address"}),
        (
            "collector",
            {
                "HearsayCollectorDown": "The collector {collector} does not answer",
                "HearsayHealthzFails": "{proxy}/healthz does not answer through its public address",
            },
        ),
    ],
)
def test_a_part_that_is_killed_fires_the_alert_that_names_it_until_it_is_back(
    deployment: Deployment, prometheus: int, part: str, expected: dict[str, str]
) -> None:
    names = {
        "collector": f"127.0.0.1:{deployment.metrics}",
        "relay": f"127.0.0.1:{deployment.relay_metrics}",
        "proxy": deployment.url("proxy"),
    }

    def wait_for_alerts(wanted: dict[str, str]) -> None:
        try:
            wait_until(lambda: at_once(prometheus) == wanted)
        except TimeoutError:
            assert at_once(prometheus) == wanted

    wait_for_alerts({})
    deployment.kill(part)
    wait_for_alerts({name: summary.format(**names) for name, summary in expected.items()})
    deployment.start(part)
    wait_for_alerts({})
