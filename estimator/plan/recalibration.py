"""A metric at another epsilon: the channel that its definition would make."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from client_sdk.protocol.mechanisms import AUTO, channel_for
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.errors import PlanError


@dataclass(frozen=True, slots=True)
class Candidates:
    """A registry and the tables that define its metrics.

    Attributes:
        registry: with its present epsilons.
        tables: the table of each metric in the file.

    """

    registry: Registry
    tables: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, text: str) -> Candidates:
        """Read a registry's TOML."""
        return cls(Registry.parse(text), tomllib.loads(text, parse_float=Decimal)["metric"])

    def at(self, name: str, epsilon: str) -> Metric:
        """Return a metric with the channel that it would have at an epsilon.

        Args:
            name: the metric's.
            epsilon: as the registry would state it.

        Raises:
            PlanError: if there is no such channel.

        """
        metric, table = self.registry.metrics[name], self.tables[name]
        delta, utility, permanent = (table.get(key) for key in ("delta", "utility", "permanent_epsilon"))
        try:
            channel = channel_for(
                metric.kind,
                RequestedEpsilon.parse(Decimal(epsilon)),
                table.get("mechanism", AUTO),
                delta=None if delta is None else Fraction(delta),
                utility=None if utility is None else tuple(tuple(map(Fraction, row)) for row in utility),
                permanent=None if permanent is None else RequestedEpsilon.parse(permanent),
                has_no_answer=metric.has_no_answer,
            )
        except ValueError as error:
            raise PlanError(f"{name}: {error}; allocate a larger total, or want less of the others") from error
        return replace(metric, channel=channel)
