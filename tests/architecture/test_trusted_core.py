"""The trusted core: what a reviewer reads to believe that answers are protected and paid for.

`trusted_core.toml` lists its modules. No other module sees an answer, coins, the ledger, a charge
or a report, and beside hostile modules the ledger and the wire stay lawful.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.report import Report
from tests.support.core import hostile
from tests.support.core.hostile import Life
from tests.support.mutants.promises import ROOT, WrongProduct, environment
from tools import trusted_core

PATIENCE_S = 30.0
"""A hostile module may make a device hang; it is killed then, and must be lawful all the same."""

ON_THE_WAY_S = 1.0
"""A request that had begun before the user opted out may arrive a little later."""

PATHS = [(True, 0), (False, 0), (False, 1)]
"""All courses of a report's coins: whether it says the truth, and which lie it says otherwise."""


def run(module: str, *arguments: str, tree: Path | None = None) -> str:
    """Run a module in a fresh process, of a wrong product if there is a tree of one."""
    command = [sys.executable, "-m", module, *arguments]
    options = {"cwd": tree or ROOT, "env": environment(tree or ROOT)}
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S, **options).stdout  # type: ignore[call-overload,no-any-return] # as they are


@cache
def seen(tree: Path | None = None) -> dict[str, list[str]]:
    """Return what each module that ran has seen."""
    modules: dict[str, list[str]] = json.loads(run("tests.support.core.tracing", tree=tree))
    return modules


