"""How many devices a model needs, so that privacy costs no more AUC than is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from client_sdk.protocol.metric import Metric
from estimator.rehearsal.model_rehearsal import ModelRehearsal, People, aucs_without_privacy, rehearse_model

FEWEST_DEVICES: Final = 1000
"""The search begins here: with fewer even a simple model is noise."""

MOST_DEVICES: Final = 10**7
"""Each report of products is drawn by itself; this number takes some minutes."""

DOUBLINGS: Final = math.ceil(math.log2(MOST_DEVICES / FEWEST_DEVICES))

HALVINGS: Final = 3
"""Of the last doubling: what is found is within an eighth of it, or 9 %."""

MOST_REHEARSALS: Final = 1 + DOUBLINGS + HALVINGS
"""How many numbers of devices are tried at most."""

DIGITS: Final = 2
"""Of a number of devices that is tried."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What privacy costs with a number of devices.

    Attributes:
        rehearsal: of that number.
        losses: of each round, the AUC without privacy less that with it, for the same people.

    """

    rehearsal: ModelRehearsal
    losses: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean loss over the rounds."""
        return float(np.mean(self.losses))

    @property
    def error(self) -> float:
        """The standard error of that mean."""
        return float(np.std(self.losses, ddof=1)) / math.sqrt(len(self.losses))

    def is_within(self, most_loss: float) -> bool:
        """Whether at most that much is lost, even if the mean errs by its standard error."""
        return self.mean + self.error <= most_loss


def devices_for(  # noqa: PLR0913 what is rehearsed, and how far
    metric: Metric, people: People, most_loss: float, *, rounds: int, seed: int, advance: Callable[[int], None]
) -> Loss | None:
    """Return the fewest devices that were found to cost at most ``most_loss`` of AUC.

    The number is doubled until the loss is small enough. Then its last doubling is searched by
    halves. A mean that is small by chance would be found among many, so that its standard error is
    added.

    Args:
        metric: a model with a label of yes or no.
        people: true answers; some are held back in each round.
        most_loss: the most AUC that may be lost, compared with a linear regression without privacy.
        rounds: of each number of devices, at least 2.
        seed: of all randomness; people are held back alike for all numbers.
        advance: called with 1 after each number of devices.

    Returns:
        What they lose. None if even `MOST_DEVICES` lose more.

    """
    plain = aucs_without_privacy(people, metric, rounds, seed)

    def tried(devices: int) -> Loss:
        rehearsal = rehearse_model(metric, people, devices, rounds, seed)
        advance(1)
        return Loss(rehearsal, tuple(alone - auc for alone, auc in zip(plain, rehearsal.aucs, strict=True)))

    enough, too_few = tried(FEWEST_DEVICES), 0
    while not enough.is_within(most_loss):
        too_few = enough.rehearsal.devices
        if too_few >= MOST_DEVICES:
            return None
        enough = tried(min(2 * too_few, MOST_DEVICES))
    for _ in range(HALVINGS if too_few else 0):
        middle = tried(_rounded(math.sqrt(too_few * enough.rehearsal.devices)))
        if middle.is_within(most_loss):
            enough = middle
        else:
            too_few = middle.rehearsal.devices
    return enough


def _rounded(devices: float) -> int:
    """Return a number of devices with few digits, rounded up."""
    unit = 10 ** (math.floor(math.log10(devices)) + 1 - DIGITS)
    return int(math.ceil(devices / unit) * unit)
