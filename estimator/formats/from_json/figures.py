"""Single figures of a report: values, windows, estimates with their intervals."""

from __future__ import annotations

from datetime import UTC, datetime

from client_sdk.protocol import Label, Window, WindowError
from estimator.formats.from_json.node import Node
from estimator.formats.to_json import INSTANT, RESAMPLED
from estimator.results.central import ASSUMPTION, Central
from estimator.results.changes import Change
from estimator.results.distribution import Resampled
from estimator.results.estimate import Estimate

INTERVAL = ("standard_error", "low", "high")

CHANGE = ("difference", *INTERVAL, "p_value", "p_value_corrected")


def label(node: Node) -> Label:
    """Return a value: a text, a truth value, a whole number, none for nothing recorded, or a pair of such."""
    if type(node.raw) is list:
        return tuple(map(label, node.items()))  # type: ignore[return-value] # of as many parts as questions
    if node.raw is not None and type(node.raw) not in (str, bool, int):
        raise node.error("must be a text, a whole number, a truth value, null or a list of such")
    value: Label = node.raw
    return value


def window(node: Node) -> Window:
    """Return the window that a text names."""
    try:
        return Window.parse(node.text())
    except WindowError as error:
        raise node.error(f"is no window: {error}") from None


def instant(node: Node) -> datetime:
    """Return the instant that a text names, in UTC."""
    try:
        return datetime.strptime(node.text(), INSTANT).replace(tzinfo=UTC)
    except ValueError:
        raise node.error("must be an instant such as 2026-11-20T12:00:00Z") from None


def estimate(node: Node, name: str) -> Estimate:
    """Return a figure by the name that its unbiased estimate has."""
    likeliest, shrunken = f"{name}_ml", f"{name}_shrunk"
    return Estimate(
        unbiased=node[name].or_none(Node.number),
        standard_error=node["standard_error"].or_none(Node.number),
        low=node["low"].number(),
        high=node["high"].number(),
        likeliest=node[likeliest].or_none(Node.number) if likeliest in node else None,
        shrunken=node[shrunken].or_none(Node.number) if shrunken in node else None,
    )


def names_of(name: str, *more: str) -> tuple[str, ...]:
    """Return the fields of a figure of some name, with others that follow from the name."""
    return (name, *INTERVAL, *(f"{name}_{one}" for one in more))


def share(node: Node) -> tuple[Label, Estimate]:
    """Return a value with its share, the likeliest and the shrunken one."""
    node.object(("value", *names_of("share", "ml", "shrunk")))
    return label(node["value"]), estimate(node, "share")


def within(node: Node, name: str = "share") -> tuple[Label, Estimate]:
    """Return a value with a figure that has an interval."""
    node.object(("value", name, *INTERVAL))
    return label(node["value"]), estimate(node, name)


def resampled(node: Node, name: str = "estimate", low: str = "low", high: str = "high") -> Resampled:
    """Return a figure whose interval is by resampling."""
    if node["interval"].text() != RESAMPLED:
        raise node["interval"].error(f"must be {RESAMPLED}")
    return Resampled(node[name].or_none(Node.number), node[low].number(), node[high].number())


def central(node: Node) -> Central:
    """Return what a tally reveals, if nothing else is published."""
    node.object(("delta", "epsilon", "assumes"))
    if node["assumes"].text() != ASSUMPTION:
        raise node["assumes"].error(f"must be {ASSUMPTION}")
    return Central(node["delta"].number(), node["epsilon"].number())


def labelled_change(node: Node) -> tuple[Label, Change]:
    """Return a value with what changed."""
    node.object(("value", *CHANGE))
    return label(node["value"]), change(node)


def change(node: Node) -> Change:
    """Return what changed, with its p-values."""
    p_values = (node[name].or_none(Node.number) for name in ("p_value", "p_value_corrected"))
    return Change(estimate(node, "difference"), *p_values)
