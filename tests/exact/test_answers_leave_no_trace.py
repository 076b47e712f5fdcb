"""No true answer on disk, in a log or on the wire: two devices with different answers whose coins
make both draw the same symbols leave the same bytes everywhere, after each step of their lives.
"""

from __future__ import annotations

import contextlib
import os
import random
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from client_sdk import Registry
from client_sdk.answers.provider import Provider
from client_sdk.protocol import Metric, Refusal, RegistryError, kinds
from client_sdk.protocol.kinds.number import Count
from client_sdk.protocol.mechanisms import catalogue
from client_sdk.results import Consent
from estimator.audit.run import extremes
from tests.support.devices.clients import DAY_S, NOON, Answer, accept, nothing, problem, refuse, status
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    GAUSSIAN,
    MEAN_BY_GROUP,
    MODEL,
    NEAREST,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    USEFUL,
    VECTOR,
    Field,
    Toml,
    registry_text,
)
from tests.support.devices.twins import Step, Twin, Way, differ
from tests.support.mutants.leaks import LEAK_MUTANTS

LARGE = CATEGORY | {"values": [f"value {number}" for number in range(40)], "epsilon": 3}
SPREAD = NUMBER | {"statistic": "distribution"}
PERMANENT_FIELDS: dict[str, Field] = {"permanent_epsilon": 2}

KINDS: dict[str, dict[str, Field]] = {
    "dark_mode": BOOLEAN,
    "os": CATEGORY,
    "cyclic": LARGE | {"mechanism": "cyclic-design"},
    "projective": LARGE | {"mechanism": "projective-geometry"},
    "balanced": CATEGORY | {"values": list("abcdefg"), "mechanism": "balanced-design"},
    "k_ary": LARGE | {"mechanism": "k-ary-randomized-response"},
    "mood": ORDINAL,
    "mood_on_average": CATEGORY | {"kind": "ordinal", "statistic": "mean"},
    "useful": USEFUL,
    "languages": SET,
    "languages_asked": SET | {"mechanism": "one-of"},
    "languages_in_pairs": SET | {"mechanism": "pair-geometry"},
    "topic": NEAREST,
    "one_bit": NUMBER | {"mechanism": "one-bit"},
    "laplace": NUMBER | {"mechanism": "laplace", "epsilon": 2},
    "gaussian": GAUSSIAN,
    "optimal": NUMBER | {"mechanism": "optimal-mean", "epsilon": 3},
    "square_wave": SPREAD | {"mechanism": "square-wave"},
    "tree": NUMBER | {"statistic": "quantiles", "mechanism": "hierarchical", "epsilon": 3},
    "startup_ms": NUMBER,
    "crashes": COUNT,
    "steps": COUNT | {"statistic": "mean", "max": 1000},
    "seen": BOOLEAN | {"fill_in": True},
    "chosen": CATEGORY | {"fill_in": True},
    "both": CROSS,
    "startup_by_os": MEAN_BY_GROUP,
    "embedding": VECTOR | {"epsilon": 4},
    "unknown_word": TEXT,
    "words": TEXT | {"max_items": 2},
    "limitation": MODEL,
    "limitation_by_feature": CROSSED_MODEL,
    "constant": BOOLEAN | PERMANENT_FIELDS,
    "constant_category": CATEGORY | PERMANENT_FIELDS,
    "constant_number": NUMBER | PERMANENT_FIELDS,
}
"""Questions of every kind and mechanism of which nothing true is on disk."""

DECLARED: dict[str, dict[str, Field]] = {
    "starts": COUNT | {"persist": True},
    "errors": COUNT | {"persist": True, "fill_in": True, "fill_value": 0, "statistic": "mean"},
    "used": ACTIVITY | {"fill_in": True},
    "used_too": ACTIVITY | {"fill_in": True},
}
"""Questions of which something true is on disk, as declared."""

ALL = KINDS | DECLARED
PURPOSES = ("u", "w")
CONSENTS: tuple[Consent, ...] = (True, True, frozenset({"u"}), frozenset({"u", "w"}))
BUDGET = "per_window = 20\nlifetime = 400\n"
COMPANIONS = {"both": ("dark_mode", "os"), "startup_by_os": ("os", "startup_ms"), "used": ("used_too",)}
"""Questions that only make sense beside others."""

