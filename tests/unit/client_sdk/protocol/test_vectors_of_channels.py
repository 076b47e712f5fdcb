"""This implementation agrees with the language-neutral vectors of channels and editions."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from client_sdk.protocol import COIN_SCALE, Registry
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.cross import Cross, MeanByGroup
from client_sdk.protocol.kinds.nearest import Nearest
from client_sdk.protocol.kinds.number import Activity, Count, Number
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms import AUTO, NAMES
from client_sdk.protocol.mechanisms.crosses import Crosses
from client_sdk.protocol.mechanisms.optimal_mean import STEPS, TABLES
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes, rotated, shifted, signs
from client_sdk.protocol.model import CrossedModel, Model
from client_sdk.protocol.registry.registry import in_trial
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import Vector
from tests.support.core.tables import for_each
from tests.support.laws.channels import channel_of, integers_of
from tests.support.laws.coins import ScriptedCoins
from tests.support.laws.steps import steps_of
from tests.support.vectors import vectors

COINS = vectors("coins")
EDITIONS = vectors("editions")
MODELS, ROTATIONS = vectors("model"), vectors("vector")


def texts(integers: Mapping[str, int | tuple[int, ...]]) -> dict[str, str | list[str]]:
    """Return the integers of a channel as the vectors hold them."""
    return {
        name: [str(i) for i in value] if isinstance(value, tuple) else str(value) for name, value in integers.items()
    }


def scripted(coins: list[Any]) -> ScriptedCoins:
    return ScriptedCoins([int(coin) if isinstance(coin, str) else coin for coin in coins])


def requests_to(coins: ScriptedCoins) -> list[list[str]]:
    return [[primitive, str(parameter)] for primitive, parameter in coins.requests]


def agree(perturb: Callable[[Any, ScriptedCoins], int], cases: list[dict[str, Any]], given: str = "answer") -> None:
    """Check that what is given becomes each case's symbol, by the coins that the case asks for."""
    for case in cases:
        with scripted(case["coins"]) as coins:
            assert perturb(case[given], coins) == case["symbol"]
        assert requests_to(coins) == case["asked"]


@for_each("vector", COINS["channels"])
def test_a_channel_turns_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = channel_of(vector)
    assert texts(channel.integers) == vector["integers"]
    agree(channel.perturb, vector["cases"], "input")


@for_each("vector", COINS["answers"])
def test_a_metric_turns_an_answer_and_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    agree(lambda answer, coins: metric.perturb(Decimal(answer), coins), vector["cases"])


def test_the_scripts_of_the_channels_reach_every_possible_symbol_from_every_input() -> None:
    for vector in COINS["channels"]:
        channel = channel_of(vector)
        reached = {(case["input"], case["symbol"]) for case in vector["cases"]}
        pairs = product(range(vector["inputs"]), range(channel.symbols))
        assert reached == {(value, symbol) for value, symbol in pairs if channel.probability(symbol, value)}


@for_each("vector", [*COINS["kinds"], *vectors("text")["metrics"]])
def test_a_metric_of_any_kind_turns_an_answer_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    agree(metric.perturb, vector["cases"])


def test_the_vectors_cover_every_mechanism_and_every_kind() -> None:
    mechanisms = set(NAMES) - {AUTO}
    channels = [*COINS["channels"], *ROTATIONS["channels"], *MODELS["channels"], vectors("text")]
    of_sets = {Registry.parse(vector["definition"]).metric(vector["metric"]).channel.name for vector in COINS["kinds"]}
    assert {vector["mechanism"] for vector in channels} | of_sets & {"one-of", "pair-geometry"} == mechanisms
    assert {vector["mechanism"] for vector in EDITIONS} == mechanisms
    domains = (Boolean, Category, Ordinal, Subset, Cross, MeanByGroup, Number, Count, Activity, Nearest, Vector, Text)
    kinds = {kind.name for kind in (*domains, Model, CrossedModel)}
    assert {json.loads(vector["meaning"])["kind"] for vector in EDITIONS} == kinds


