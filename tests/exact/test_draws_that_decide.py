"""Draws that end once they decide: how often they decide wrongly, by the law of every path."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.laws.sampling import accepts_each, decision

RATE = 0.1


def accepted(right: float, wrong: float, true: float) -> float:
    """Return the chance of acceptance at a true probability: the sum over all paths of draws."""
    draws = decision(right, wrong, RATE).draws
    assert draws <= 16
    paths = (np.arange(2**draws)[:, np.newaxis] >> np.arange(draws)) & 1
    likely = np.prod(np.where(paths == 1, true, 1 - true), axis=1)
    is_accepted = accepts_each((paths[:, [draw]].T.astype(bool) for draw in range(draws)), right, wrong, RATE)
    return float(likely @ is_accepted)


@pytest.mark.parametrize(("right", "wrong"), [(0.9, 0.4), (0.2, 0.7), (0.5, 0.95)])
def test_either_error_is_as_rare_as_is_said(right: float, wrong: float) -> None:
    """The likelihood ratio and the line of the last draw each err at the rate at most."""
    assert accepted(right, wrong, right) >= 1 - 2 * RATE
    assert accepted(right, wrong, wrong) <= 2 * RATE


def test_it_ends_with_the_draw_that_decides() -> None:
    drawn = []

    def successes() -> np.ndarray:
        drawn.append(True)
        return np.array([[True]])

    assert accepts_each(iter(successes, None), 0.93, 0.73).all()
    assert len(drawn) < decision(0.93, 0.73).draws / 3


def test_too_few_draws_do_not_pass() -> None:
    with pytest.raises(ValueError, match="do not decide"):
        accepts_each([np.ones((10, 1), dtype=bool)], 0.93, 0.73)