COLLECTORS: tuple[tuple[Answer, ...], ...] = (
    (accept,),
    (accept,),
    (nothing, accept),
    (status(503, "40"), accept),
    (status(429), nothing, accept),
    (problem(400), accept),
    (refuse(Refusal.UNKNOWN_EDITION), accept),
    (refuse(Refusal.WINDOW_CLOSED), accept),
)
WAITS_S = (1.0, 70.0, 3600.0, DAY_S / 2.0, DAY_S, DAY_S, DAY_S, 4 * DAY_S, 9 * DAY_S, -3600.0, -2.0 * DAY_S)
OFTEN = (9, 3, 2, 4, 3, 1, 2, 2, 1, 1)
"""How often each step is taken, in the order of `history`."""

HISTORIES, STEPS, VERSIONS = 6, 22, 3
ERRORS = {"UnknownMetricError", "OutsideDomainError", "ClockError", "LedgerError"}
"""What a host's mistakes, and a clock that was set back, may raise."""

SENDERS = ("thread", "process")
PERMANENT = {name for name, fields in ALL.items() if "permanent_epsilon" in fields}
OF_DECLARED = {"days of use in a file"}
"""Mutants that leak what the ledger may hold."""


def registry_of(names: Sequence[str], budget: str = BUDGET, **changes: dict[str, Field]) -> Registry:
    """Return a registry of some of the questions, and of those that they need."""
    needed = dict.fromkeys(other for name in names for other in (*COMPANIONS.get(name, ()), name))
    return Registry.parse(
        registry_text(**{name: ALL[name] | changes.get(name, {}) for name in needed}).replace(BUDGET, budget)
    )


MEMORY = "/dev/shm"  # noqa: S108 folders with random names are made in it


@cache
def fastest() -> str | None:
    """Return the folder in memory if there is one whose files can have attributes, or None.

    A device writes hundreds of times, for which a disk takes a third more processor time.
    """
    try:
        with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
            os.setxattr(folder, "user.is_kept", b"")
    except OSError:
        return None
    return MEMORY


@pytest.fixture
def world() -> Iterator[Path]:
    """The path of a world."""
    with tempfile.TemporaryDirectory(dir=fastest()) as folder:
        yield Path(folder) / "world"


EVERYTHING = registry_of(tuple(ALL), "per_window = 900\nlifetime = 90000\n")


def answers_of(name: str) -> list[object]:
    """Return answers to a question."""
    metric = EVERYTHING.metric(name)
    return [answer.value for answer in extremes(metric)]


def life(name: str) -> list[Step]:
    """Return a short life in which every question of a kind is answered differently."""
    first, *_, last = answers_of(name)
    if isinstance(EVERYTHING.metric(name).kind, Count):
        return [("count", (name, (1, 7))), ("wait", (DAY_S,)), ("flush", ()), ("wait", (DAY_S,))]
    return [
        ("record", (name, (first, last))),
        ("flush", ()),
        ("wait", (DAY_S,)),
        ("record", (name, (last, first))),
        ("wait", (70.0,)),
        ("look", ()),
        ("restart", (True, 0)),
        ("wait", (DAY_S,)),
        ("flush", ()),
    ]


@pytest.mark.parametrize("name", KINDS)
def test_two_answers_of_any_kind_that_are_reported_alike_leave_the_same_bytes(name: str, world: Path) -> None:
    where, twin = differ(world, [registry_of([name])], life(name))
    assert where is None
    assert twin.seen[-1]["uploads"]
    assert {seen["printed"] for seen in twin.seen} == {b""}


@pytest.mark.parametrize("name", ["dark_mode", "startup_ms", "crashes", "constant"])
def test_a_trial_differs_in_what_it_prints_and_in_nothing_else(name: str, world: Path) -> None:
    where, twin = differ(world, [registry_of([name])], life(name), trial=True)
    assert where is None
    assert twin.seen[-1]["uploads"]
    first = answers_of(name)[0] if name != "crashes" else 1
    assert f"hearsay trial: {name}: {str(first).lower()} " in str([seen["printed"] for seen in twin.seen])