def beyond(modules: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return what modules outside the core have seen."""
    core = trusted_core.listed()
    return {module: kinds for module, kinds in modules.items() if kinds and module not in core}


class Request(NamedTuple):
    """What the collector received, and which charges were in the ledger by then."""

    at_s: float
    reports: tuple[Report, ...]
    charged: frozenset[tuple[str, str, str]]

    @property
    def is_wiped(self) -> bool:
        """Whether the user had opted out by then, which leaves a sum of past charges."""
        return any(not metric for metric, _, _ in self.charged)


class Collector(ThreadingHTTPServer):
    """Takes everything, and looks at the ledger before it answers."""

    def __init__(self, ledger: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.ledger = ledger
        self.requests: list[Request] = []
        self.lock = Lock()

    def take(self, body: bytes) -> bytes:
        """Note an upload and return the verdict."""
        reports = read_upload(body).reports
        with self.lock:
            rows = read(self.ledger, "SELECT metric, edition, window FROM charges")
            self.requests.append(Request(time.time(), reports, frozenset(rows)))
        return b'{"accepted":%d,"refused":[]}' % len(reports)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        answer = self.server.take(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def collecting(ledger: Path) -> Iterator[Collector]:
    with Collector(ledger) as collector:
        thread = Thread(target=collector.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def read(ledger: Path, query: str) -> list[tuple[str, str, str]]:
    if not ledger.exists():
        return []
    with closing(sqlite3.connect(f"{ledger.as_uri()}?mode=ro", uri=True, timeout=5)) as connection:
        return connection.execute(query).fetchall()


class Outcome(NamedTuple):
    """What became of a hostile device."""

    life: Life
    requests: list[Request]
    misbehaved: dict[str, int]

    def faults(self) -> Iterator[str]:
        """Yield every way in which its ledger or what it sent is unlawful."""
        folder = Path(self.life.folder)
        yield from self._on_the_wire()
        if (folder / hostile.WRONG_COIN).exists():
            yield f"a coin that no mechanism asks for: {(folder / hostile.WRONG_COIN).read_text()}"
        if (folder / hostile.FORGOTTEN).exists():
            forgotten_s = float((folder / hostile.FORGOTTEN).read_text())
            if any(request.at_s > forgotten_s + ON_THE_WAY_S for request in self.requests):
                yield "sent after opting out"
        yield from self._in_the_ledger(folder / hostile.LEDGER)

    def _on_the_wire(self) -> Iterator[str]:
        symbols, _ = hostile.symbols(keeps=self.life.keeps, lie=self.life.lie)
        sent = defaultdict[tuple[str, str], set[int]](set)
        for request in self.requests:
            for report in request.reports:
                sent[report.metric, report.window].add(report.symbol)
                if report[:3] not in request.charged and not request.is_wiped:
                    yield f"sent before it was charged: {report}"
        for (metric, window), each in sent.items():
            if len(each) > 1:
                yield f"several reports of {metric} in {window}"
            if each != {symbols[metric]}:
                yield f"{metric} in {window} says {each}, and by its coins it says {symbols[metric]}"
        if self.requests and not self.life.agrees:
            yield "sent without consent"

    def _in_the_ledger(self, ledger: Path) -> Iterator[str]:
        budget = Registry.parse(hostile.REGISTRY).budget
        by_day = defaultdict[str, int](int)
        wiped = 0
        for metric, day, nanos in read(ledger, "SELECT metric, first_day, nanos FROM charges"):
            if metric:
                by_day[day] += int(nanos)
            else:  # a sum over several days
                wiped += int(nanos)
        if any(nanos > budget.per_window_nanos for nanos in by_day.values()):
            yield f"more is spent in a day than the ceiling: {dict(by_day)}"
        if wiped + sum(by_day.values()) > budget.lifetime_nanos:
            yield f"more is spent than the ceiling: {dict(by_day)}"
        if by_day and not self.life.agrees:
            yield "charged without consent"
        keys = "SELECT metric, edition, window FROM"
        if set(read(ledger, f"{keys} queue")) - set(read(ledger, f"{keys} charges")):
            yield "queued without a charge"


def lived(life: Life, tree: Path | None = None) -> Outcome:
    """Let a hostile device live; return what became of it."""
    folder = Path(life.folder)
    folder.mkdir()
    with collecting(folder / hostile.LEDGER) as collector:
        life = life._replace(collector=f"http://127.0.0.1:{collector.server_port}")
        try:
            printed = run("tests.support.core.hostile", json.dumps(life._asdict()), tree=tree)
        except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
            printed = "{}"
        return Outcome(life, collector.requests, json.loads(printed))


def lives(
    folder: Path, seeds: range, *, hostility: float = 0.06, agrees: bool = True, forgets: bool = False
) -> Iterator[Life]:
    for seed in seeds:
        for keeps, lie in PATHS:
            _, asked = hostile.symbols(keeps=keeps, lie=lie)
            name = str(folder / f"{seed}-{keeps}-{lie}")
            yield Life(seed, hostility, keeps, lie, tuple(asked), agrees, forgets, "", name)


def all_lived(each: Iterator[Life], tree: Path | None = None) -> list[Outcome]:
    """Let several hostile devices live at a time: mostly they wait."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(partial(lived, tree=tree), each))


def faults_of(outcomes: list[Outcome]) -> list[str]:
    return [fault for outcome in outcomes for fault in outcome.faults()]


COMPUTES = {f"protocol/{name}.py" for name in ("channel", "epsilon", "kinds/boolean", "window")}
"""What the core computes with. Most of it runs when the registry is read. A boolean's own module
sees True or False, which no trace can tell from other truth values."""

MOST_PATIENT = 100
"""Fewer misbehaviors in all lives show nothing."""

TELEMETRY, SCHEDULE = "client_sdk/telemetry.py", "client_sdk/answers/schedule.py"

LEAKS = {
    "answer": WrongProduct(
        TELEMETRY,
        "        encode = partial(self._encode, definition, value)\n",
        "        encode = partial(self._encode, definition, value)\n        per_process.let_go(value)\n",
        (),
    ),
    "coins": WrongProduct(
        TELEMETRY,
        "        self._coins = coins\n",
        "        self._coins = coins\n        per_process.let_go(coins)  # type: ignore[arg-type]\n",
        (),
    ),
    "ledger": WrongProduct(
        SCHEDULE,
        "        self.agreement.learn_former(connection)\n",
        "        self.agreement.learn_former(connection)\n        from client_sdk import per_process\n"
        "        per_process.let_go(connection)\n",
        (),
    ),
}
"""By what is seen: products in which `per_process.py` sees it."""

BROKEN = {
    "the answer itself is sent": (
        WrongProduct(
            "client_sdk/protocol/metric.py",
            "return channel.perturb(encode(coins), coins)",
            "return int(encode(coins))",
            (),
        ),
        True,
        "by its coins it says",
    ),
    "a coin is not the declared one": (
        WrongProduct(
            "client_sdk/protocol/mechanisms/randomized_response.py",
            "coins.bernoulli(self.keep_numerator)",
            "coins.bernoulli(self.keep_numerator + 1)",
            (),
        ),
        True,
        "a coin that no mechanism asks for",
    ),
    "no ceiling is enforced": (
        WrongProduct("client_sdk/ledger/charges.py", "    if allowed:\n", "    if allowed := True:\n", ()),
        True,
        "more is spent",
    ),
    "a report is queued without a charge": (
        WrongProduct(
            "client_sdk/answers/reporting.py",
            "    if slot is None and not charges.charge(",
            "    if slot is not None and not charges.charge(",
            (),
        ),
        True,
        "sent before it was charged",
    ),
    "a window gets another report": (
        WrongProduct(
            "client_sdk/answers/reporting.py",
            "    if slot in (Slot.REPORTED, Slot.AWAITED):\n",
            "    if not key:\n",
            (),
        ),
        True,
        "several reports of",
    ),
    "a refusal counts as consent": (
        WrongProduct("client_sdk/answers/consent.py", "        return value\n", "        return True\n", ()),
        False,
        "without consent",
    ),
}
"""Products with a wrong core: what is wrong, whether the user agrees, and a fault that shows."""


@pytest.mark.slow
def test_no_module_outside_the_core_sees_an_answer_coins_the_ledger_a_charge_or_a_report() -> None:
    modules = seen()
    assert beyond(modules) == {}, "move this out of the module, or list it in trusted_core.toml and say what it holds"
    assert {kind for kinds in modules.values() for kind in kinds} == {"answer", "coins", "ledger", "charge", "report"}


@pytest.mark.slow
def test_the_core_has_no_module_that_it_does_not_need() -> None:
    seeing = {module for module, kinds in seen().items() if kinds}
    assert trusted_core.listed().keys() - seeing == COMPUTES


def test_the_core_is_no_longer_than_it_was() -> None:
    total = sum(map(trusted_core.lines_of, trusted_core.listed()))
    assert total <= trusted_core.most_lines()


def test_the_page_shows_the_core_as_it_is() -> None:
    page = trusted_core.PAGE.read_text(encoding="utf-8")
    assert page == trusted_core.page(), "run: python -m tools.trusted_core"
    section = page.partition("\n## The trusted core\n")[2].partition("\n## ")[0]
    assert trusted_core.TABLE.search(section)
    assert len(section.splitlines()) <= 65


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAKS)
def test_a_module_outside_that_starts_to_see_one_of_them_is_named(tmp_path: Path, name: str) -> None:
    LEAKS[name].plant(tmp_path)
    assert beyond(seen(tmp_path)) == {"per_process.py": [name]}


