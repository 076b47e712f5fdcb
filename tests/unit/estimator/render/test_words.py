"""A privacy loss is never shown smaller than it is, and a requested delta as it was requested."""

from __future__ import annotations

import pytest

from estimator.render.words import short_loss


@pytest.mark.parametrize(
    ("loss", "shown"),
    [(1e-5, "1e-05"), (1e-9, "1e-09"), (0.001, "0.001"), (1e-6, "1e-06"), (0.5461, "0.547"), (28.04, "28.1"), (7, "7")],
)
def test_a_loss_has_three_digits_and_is_rounded_up(loss: float, shown: str) -> None:
    assert short_loss(loss) == shown