@for_each("vector", EDITIONS)
def test_a_definition_has_the_edition_mechanism_integers_and_charge_of_the_vector(vector: dict[str, Any]) -> None:
    registry = Registry.parse(vector["definition"])
    metric = (in_trial(registry) if vector.get("trial") else registry).metric(vector["metric"])
    assert metric.edition == vector["edition"]
    assert metric.channel.name == vector["mechanism"]
    assert metric.channel.symbols == vector["symbols"]
    assert texts(metric.channel.integers) == vector["integers"]
    assert str(metric.epsilon_nanos) == vector["epsilon_nanos"]
    assert str(metric.delta) == vector.get("delta", "0")


@for_each("vector", EDITIONS)
def test_the_edition_of_a_vector_is_the_digest_of_its_meaning(vector: dict[str, Any]) -> None:
    assert hashlib.sha256(vector["meaning"].encode("ascii")).hexdigest()[:12] == vector["edition"]
    integers = json.loads(vector["meaning"])["integers"]
    assert (
        texts({name: tuple(value) if isinstance(value, list) else value for name, value in integers.items()})
        == vector["integers"]
    )


KEEPING = [vector for vector in EDITIONS if "keep_numerator" in vector["integers"]]
BANDS = [vector for vector in EDITIONS if {"heavy", "inputs"} <= vector["integers"].keys()]


def odds_of(vector: dict[str, Any]) -> Decimal:
    """Return e^epsilon as the definition asks for it, at the precision of the context."""
    table = vector["definition"].partition(f"[metric.{vector['metric']}]")[2]
    line = next(line for line in table.splitlines() if line.startswith("epsilon"))
    raw = line.partition("= ")[2].strip('"')
    return Decimal(raw.removeprefix("ln ")) if raw.startswith("ln ") else Decimal(raw).exp()


@for_each("vector", KEEPING)
def test_the_keep_numerator_of_a_vector_follows_from_the_formula_at_100_digits(vector: dict[str, Any]) -> None:
    """floor(2^64 · E s / (E s + m - s)), E = e^epsilon, s of m symbols or values supported.

    Of a set with all n members favored E is 1 + n (e^epsilon - 1), and what is charged is epsilon.
    """
    total, size, drawn = vector["symbols"], 1, 1
    if vector["mechanism"] == "k-ary-randomized-response":
        drawn = int(vector["integers"].get("drawn", 1))
    if vector["mechanism"] == "one-of":
        total = 2
    if vector["mechanism"] == "cyclic-design":
        total, size = (int(vector["integers"][name]) for name in ("inputs", "block_size"))
    if vector["mechanism"] == "balanced-design":
        total, size = (int(vector["integers"][name]) for name in ("points", "block_size"))
    if vector["mechanism"] == "rotated-axes":
        total, size = 2 * int(vector["integers"]["dimension"]), int(vector["integers"]["favoured"])
    if vector["mechanism"] in {"projective-geometry", "grouped-geometry"}:
        prime, dimension = (int(vector["integers"][name]) for name in ("prime", "dimension"))
        size = sum(prime**power for power in range(dimension - 1))
        total = size + prime ** (dimension - 1)
    is_of_lists = vector["mechanism"] == "grouped-geometry" and "drawn" in vector["integers"]
    if vector["mechanism"] == "pair-geometry" or is_of_lists:
        prime, dimension = (int(vector["integers"][name]) for name in ("prime", "dimension"))
        assert vector["integers"]["drawn"] == "2"
        size = 2 * prime ** (dimension - 2) + sum(prime**power for power in range(dimension - 2))
    with localcontext(prec=100):
        odds = 1 + drawn * (odds_of(vector) - 1)
        keep = COIN_SCALE * odds * size / (odds * size + total - size)
        assert int(vector["integers"]["keep_numerator"]) == int(keep)
        charged = Decimal(vector["epsilon_nanos"])
        exact = (total - size) * int(keep) / Decimal(size * (COIN_SCALE - int(keep)))
        exact = 1 + (exact - 1) / drawn
        assert charged - 1 < exact.ln() * 10**9 <= charged


