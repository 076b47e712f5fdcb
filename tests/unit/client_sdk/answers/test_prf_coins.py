"""Coins of a PRF: equal for equal labels, unrelated for others, and unbiased."""

from __future__ import annotations

import hmac
import secrets
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.answers.participation import sampled
from client_sdk.answers.prf_coins import PrfCoins, derive
from client_sdk.answers.randomized import permanent_answer
from client_sdk.ledger.device import Secret
from client_sdk.protocol import COIN_SCALE, Registry, Window
from client_sdk.protocol.mechanisms import permanent
from client_sdk.protocol.mechanisms.permanent import Permanent
from tests.support.core.tables import for_each
from tests.support.devices.clients import ask
from tests.support.laws.sampling import accepts, decision
from tests.support.vectors import vectors

SECRET = bytes(range(32))
VECTORS = vectors("prf")

Labels = tuple[str, ...]


def by_the_book(secret: bytes, *labels: str) -> bytes:
    """Return the key of labels by the rule in docs/protocol/mechanisms.md, implemented
    independently.
    """
    message = b""
    for label in ("hearsay prf 1", *labels):
        message += struct.pack(">Q", len(label.encode())) + label.encode()
    return hmac.new(secret, message, "sha256").digest()


@for_each("vector", VECTORS["words"])
def test_keys_and_words_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    secret, labels = bytes.fromhex(vector["secret"]), vector["labels"]
    key = by_the_book(secret, *labels)
    assert derive(secret, *labels) == key == bytes.fromhex(vector["key"])
    expanded = [hmac.new(key, struct.pack(">Q", index), "sha256").digest() for index in range(3)]
    words = [int.from_bytes(block[:8], "big") for block in expanded]
    assert words == [int(word) for word in vector["words"]]
    coins = PrfCoins(secret, *labels)
    assert [coins.below(COIN_SCALE) for _ in range(3)] == words


@pytest.mark.parametrize("vector", VECTORS["draws"], ids=lambda vector: str(vector["asked"]))
def test_draws_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    coins = PrfCoins(bytes.fromhex(vector["secret"]), *vector["labels"])
    toss = {"bernoulli": coins.bernoulli, "below": coins.below}
    assert [toss[primitive](int(parameter)) for primitive, parameter in vector["asked"]] == vector["outcomes"]


@for_each("vector", VECTORS["permanents"])
def test_permanent_answers_are_those_of_the_vectors(vector: dict[str, Any]) -> None:
    metric = Registry.parse(vector["registry"]).metric("m")
    assert isinstance(metric.channel, Permanent)
    assert metric.edition == vector["edition"]
    secret = Secret(bytes.fromhex(vector["secret"]), 1)
    rounded = metric.encode(vector["answer"], PrfCoins(secret.key, permanent.OFFSET, "m", metric.edition))
    assert rounded == vector["value"]
    answer = permanent_answer(metric, metric.channel, partial(metric.encode, vector["answer"]), secret)
    assert answer.symbol == vector["symbol"]


@pytest.mark.parametrize("vector", VECTORS["samples"], ids=lambda vector: vector["window"])
def test_what_is_asked_of_a_device_is_that_of_the_vectors(vector: dict[str, Any]) -> None:
    registry = ask("".join(f'[metric.{name}]\nkind = "boolean"\n' for name in vector["metrics"]))
    metrics = list(registry.metrics.values())
    drawn = sampled(metrics, vector["answers"], Window.parse(vector["window"]), bytes.fromhex(vector["secret"]))
    assert [metric.name for metric in drawn] == vector["drawn"]


def test_the_vectors_hold_what_they_must() -> None:
    assert {vector["value"] for vector in VECTORS["permanents"]} > {0, 1}
    assert any(vector["symbol"] != vector["value"] for vector in VECTORS["permanents"])
    assert any(vector["symbol"] == vector["value"] for vector in VECTORS["permanents"])
    assert any("ü" in "".join(vector["labels"]) for vector in VECTORS["words"])


def test_the_same_labels_give_the_same_coins_however_they_are_asked() -> None:
    first, second = PrfCoins(SECRET, "a", "b"), PrfCoins(SECRET, "a", "b")
    drawn = [first.below(bound) for bound in range(1, 50)]
    PrfCoins(SECRET, "a", "c").below(7)
    assert [second.below(bound) for bound in range(1, 50)] == drawn


@pytest.mark.slow
@settings(max_examples=100, derandomize=True)
@given(
    first=st.lists(st.text(alphabet="ab\0\x01é", max_size=4), max_size=4),
    second=st.lists(st.text(alphabet="ab\0\x01é", max_size=4), max_size=4),
)
def test_different_labels_are_different_messages(first: list[str], second: list[str]) -> None:
    messages = []

    def note(_: bytes, message: bytes, __: str) -> bytes:
        messages.append(message)
        return b""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hmac, "digest", note)
        for labels in (first, second):
            derive(SECRET, *labels)
    assert (messages[0] == messages[1]) is (first == second)


