"""What a change of a registry means: what is counted apart from now on, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry.registry import Registry

KEEP = "run `hearsay-client release` on the old registry before you deploy this one, or its reports are refused"


def differences(old: Registry, new: Registry) -> list[str]:
    """Return a sentence for each question that is new, is no longer asked, or means something else.

    What changes no edition, such as a purpose, is counted as before, and is left out.

    Args:
        old: the registry before the change, with its history, if it has one.
        new: the registry after the change, with its history.

    """
    sentences = []
    for name, metric in new.metrics.items():
        before = old.metrics.get(name)
        if before is None:
            sentences.append(f"metric.{name}: is a new question; it costs a device up to {_price(metric)}")
        elif before.edition != metric.edition:
            sentences.append(
                f"metric.{name}: {with_and(list(changes(before, metric)))}; {_consequence(before, metric)}"
            )
        elif before.strata != metric.strata:
            sentences.append(f"metric.{name}: its strata change; reports of each stratum are counted apart from now on")
    sentences += [
        f"metric.{name}: is no longer asked; reports of released apps count as long as the history has it"
        for name in old.metrics
        if name not in new.metrics
    ]
    sentences += [
        f"metric.{each.metric.name}: its former edition {each.metric.edition} is in no history any more; reports of "
        "apps that still ask it are refused"
        for each in old.former
        if any(new.asked_as(each.metric.name, edition) is None for edition in each.metric.editions)
    ]
    is_counted = all(
        new.asked_as(name, edition) is not None for name, metric in old.metrics.items() for edition in metric.editions
    )
    return sentences if is_counted else [*sentences, KEEP]


def with_and(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    >>> with_and(["a", "b", "c"])
    'a, b and c'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def _consequence(old: Metric, new: Metric) -> str:
    again = "draws its permanent answer anew and " if new.channel.permanent_nanos else ""
    return (
        f"this is another edition ({new.edition}), counted apart from the released one ({old.edition}); "
        f"a device {again}pays up to {_price(new)} for it, beside what it paid before"
    )


def _price(metric: Metric) -> str:
    return f"epsilon {as_float(metric.epsilon_nanos):.9g} a {metric.window}"


def changes(old: Metric, new: Metric) -> Iterator[str]:
    """Yield what makes another edition of a question: clauses, each with a subject."""
    if old.kind.name != new.kind.name:
        yield f"its kind went from {old.kind.name} to {new.kind.name}"
    else:
        before, after = definition(old), definition(new)
        for key in dict.fromkeys((*before, *after)):
            yield from _of_key(key, before.get(key), after.get(key))
    if old.window is not new.window:
        yield f"it went from once a {old.window} to once a {new.window}"
    if old.epsilon_nanos != new.epsilon_nanos:
        yield f"epsilon went from {as_float(old.epsilon_nanos):.9g} to {as_float(new.epsilon_nanos):.9g}"
    if old.channel.name != new.channel.name:
        yield f"its mechanism went from {old.channel.name} to {new.channel.name}"
    if old.channel.permanent_nanos != new.channel.permanent_nanos:
        yield "its permanent epsilon changed"
    if not old.strata and new.strata:
        yield "it is counted by strata"


def _of_key(key: str, before: object, after: object) -> Iterator[str]:
    """Yield how a key of a definition changed."""
    if before == after:
        return
    if isinstance(before, list | tuple) and isinstance(after, list | tuple):
        added, dropped = [each for each in after if each not in before], [each for each in before if each not in after]
        if added:
            yield f"{_named(added)} added to {key}"
        if dropped:
            yield f"{_named(dropped)} removed from {key}"
        if not added and not dropped:
            yield f"the {key} are in a different order"
    elif before is None:
        yield f"{key} {after} was added"
    elif after is None:
        yield f"{key} was removed"
    else:
        yield f"{key} went from {before} to {after}"


def _named(values: Sequence[object]) -> str:
    words = ['"' + value + '"' if isinstance(value, str) else str(value) for value in values]
    return f"{with_and(words)} {'was' if len(words) == 1 else 'were'}"