def test_the_kinds_and_mechanisms_are_all_there() -> None:
    channels = {metric.channel.name.removeprefix("permanent ") for metric in EVERYTHING.metrics.values()}
    assert channels >= set(catalogue.NAMES) - {catalogue.AUTO}
    pairs_and_models = {"cross", "mean-by-group", "model-of-crosses"}
    assert {metric.kind.name for metric in EVERYTHING.metrics.values()} == set(kinds.KINDS) | pairs_and_models
    assert {name for name, metric in EVERYTHING.metrics.items() if is_declared(metric)} == set(DECLARED)


def is_declared(metric: Metric) -> bool:
    """Whether a question leaves on disk what is declared."""
    return metric.persist or metric.kind.call == "active"


def versions(rng: random.Random, *, declared: bool) -> list[Registry]:
    """Return three versions of an app: questions come, go, and change their epsilon."""
    names = rng.sample(sorted(KINDS), 5)
    purposes: dict[str, dict[str, Field]] = {
        name: {"consent": rng.choice(PURPOSES)} for name in names if rng.random() < 1 / 2
    }
    registries: list[Registry] = []
    while len(registries) < VERSIONS:
        strategy = "split" if declared or not registries else rng.choice(["split", "split", "sample", "pace"])
        budget = rng.choice([BUDGET, "per_window = 90\nlifetime = 900\n"]) + f'strategy = "{strategy}"\n'
        budget += "answers = 2\n" if strategy == "sample" else ""
        changes: dict[str, dict[str, Field]] = {}
        for name in KINDS:
            changes[name] = dict(purposes.get(name, {}))
            changes[name] |= {"epsilon": 4.5} if rng.random() < 1 / 4 and name not in PERMANENT else {}
            changes[name] |= {"expires": Toml("2027-06-30")} if strategy == "pace" else {}
        with contextlib.suppress(RegistryError):  # no ceiling allows it
            chosen = [*rng.sample(names, rng.randrange(3, len(names) + 1)), *(DECLARED if declared else ())]
            registries.append(registry_of(chosen, budget, **changes))
    return registries


def history(rng: random.Random, registries: Sequence[Registry], *, declared: bool) -> list[Step]:
    """Return a life of an app in these versions; its user answers the questions of all of them.

    Twins with other days of use agree to everything for good. A day of use before the next window
    begins is of no report, and yet randomized: each twin would do so for its own question.
    """
    consents = (True,) if declared else CONSENTS
    names = sorted({name for registry in registries for name in registry.metrics} - {"used", "used_too"})
    counts = [name for name in names if EVERYTHING.metric(name).kind.name == "count"]
    methods: dict[str, Callable[[], tuple[Any, ...]]] = {
        "record": lambda: (name := rng.choice(names), tuple(rng.choices(answers_of(name), k=2))),
        "count": lambda: (rng.choice(counts or names), (rng.randrange(9), rng.randrange(9))),
        "active": lambda: (("used", "used_too") if declared else ("used", "used"),),
        "wait": lambda: (rng.choice(WAITS_S),),
        "restart": lambda: (rng.choice(consents), rng.randrange(VERSIONS)),
        "agree": lambda: (rng.choice(consents),),
        "receive": lambda: rng.choice(COLLECTORS),
        "flush": tuple,
        "look": tuple,
        "forget": tuple,
    }
    steps: list[Step] = []
    often = [0 if declared and name == "forget" else number for name, number in zip(methods, OFTEN, strict=True)]
    for name in rng.choices([*methods], often, k=STEPS):
        steps.append((name, methods[name]()))
        steps += [("restart", (True, rng.randrange(VERSIONS)))] if name == "forget" else []
    last = [name for name, metric in registries[0].metrics.items() if metric.kind.call == "record"]
    steps += [("receive", (accept,)), ("wait", (9.0 * DAY_S,)), ("restart", (True, 0))]
    steps += [("record", (name, tuple(rng.choices(answers_of(name), k=2)))) for name in last]
    return [*steps, ("flush", ()), ("wait", (DAY_S,)), ("flush", ())]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES))