def test_labels_that_only_join_to_the_same_text_have_different_coins() -> None:
    alike = [("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("", "abc")]
    assert len({derive(SECRET, *labels) for labels in alike}) == len(alike)


def neighbors(number: int) -> list[tuple[bytes, Labels, bytes, Labels]]:
    """Return secrets and labels that differ in one thing only."""
    base = (permanent.PERMANENT, "m", "0123456789ab", str(number))
    secret = number.to_bytes(32, "big")
    return [
        (secret, base, secret, (*base[:3], str(number + 1))),
        (secret, base, secret, (permanent.OFFSET, *base[1:])),
        (secret, base, secret, (base[0], "n", *base[2:])),
        (secret, base, secret, (*base[:2], "0123456789ac", base[3])),
        (secret, base, (number + 10**6).to_bytes(32, "big"), base),
    ]


Bit = Callable[[bytes, Labels], int]


def first_bit(secret: bytes, labels: Labels) -> int:
    return PrfCoins(secret, *labels).below(2)


def agrees_too_often(bit: Bit, which: int) -> bool:
    """Whether the first coins of neighbors agree more often than unrelated coins."""
    decided = decision(0.5, 0.6)
    pairs = [neighbors(number)[which] for number in range(decided.draws)]
    agreements = sum(bit(secret, labels) == bit(other, others) for secret, labels, other, others in pairs)
    return not accepts(decided, 0.5, agreements)


@pytest.mark.slow
@pytest.mark.parametrize("which", range(5), ids=["value", "purpose", "metric", "edition", "secret"])
def test_coins_of_neighbors_have_nothing_to_do_with_each_other(which: int) -> None:
    assert not agrees_too_often(first_bit, which)


@pytest.mark.slow
@pytest.mark.parametrize("which", range(5), ids=["value", "purpose", "metric", "edition", "secret"])
def test_a_function_that_overlooks_what_tells_neighbors_apart_is_refused(which: int) -> None:
    def forgetful(secret: bytes, labels: Labels) -> int:
        kept = list(labels)
        if which < 4:
            kept[{0: 3, 1: 0, 2: 1, 3: 2}[which]] = "overlooked"
        return first_bit(SECRET if which == 4 else secret, tuple(kept))

    assert agrees_too_often(forgetful, which)


@pytest.mark.slow
@pytest.mark.parametrize("numerator", [COIN_SCALE // 2, COIN_SCALE // 4 * 3])
def test_coins_are_true_as_often_as_they_should_be(numerator: int) -> None:
    right = numerator / COIN_SCALE
    decided = decision(right, right + 0.03)
    falls = sum(PrfCoins(SECRET, str(number)).bernoulli(numerator) for number in range(decided.draws))
    assert accepts(decided, right, falls)


class ScriptedWords(PrfCoins):
    """PRF coins whose words are given."""

    __slots__ = ("left",)

    def __init__(self, *words: int) -> None:
        super().__init__(SECRET)
        self.left = list(words)

    def _word(self) -> int:
        return self.left.pop(0)


@for_each("bound", [1, 2, 3, 31, 2**32 + 1, 2**63 + 1, COIN_SCALE])
def test_words_above_the_largest_multiple_of_the_bound_are_drawn_again(bound: int) -> None:
    multiple = COIN_SCALE // bound * bound
    rejected = [] if multiple == COIN_SCALE else [multiple, COIN_SCALE - 1]
    coins = ScriptedWords(*rejected, multiple - 1)
    assert coins.below(bound) == bound - 1
    assert not coins.left


def test_every_residue_is_reached_alike() -> None:
    coins = ScriptedWords(*range(10))
    assert [coins.below(5) for _ in range(10)] == [0, 1, 2, 3, 4] * 2


@pytest.mark.parametrize(
    ("word", "numerator", "expected"),
    [
        (0, 0, False),
        (0, 1, True),
        (1, 1, False),
        (COIN_SCALE - 1, COIN_SCALE - 1, False),
        (COIN_SCALE - 1, COIN_SCALE, True),
    ],
)
def test_a_coin_is_true_for_exactly_numerator_of_2_to_the_64_words(
    word: int, numerator: int, *, expected: bool
) -> None:
    assert ScriptedWords(word).bernoulli(numerator) is expected


def test_a_secret_of_the_operating_system_makes_other_coins() -> None:
    assert derive(secrets.token_bytes(32), "a") != derive(SECRET, "a")
