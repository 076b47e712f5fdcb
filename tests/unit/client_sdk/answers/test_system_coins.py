"""SystemCoins: integers from the operating system's bytes, without bias and without state."""

from __future__ import annotations

import pytest

from client_sdk.answers import system_coins
from client_sdk.protocol import COIN_SCALE


def scripted_bytes(monkeypatch: pytest.MonkeyPatch, *drawn: int) -> list[int]:
    left = list(drawn)
    monkeypatch.setattr(system_coins, "urandom", lambda size: left.pop(0).to_bytes(size, "big"))
    return left


@pytest.mark.parametrize(
    ("drawn", "numerator", "expected"),
    [
        *((0, 0, False), (0, 1, True), (1, 1, False), (COIN_SCALE // 2 - 1, COIN_SCALE // 2, True)),
        *((COIN_SCALE // 2, COIN_SCALE // 2, False), (COIN_SCALE - 1, COIN_SCALE - 1, False)),
        (COIN_SCALE - 1, COIN_SCALE, True),
    ],
)
def test_a_coin_is_true_for_exactly_numerator_of_2_to_the_64_draws(
    monkeypatch: pytest.MonkeyPatch, drawn: int, numerator: int, *, expected: bool
) -> None:
    scripted_bytes(monkeypatch, drawn)
    assert system_coins.SystemCoins().bernoulli(numerator) is expected


@pytest.mark.parametrize("bound", [1, 2, 3, 31, 2**32 + 1, 2**63 + 1, COIN_SCALE])
def test_draws_above_the_largest_multiple_of_a_bound_are_repeated(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    multiple = COIN_SCALE // bound * bound
    rejected = [] if multiple == COIN_SCALE else [multiple, COIN_SCALE - 1]
    left = scripted_bytes(monkeypatch, *rejected, multiple - 1)
    assert system_coins.SystemCoins().below(bound) == bound - 1
    assert not left


def test_every_residue_is_reached_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted_bytes(monkeypatch, *range(10))
    assert [system_coins.SystemCoins().below(5) for _ in range(10)] == [0, 1, 2, 3, 4] * 2


def test_nothing_is_buffered_between_two_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    left = scripted_bytes(monkeypatch, 1, 2, 3)
    system = system_coins.SystemCoins()
    for remaining in (2, 1, 0):
        system.bernoulli(1)
        assert len(left) == remaining
