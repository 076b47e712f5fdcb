"""What a change of a registry means: what is counted apart from now on, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry.registry import Registry

KEEP = "run `hearsay-client release` on the old one before this is deployed: reports of released apps go on counting"


def differences(old: Registry, new: Registry) -> list[str]:
    """Return a sentence for each question that is new, is asked no more, or means something else.

    What changes no edition, such as a purpose, is counted as before, and is left out.

    Args:
        old: the registry that was released.
        new: the registry that is to be released, with its history.

    """
    sentences = []
    for name, metric in new.metrics.items():
        before = old.metrics.get(name)
        if before is None:
            sentences.append(f"metric.{name}: is a new question; a device pays {_price(metric)}")
        elif before.edition != metric.edition:
            sentences.append(f"metric.{name}: {'; '.join(changes(before, metric))}: {_consequence(before, metric)}")
        elif before.strata != metric.strata:
            sentences.append(f"metric.{name}: its strata change: reports of each stratum are counted apart from now on")
    sentences += [
        f"metric.{name}: is asked no more; reports of released apps count as long as the history has it"
        for name in old.metrics.keys() - new.metrics.keys()
    ]
    is_counted_apart = any(
        new.asked_as(name, edition) is None for name, metric in old.metrics.items() for edition in metric.editions
    )
    return [*sentences, KEEP] if is_counted_apart else sentences


def _consequence(old: Metric, new: Metric) -> str:
    again = "draws its permanent answer anew and " if new.channel.permanent_nanos else ""
    return (
        f"a new edition ({new.edition}), which is counted apart from the old one ({old.edition}); "
        f"each device {again}pays {_price(new)} again"
    )


def _price(metric: Metric) -> str:
    return f"epsilon {as_float(metric.epsilon_nanos):.9g} a {metric.window}"


def changes(old: Metric, new: Metric) -> Iterator[str]:
    """Yield what makes another edition of a question."""
    if old.kind.name != new.kind.name:
        yield f"its kind is {new.kind.name}, and was {old.kind.name}"
    else:
        before, after = definition(old), definition(new)
        for key in dict.fromkeys((*before, *after)):
            yield from _of_key(key, before.get(key), after.get(key))
    if old.window is not new.window:
        yield f"it is asked once a {new.window}, and was once a {old.window}"
    if old.epsilon_nanos != new.epsilon_nanos:
        yield f"epsilon is {as_float(new.epsilon_nanos):.9g}, and was {as_float(old.epsilon_nanos):.9g}"
    if old.channel.name != new.channel.name:
        yield f"it is randomized by {new.channel.name}, and was by {old.channel.name}"
    if old.channel.permanent_nanos != new.channel.permanent_nanos:
        yield "its permanent epsilon changes"


def _of_key(key: str, before: object, after: object) -> Iterator[str]:
    """Yield how a key of a definition changes."""
    if before == after:
        return
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        added, dropped = [each for each in after if each not in before], [each for each in before if each not in after]
        yield from (f'adds "{each}" to {key}' for each in added)
        yield from (f'takes "{each}" out of {key}' for each in dropped)
        if not added and not dropped:
            yield f"{key} have another order"
    elif before is None:
        yield f"{key} is {after} now"
    elif after is None:
        yield f"{key} is gone"
    else:
        yield f"{key} is {after}, and was {before}"