def test_over_random_histories_different_answers_that_are_reported_alike_leave_the_same_bytes(
    seed: int, world: Path
) -> None:
    rng = random.Random(seed)  # noqa: S311 a test's
    registries = versions(rng, declared=False)
    steps = history(rng, registries, declared=False)
    where, twin = differ(world, registries, steps, sender=SENDERS[seed % 2])
    assert where is None
    assert twin.seen[-1]["uploads"]
    assert twin.errors <= ERRORS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(HISTORIES, 3 * HISTORIES // 2))
def test_of_running_counts_and_days_of_use_all_but_the_declared_columns_is_the_same(seed: int, world: Path) -> None:
    rng = random.Random(seed)  # noqa: S311 a test's
    registries = versions(rng, declared=True)
    steps = history(rng, registries, declared=True)
    where, twin = differ(world, registries, steps, sender=SENDERS[seed % 2], is_declared=True)
    assert where is None
    assert twin.seen[-1]["uploads"]


def returns(answer: object) -> Way:
    """Return a function that an app provides, which returns an answer."""
    return lambda _: answer


def raises(_: threading.Event) -> object:
    raise ValueError("a canary")


def is_slow(over: threading.Event) -> object:
    assert over.wait(60)
    return True


WAYS: tuple[Way, ...] = (returns(True), returns(False), returns(None), returns("a canary"), raises, is_slow)  # noqa: FBT003 answers
PROVIDED = {"dark_mode": {}, "seen": {}, "constant": {}, "sound": {"fill_in": True, "permanent_epsilon": 2}}
"""Questions about a state: plain, filled in, permanent, and both."""


def provided_lives(rng: random.Random) -> tuple[list[Registry], list[Step]]:
    """Return versions of an app that provides functions, and a life in them."""
    registries = []
    for strategy in ("split", rng.choice(["sample", "pace"]), "split"):
        budget = f'per_window = 20\nlifetime = 400\nstrategy = "{strategy}"\n'
        budget += "answers = 2\n" if strategy == "sample" else ""
        ends: dict[str, Field] = {"expires": Toml("2027-06-30")} if strategy == "pace" else {}
        chosen = rng.sample(sorted(PROVIDED), 3)
        tables = {name: ALL.get(name, BOOLEAN) | PROVIDED[name] | ends for name in chosen}
        registries.append(Registry.parse(registry_text(**tables).replace(BUDGET, budget)))
    steps: list[Step] = []
    for _ in range(14):
        name = rng.choice([*PROVIDED])
        steps.append(
            rng.choice(
                [
                    ("provide", (name, tuple(rng.sample(WAYS, 2)))),
                    ("provide_briefly", (name, tuple(rng.sample(WAYS, 2)))),
                    ("wait", (rng.choice(WAITS_S),)),
                    ("wait", (float(DAY_S),)),
                    ("record", (name, (True, False))),
                    ("flush", ()),
                    ("restart", (True, rng.randrange(len(registries)))),
                    ("agree", (True,)),
                    ("receive", rng.choice(COLLECTORS)),
                ]
            )
        )
    end: list[Step] = [("receive", (accept,)), ("restart", (True, 0))]
    end += [("provide", (name, (returns(True), raises))) for name in registries[0].metrics]  # noqa: FBT003 an answer
    return registries, [*steps, *end, ("wait", (9.0 * DAY_S,)), ("flush", ()), ("wait", (float(DAY_S),)), ("flush", ())]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2 * HISTORIES // 3))
def test_whatever_a_provided_function_does_the_same_bytes_are_written_and_sent_at_the_same_times(
    seed: int, world: Path
) -> None:
    registries, steps = provided_lives(random.Random(seed))  # noqa: S311 a test's
    # the log names the types of errors, and a random answer takes one coin more
    apart_from = ("log", "coins")
    where, twin = differ(world, registries, steps, sender=SENDERS[seed % 2], apart_from=apart_from)
    assert where is None
    assert twin.seen[-1]["uploads"]
    assert twin.errors <= ERRORS


def nothing_stays_of_a_call_that_failed(patch: pytest.MonkeyPatch) -> None:
    right = Provider._replace

    def replace(self: Provider, connection: Any, definition: Metric, call: Any) -> None:
        if call.randomized is not None:
            right(self, connection, definition, call)

    patch.setattr(Provider, "_replace", replace)


def what_is_returned_is_stored_at_once(patch: pytest.MonkeyPatch) -> None:
    right = Provider._run

    def run(self: Provider, each: Any, function: Callable[[], object], call: Any) -> None:
        right(self, each, function, call)
        if call.randomized is not None:
            self._conclude(each)

    patch.setattr(Provider, "_run", run)


def the_report_of_a_call_that_failed_is_dropped(patch: pytest.MonkeyPatch) -> None:
    right = Provider._replace

    def replace(self: Provider, connection: Any, definition: Metric, call: Any) -> None:
        right(self, connection, definition, call)
        if call.randomized is None:
            connection.execute("DELETE FROM queue WHERE metric = ? AND edition = ? AND window = ?", call.key)

    patch.setattr(Provider, "_replace", replace)


def a_report_is_charged_when_its_answer_is_there(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Provider, "_claim", lambda _, definition, __: (definition.name, definition.edition, "2026-11-20"))
    patch.setattr(
        Provider,
        "_replace",
        lambda self, connection, definition, call: self._schedule.record(connection, NOON, definition, call.randomized),
    )


PROVIDER_MUTANTS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    mutant.__name__: mutant
    for mutant in (
        nothing_stays_of_a_call_that_failed,
        what_is_returned_is_stored_at_once,
        the_report_of_a_call_that_failed_is_dropped,
        a_report_is_charged_when_its_answer_is_there,
    )
}


