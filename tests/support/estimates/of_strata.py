"""Tallies of a question that is counted separately for each public stratum."""

from __future__ import annotations

from typing import Final

import numpy as np

from client_sdk.protocol import Registry, Window
from estimator.tallies import Tally

TEXT: Final = """
schema = 1
[app]
name = "acme"
[budget]
per_window = 9
lifetime = 99
[strata]
platform = ["ios", "android", "web"]
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = 2
strata = ["platform"]
[metric.os]
purpose = "Which?"
kind = "boolean"
epsilon = 2
"""
REGISTRY: Final = Registry.parse(TEXT)
METRIC: Final = REGISTRY.metric("dark_mode")
DAY: Final = "2026-11-20"


def drawn(truth: float, reports: int, stratum: int, seed: int, *, window: str = DAY, closed: bool = True) -> Tally:
    """Return a stratum's tally if a share of its devices would say yes; stratum 0 is the others."""
    random = np.random.default_rng(seed)
    chance = np.exp(2) / (1 + np.exp(2))
    yes = int(random.binomial(reports, truth * chance + (1 - truth) * (1 - chance)))
    edition = METRIC.editions[stratum]
    return Tally("dark_mode", edition, Window.parse(window), closed, reports, [reports - yes, yes])
