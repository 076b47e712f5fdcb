"""This implementation agrees with the language-neutral vectors, and the vectors cover what they must."""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import pytest

from client_sdk.spec import (
    COIN_SCALE,
    Channel,
    MalformedError,
    Refusal,
    Registry,
    RegistryError,
    Report,
    Upload,
    Verdict,
    Window,
    WindowError,
    WindowKind,
    report,
)
from client_sdk.spec.mechanisms.cyclic_design import CyclicDesign
from client_sdk.spec.mechanisms.hybrid import Hybrid
from client_sdk.spec.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.spec.mechanisms.one_bit import OneBit
from client_sdk.spec.mechanisms.piecewise import Piecewise
from client_sdk.spec.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.spec.mechanisms.randomized_response import RandomizedResponse
from client_sdk.spec.mechanisms.square_wave import SquareWave
from tests.support.coins import ScriptedCoins
from tests.support.vectors import vectors

COINS = vectors("coins")
EDITIONS = vectors("editions")
REGISTRIES_INVALID = vectors("registries_invalid")
UPLOADS = vectors("uploads")
VERDICTS = vectors("verdicts")
WINDOWS = vectors("windows")


def named(case: Any) -> str:
    return str(case.get("name", "case"))


def body_of(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["body_hex"]) if "body_hex" in case else case["body"].encode()


def channel_of(vector: dict[str, Any]) -> Channel:
    integers = {name: int(integer) for name, integer in vector["integers"].items()}
    made: dict[str, Callable[..., Channel]] = {
        "randomized-response": RandomizedResponse,
        "one-bit": OneBit,
        "k-ary-randomized-response": KAryRandomizedResponse,
        "cyclic-design": CyclicDesign,
        "projective-geometry": ProjectiveGeometry,
        "piecewise": Piecewise,
        "hybrid": lambda least, step, **band: Hybrid(Piecewise(**band), least, step),
        "square-wave": SquareWave,
    }
    return made[vector["mechanism"]](**integers)


def asked(coins: ScriptedCoins) -> list[list[str]]:
    return [[primitive, str(parameter)] for primitive, parameter in coins.asked]


@pytest.mark.parametrize("vector", COINS["channels"], ids=lambda vector: f"{vector['mechanism']} of {vector['inputs']}")
def test_a_channel_turns_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    channel = channel_of(vector)
    assert {name: str(integer) for name, integer in channel.integers.items()} == vector["integers"]
    for case in vector["cases"]:
        with ScriptedCoins(case["coins"]) as coins:
            assert channel.perturb(case["input"], coins) == case["symbol"]
        assert asked(coins) == case["asked"]


@pytest.mark.parametrize("vector", COINS["answers"], ids=lambda vector: vector["metric"])
def test_a_metric_turns_an_answer_and_scripted_coins_into_the_symbol_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    for case in vector["cases"]:
        with ScriptedCoins(case["coins"]) as coins:
            assert metric.perturb(Decimal(case["answer"]), coins) == case["symbol"]
        assert asked(coins) == case["asked"]


def test_the_scripts_of_the_channels_reach_every_symbol_from_every_input_by_every_coin() -> None:
    for vector in COINS["channels"]:
        inputs = range(vector["inputs"])
        reached = {(case["input"], case["symbol"]) for case in vector["cases"]}
        symbols = range(channel_of(vector).symbols)
        assert reached == {(value, symbol) for value in inputs for symbol in symbols}


@pytest.mark.parametrize("vector", EDITIONS, ids=named)
def test_a_definition_has_the_edition_mechanism_integers_and_charge_of_the_vector(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["definition"]).metric(vector["metric"])
    assert metric.edition == vector["edition"]
    assert metric.channel.name == vector["mechanism"]
    assert metric.channel.symbols == vector["symbols"]
    assert {name: str(integer) for name, integer in metric.channel.integers.items()} == vector["integers"]
    assert str(metric.epsilon_nanos) == vector["epsilon_nanos"]


@pytest.mark.parametrize("vector", EDITIONS, ids=named)
def test_the_edition_of_a_vector_is_the_digest_of_its_meaning(vector: dict[str, Any]) -> None:
    assert hashlib.sha256(vector["meaning"].encode("ascii")).hexdigest()[:12] == vector["edition"]
    integers = json.loads(vector["meaning"])["integers"]
    assert {name: str(integer) for name, integer in integers.items()} == vector["integers"]


KEEPING = [vector for vector in EDITIONS if "keep_numerator" in vector["integers"]]
BANDS = [vector for vector in EDITIONS if "heavy" in vector["integers"]]


def odds_of(vector: dict[str, Any]) -> Decimal:
    """Return e^epsilon as the definition asks for it, at the precision of the context."""
    line = next(line for line in vector["definition"].splitlines() if line.startswith("epsilon"))
    raw = line.partition("= ")[2].strip('"')
    return Decimal(raw.removeprefix("ln ")) if raw.startswith("ln ") else Decimal(raw).exp()


@pytest.mark.parametrize("vector", KEEPING, ids=named)
def test_the_keep_numerator_of_a_vector_follows_from_the_formula_at_100_digits(vector: dict[str, Any]) -> None:
    """floor(2^64 · E s / (E s + m - s)), E = e^epsilon, of m symbols or values s supported: derived independently."""
    total, size = vector["symbols"], 1
    if vector["mechanism"] == "cyclic-design":
        total, size = (int(vector["integers"][name]) for name in ("inputs", "block_size"))
    if vector["mechanism"] == "projective-geometry":
        prime, dimension = (int(vector["integers"][name]) for name in ("prime", "dimension"))
        size = sum(prime**power for power in range(dimension - 1))
    with localcontext(prec=100):
        odds = odds_of(vector)
        keep = COIN_SCALE * odds * size / (odds * size + total - size)
        assert int(vector["integers"]["keep_numerator"]) == int(keep)
        charged = Decimal(vector["epsilon_nanos"])
        exact = (total - size) * int(keep) / Decimal(size * (COIN_SCALE - int(keep)))
        assert charged - 1 < exact.ln() * 10**9 <= charged