def provided_life(folder: Path) -> str | None:
    """Return where two devices differ: the functions of one return, those of the other fail."""
    steps: list[Step] = [
        step
        for way in (raises, is_slow)
        for step in [("provide", ("dark_mode", (returns(True), way))), ("flush", ()), ("wait", (DAY_S,))]  # noqa: FBT003 an answer
    ]
    return differ(folder, [registry_of(["dark_mode"])], steps, apart_from=("log", "coins"))[0]


def test_the_right_provider_leaves_no_trace_in_the_life_that_reveals_the_mutants(world: Path) -> None:
    assert provided_life(world) is None


@pytest.mark.parametrize("name", PROVIDER_MUTANTS)
def test_a_provider_that_shows_what_a_function_did_is_seen(
    name: str, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    PROVIDER_MUTANTS[name](monkeypatch)
    assert provided_life(world) is not None


LEAKING: list[Step] = [
    ("record", ("os", ("b", "a"))),
    ("record", ("dark_mode", (True, False))),
    ("count", ("crashes", (2, 5))),
    ("active", (("used", "used_too"),)),
    ("wait", (70.0,)),
    *(step for _ in range(3) for step in [("wait", (DAY_S,)), ("record", ("os", ("a", "b")))]),
    ("record", ("mood", ("c", "b"))),
    ("end", ()),
    ("start", (True, 0)),
]
"""A life that gives every mutant what it leaks."""

FIRST_STEPS = 2


def lives(folder: Path, *, declared: bool, most: int | None = None) -> tuple[str | None, Twin]:
    """Return where two devices of the SDK, as it is now, differ after a life, and the first one.

    Args:
        folder: where they live.
        declared: whether they also differ in what the ledger may hold.
        most: the number of steps after which the life ends.

    """
    steps = (LEAKING if declared else [step for step in LEAKING if step[0] != "active"])[:most]
    names = ["os", "dark_mode", "crashes", "mood", "used"]
    return differ(folder, [registry_of(names)], steps, sender="process", is_declared=declared)


@pytest.mark.parametrize("declared", [False, True])
def test_the_right_sdk_leaves_no_trace_in_the_life_that_reveals_the_mutants(world: Path, *, declared: bool) -> None:
    assert lives(world, declared=False, most=FIRST_STEPS)[0] is None
    where, twin = lives(world, declared=declared)
    assert where is None
    assert twin.errors == set()
    (helper,) = twin.helpers
    assert helper["job"]["app"] == "acme"


@pytest.mark.slow
@pytest.mark.parametrize("name", LEAK_MUTANTS)
def test_an_sdk_that_leaks_an_answer_is_seen(name: str, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        LEAK_MUTANTS[name](patch)
        where, _ = lives(world, declared=False, most=FIRST_STEPS)  # enough for most of them
        if where is None:
            where, _ = lives(world, declared=name in OF_DECLARED)
    assert where is not None


def test_the_list_of_mutants_is_not_empty() -> None:
    assert len(LEAK_MUTANTS) > 30
    assert LEAK_MUTANTS.keys() > OF_DECLARED