@for_each("vector", [edition for edition in EDITIONS if edition["mechanism"] == "hierarchical"])
def test_the_levels_of_a_tree_of_a_vector_follow_from_the_formulas_at_100_digits(vector: dict[str, Any]) -> None:
    """A level has at most 512 symbols, in v or base blocks times v.

    It has v = ceil(k / 2^i) nodes for i = L - 1..0, with d in a block: floor(2^64 · E d / (E d + v
    - d)).
    """
    integers = integers_of(vector)
    inputs, blocks, bases, keeps = (
        integers[name] for name in ("inputs", "block_sizes", "base_blocks", "keep_numerators")
    )
    sizes = [-(-inputs // 2**doublings) for doublings in reversed(range((inputs - 1).bit_length()))]
    assert vector["symbols"] == sum(base * size for base, size in zip(bases, sizes, strict=True))
    assert all(base * size <= 512 for base, size in zip(bases, sizes, strict=True))
    worst = Decimal(0)
    with localcontext(prec=100):
        odds = odds_of(vector)
        for block, keep, size in zip(blocks, keeps, sizes, strict=True):
            assert keep == int(COIN_SCALE * odds * block / (odds * block + size - block))
            worst = max(worst, (size - block) * keep / Decimal(block * (COIN_SCALE - keep)))
        charged = Decimal(vector["epsilon_nanos"])
        assert charged - 1 < worst.ln() * 10**9 <= charged


@for_each("vector", BANDS)
def test_the_band_of_a_vector_follows_from_the_formulas_at_100_digits(vector: dict[str, Any]) -> None:
    """Width by the paper; light = floor(total / (width E + k - 1)), heavy = floor(light E)."""
    integers = {name: int(integer) for name, integer in vector["integers"].items()}
    steps = integers["inputs"] - 1
    with localcontext(prec=100):
        odds = odds_of(vector)
        log = odds.ln()
        share = (log * odds - odds + 1) / (odds * (odds - 1 - log))
        light = int(COIN_SCALE / (integers["width"] * odds + steps))
        assert integers["width"] == int(steps * share + Decimal("0.5"))
        assert (integers["light"], integers["heavy"]) == (light, int(light * odds))


@for_each("vector", [edition for edition in EDITIONS if edition["mechanism"] == "optimal-mean"])
def test_the_weights_of_an_optimal_mean_follow_from_the_formulas_at_100_digits(vector: dict[str, Any]) -> None:
    """light = floor(2^64 / (width E + steps)), heavy = floor(light E).

    Bands lie between the tables around E. Beyond the last table they have its steps, and the width
    falls with the cube root of E.
    """
    integers = integers_of(vector)
    with localcontext(prec=100):
        odds = odds_of(vector)
        light = int(COIN_SCALE / (integers["width"] * odds + len(integers["steps"])))
        assert (integers["light"], integers["heavy"]) == (light, int(light * odds))
        last = TABLES[-1]
        if 1000 * odds > last.milliodds:
            width = int(last.width * (last.milliodds / (1000 * odds)) ** (Decimal(1) / 3))
            assert (integers["steps"], integers["width"]) == (last.steps, max(1, width))
            return
        at = next(at for at, each in enumerate(TABLES) if 1000 * odds <= each.milliodds)
        below, above = TABLES[max(0, at - 1)], TABLES[at]
        if (below.width, len(below.steps)) != (above.width, len(above.steps)):
            below = above
        part = (1000 * odds - below.milliodds) / max(1, above.milliodds - below.milliodds)
        between = [low + part * (high - low) for low, high in zip(below.steps, above.steps, strict=True)]
        nearest = tuple(min(STEPS, key=lambda allowed: abs(allowed - step)) for step in between)
    assert (integers["steps"], integers["width"]) == (nearest, above.width)


@for_each("vector", [edition for edition in EDITIONS if edition["mechanism"] == "gaussian"])
def test_the_weights_of_a_gaussian_vector_follow_from_the_formula_at_100_digits(vector: dict[str, Any]) -> None:
    """max(1, floor(2^46 e^(-n^2 / (2 sigma^2)))), sigma in whole eighths, n = 0..reach."""
    weights = integers_of(vector)["weights"]
    with localcontext(prec=100):
        sigma = (1 / (2 * (Decimal(weights[0]) / weights[1]).ln())).sqrt()
        eighths = Decimal(round(8 * sigma))
        formula = [2**46 * (-32 * Decimal(n) ** 2 / eighths**2).exp() for n in range(len(weights))]
    assert weights == tuple(max(1, int(weight)) for weight in formula)
    assert len(weights) - 1 == integers_of(vector)["reach"]


@for_each("vector", COINS["channels"])
def test_a_report_is_made_in_as_many_steps_whether_it_was_kept_or_is_a_lie(vector: dict[str, Any]) -> None:
    channel, steps = channel_of(vector), defaultdict(set)
    for derives_tables in (True, False):  # they are derived once, for what a symbol shows
        for case in vector["cases"]:
            taken = steps_of(partial(channel.perturb, case["input"], scripted(case["coins"])))
            if not derives_tables:
                steps[case["symbol"]].add(taken)
    assert all(len(counts) == 1 for counts in steps.values())
    assert min(min(counts) for counts in steps.values()) > 0


@for_each("vector", MODELS["encoded"])
def test_an_answer_to_a_model_becomes_integers(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    for case in vector["cases"]:
        encoded = list(metric.encode(case["answer"], ScriptedCoins([])))
        length = len(case["input"])
        assert encoded == case["input"] + [0] * (metric.channel.inputs - length)


@for_each("vector", MODELS["channels"])
def test_crosses_turn_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = Crosses(**integers_of(vector))
    assert texts(channel.integers) == vector["integers"]
    agree(channel.perturb, vector["cases"], "input")


@for_each("vector", ROTATIONS["signs"])
def test_the_signs_of_a_round_follow_from_window_dimension_rotation_and_round(vector: dict[str, Any]) -> None:
    of_round = signs(vector["dimension"], vector["rotation"], vector["round"], vector["window"])
    assert [place for place, sign in enumerate(of_round) if sign < 0] == vector["negative"]
    assert len(of_round) == vector["dimension"]


@for_each("vector", ROTATIONS["rotated"])
def test_a_vector_is_turned_in_integers(vector: dict[str, Any]) -> None:
    assert rotated(vector["vector"], vector["rotation"], vector["window"]) == vector["turned"]
    assert shifted(vector["vector"], vector["rotation"], vector["window"]) == vector["shifted"]


@for_each("vector", ROTATIONS["encoded"])
def test_a_vector_becomes_integers(vector: dict[str, Any]) -> None:
    domain = Vector(3, Fraction(vector["norm"]))
    assert list(domain.encode(vector["answer"], 8, ScriptedCoins([]))) == vector["vector"]


@for_each("vector", ROTATIONS["channels"])
def test_rotated_axes_turn_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = RotatedAxes(**integers_of(vector), window=vector["window"])
    assert texts(channel.integers) == vector["integers"]
    agree(channel.perturb, vector["cases"], "input")


@for_each("vector", [*ROTATIONS["answers"], *MODELS["answers"]])
def test_a_model_or_vector_becomes_the_symbol_of_its_window(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    agree(partial(metric.perturb, window=vector["window"]), vector["cases"])