@pytest.mark.parametrize("vector", BANDS, ids=named)
def test_the_band_of_a_vector_follows_from_the_formulas_at_100_digits(vector: dict[str, Any]) -> None:
    """The width by the paper of each; light = floor(total / (width E + inputs - 1)), heavy = floor(light E)."""
    integers = {name: int(integer) for name, integer in vector["integers"].items()}
    steps, mechanism = integers["inputs"] - 1, vector["mechanism"]
    with localcontext(prec=100):
        odds = odds_of(vector)
        log = odds.ln()
        share = (log * odds - odds + 1) / (odds * (odds - 1 - log)) if mechanism == "square-wave" else 1 / odds.sqrt()
        for_ends = int(COIN_SCALE / odds.sqrt()) if mechanism == "hybrid" else 0
        light = int((COIN_SCALE - for_ends) / (integers["width"] * odds + steps))
        assert integers["width"] == int(steps * share + Decimal("0.5"))
        assert (integers["light"], integers["heavy"]) == (light, int(light * odds))
        if mechanism == "hybrid":
            assert integers["least"] == int(for_ends / (odds + 1))
            assert integers["step"] == int(integers["least"] * (odds - 1) / steps)


@pytest.mark.parametrize("vector", REGISTRIES_INVALID, ids=named)
def test_every_mistake_of_an_invalid_registry_is_named_by_its_place(vector: dict[str, Any]) -> None:
    with pytest.raises(RegistryError) as caught:
        Registry.parse(vector["definition"])
    assert sorted(place for place, _ in caught.value.mistakes) == sorted(vector["places"])
    for place, problem in caught.value.mistakes:
        assert f"{place}: {problem}" in str(caught.value)


@pytest.mark.parametrize("vector", [case for case in UPLOADS if "upload" in case], ids=named)
def test_a_valid_upload_is_read_and_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    upload = Upload.decode(body_of(vector))
    reports = tuple(Report(**fields) for fields in vector["upload"]["reports"])
    assert upload == Upload(vector["upload"]["upload"], reports)
    assert (upload.encode() == body_of(vector)) is vector["canonical"]
    assert Upload.decode(upload.encode()) == upload


@pytest.mark.parametrize("vector", [case for case in UPLOADS if "malformed" in case], ids=named)
def test_a_malformed_upload_is_refused_by_the_code_and_place_of_the_vector(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedError) as caught:
        Upload.decode(body_of(vector))
    assert {"code": caught.value.code, "place": caught.value.place} == vector["malformed"]


@pytest.mark.parametrize("vector", VERDICTS["valid"], ids=named)
def test_a_valid_verdict_is_read_and_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    verdict = Verdict.decode(vector["body"].encode(), vector["reports"])
    assert verdict.refused == tuple((refused["index"], Refusal(refused["code"])) for refused in vector["refused"])
    assert verdict.accepted == vector["reports"] - len(vector["refused"])
    assert verdict.encode() == vector["body"].encode()


@pytest.mark.parametrize("vector", VERDICTS["malformed"], ids=named)
def test_a_malformed_verdict_is_refused_by_the_code_and_place_of_the_vector(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedError) as caught:
        Verdict.decode(vector["body"].encode(), vector["reports"])
    assert (caught.value.code, caught.value.place) == (vector["code"], vector["place"])


def test_the_refusals_of_the_vectors_are_the_enumeration() -> None:
    assert {row["code"]: row["retryable"] for row in VERDICTS["codes"]} == {
        refusal.value: refusal.retryable for refusal in Refusal
    }
    used = {refused["code"] for vector in VERDICTS["valid"] for refused in vector["refused"]}
    assert used == {refusal.value for refusal in Refusal}


def test_every_code_by_which_a_body_is_malformed_has_a_vector() -> None:
    tree = ast.parse(Path(report.__file__).read_text(encoding="utf-8"))
    raised = {
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("_malformed", "MalformedError")
        and isinstance(node.args[0], ast.Constant)
    }
    covered = {case["malformed"]["code"] for case in UPLOADS if "malformed" in case}
    covered |= {case["code"] for case in VERDICTS["malformed"]}
    assert covered == raised


@pytest.mark.parametrize("vector", WINDOWS["of"], ids=lambda vector: str(vector["instant_s"]))
def test_an_instant_lies_in_the_windows_of_the_vector(vector: dict[str, Any]) -> None:
    for kind in WindowKind:
        window = Window.of(kind, vector["instant_s"])
        assert window.text == vector[kind.value]
        assert window.starts_at <= vector["instant_s"] < window.ends_at


@pytest.mark.parametrize("vector", WINDOWS["parse"], ids=lambda vector: vector["text"])
def test_a_text_names_the_window_of_the_vector(vector: dict[str, Any]) -> None:
    window = Window.parse(vector["text"])
    assert window.kind.value == vector["kind"]
    assert (window.starts_at, window.ends_at) == (vector["starts_at"], vector["ends_at"])
    assert str(window) == vector["text"]


@pytest.mark.parametrize("text", WINDOWS["invalid"], ids=ascii)
def test_an_invalid_text_names_no_window(text: str) -> None:
    with pytest.raises(WindowError):
        Window.parse(text)