@pytest.mark.long
def test_beside_hostile_modules_the_ledger_and_the_wire_stay_lawful(tmp_path: Path) -> None:
    outcomes = all_lived(lives(tmp_path, range(4)))
    assert faults_of(outcomes) == []
    sent = {
        (report.metric, report.window)
        for outcome in outcomes
        for request in outcome.requests
        for report in request.reports
    }
    assert {metric for metric, _ in sent} == set(hostile.ANSWERS), "hardly anything gets through: nothing is shown"
    assert len({window for _, window in sent}) > 1
    hostile_modules = {module for outcome in outcomes for module in outcome.misbehaved}
    assert seen().keys() - trusted_core.listed().keys() <= hostile_modules
    assert sum(sum(outcome.misbehaved.values()) for outcome in outcomes) > MOST_PATIENT


@pytest.mark.long
def test_beside_hostile_modules_nothing_is_charged_or_sent_without_consent(tmp_path: Path) -> None:
    assert faults_of(all_lived(lives(tmp_path, range(2), agrees=False))) == []


@pytest.mark.long
def test_beside_hostile_modules_nothing_is_sent_after_opting_out(tmp_path: Path) -> None:
    outcomes = all_lived(lives(tmp_path, range(3), forgets=True))
    assert faults_of(outcomes) == []
    assert any((Path(outcome.life.folder) / hostile.FORGOTTEN).exists() for outcome in outcomes)


@pytest.mark.long
@pytest.mark.parametrize("name", BROKEN)
def test_a_core_that_is_broken_is_refused(tmp_path: Path, name: str) -> None:
    (tree := tmp_path / "tree").mkdir()
    product, agrees, says = BROKEN[name]
    product.plant(tree)
    batches = (
        all_lived(lives(tmp_path, range(seed, seed + 1), hostility=0.01, agrees=agrees), tree) for seed in range(5)
    )
    assert any(says in fault for outcomes in batches for fault in faults_of(outcomes))
