"""What schema 2 of the registry changes in a file of schema 1."""

from __future__ import annotations

from dataclasses import dataclass

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import SCHEMAS, Registry
from estimator.errors import PlanError
from estimator.plan.registry_patch import in_schema
from estimator.plan.target_error import usual_variance


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """A question whose reports change.

    Attributes:
        before: the question in the present schema.
        after: the question in the newest one.

    """

    before: Metric
    after: Metric

    @property
    def saved(self) -> float:
        """The part of devices that the same error no longer needs; negative where it needs more."""
        return 1 - usual_variance(self.after) / usual_variance(self.before)


@dataclass(frozen=True, slots=True)
class SchemaUpgrade:
    """A registry in the newest schema.

    Attributes:
        text: the file, with its comments.
        changes: the questions with another edition, in the file's order.
        kept: the names of those that stay as they are.

    """

    text: str
    changes: tuple[SchemaChange, ...]
    kept: tuple[str, ...]


def upgrade(text: str) -> SchemaUpgrade:
    """Return a registry's text in the newest schema, and what changes.

    Args:
        text: a sound registry as TOML.

    Raises:
        PlanError: if it already has that schema.

    """
    old = Registry.parse(text)
    if old.schema == SCHEMAS[-1]:
        raise PlanError(f"the registry has schema {SCHEMAS[-1]} already; nothing is left to do")
    upgraded = in_schema(text, SCHEMAS[-1])
    new = Registry.parse(upgraded)
    pairs = [(metric, new.metrics[name]) for name, metric in old.metrics.items()]
    changes = tuple(SchemaChange(before, after) for before, after in pairs if before.edition != after.edition)
    return SchemaUpgrade(
        upgraded, changes, tuple(before.name for before, after in pairs if before.edition == after.edition)
    )


def gains(registry: Registry) -> dict[str, SchemaChange]:
    """Return what the newest schema would change, by question; nothing if the registry has it."""
    if registry.schema == SCHEMAS[-1] or not registry.source:
        return {}
    return {change.before.name: change for change in upgrade(registry.source).changes}
