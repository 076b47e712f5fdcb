"""The channels of the vectors, by their mechanisms and integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from client_sdk.protocol import Channel
from client_sdk.protocol.mechanisms.balanced_design import BalancedDesign
from client_sdk.protocol.mechanisms.cyclic_design import CyclicDesign
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.gaussian import Gaussian
from client_sdk.protocol.mechanisms.hierarchical import Hierarchical
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.mechanisms.laplace import Laplace
from client_sdk.protocol.mechanisms.optimal_mean import OptimalMean
from client_sdk.protocol.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.protocol.mechanisms.randomized_response import OneBit, RandomizedResponse
from client_sdk.protocol.mechanisms.square_wave import SquareWave

CLASSES: Mapping[str, Callable[..., Channel]] = {
    "randomized-response": RandomizedResponse,
    "one-bit": OneBit,
    "k-ary-randomized-response": KAryRandomizedResponse,
    "cyclic-design": CyclicDesign,
    "projective-geometry": ProjectiveGeometry,
    "balanced-design": BalancedDesign,
    "square-wave": SquareWave,
    "hierarchical": Hierarchical,
    "optimal-mean": OptimalMean,
    "laplace": Laplace,
    "gaussian": Gaussian,
    "exponential": lambda inputs, weights: Exponential(
        tuple(weights[i : i + inputs] for i in range(0, len(weights), inputs))
    ),
}


def integers_of(vector: Mapping[str, Any]) -> dict[str, Any]:
    """Return the integers of a vector: each an integer or a tuple."""
    items = vector["integers"].items()
    return {name: tuple(map(int, value)) if isinstance(value, list) else int(value) for name, value in items}


def channel_of(vector: Mapping[str, Any]) -> Channel:
    """Return the channel of a vector's mechanism and integers."""
    more = {"odds": Fraction(vector["odds"])} if "odds" in vector else {}
    return CLASSES[vector["mechanism"]](**integers_of(vector), **more)
