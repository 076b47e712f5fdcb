"""The errors of `client_sdk.protocol`.

Messages say what is wrong and what to do. Most errors also have attributes that contain the details
of the message. No error contains a user's answer. `HearsayError` is the base class of all errors of
the project.
"""

from __future__ import annotations

from collections.abc import Sequence


class HearsayError(Exception):
    """The base class of every error of this project. Only its subclasses are raised."""


class RegistryError(HearsayError):
    """A registry contains mistakes and cannot be used.

    >>> print(RegistryError("metric.os.epsilon", "is missing"))
    metric.os.epsilon: is missing

    Attributes:
        mistakes: pairs of a place in the file, such as ``metric.os.epsilon``, and the problem
            there; never empty.
    """

    def __init__(self, place: str, problem: str) -> None:
        """Set the attributes and the message."""
        super().__init__(f"{place}: {problem}")
        self.mistakes: tuple[tuple[str, str], ...] = ((place, problem),)

    @classmethod
    def from_mistakes(cls, mistakes: Sequence[tuple[str, str]], origins: Sequence[str] = ()) -> RegistryError:
        """Return one error whose message has one line for each mistake."""
        error = cls(*mistakes[0])
        lines = [f"{place}: {problem}" for place, problem in mistakes]
        if origins:
            lines = [f"{origin}: {line}" for origin, line in zip(origins, lines, strict=True)]
        error.args = ("\n".join(lines),)
        error.mistakes = tuple(mistakes)
        return error


class LanguageError(HearsayError, ValueError):
    """No sentences exist in the requested language. The message names the available languages."""


class WindowError(HearsayError):
    """A string is not the name of a window."""


class UnknownMetricError(HearsayError):
    """The registry defines no metric with the given name.

    >>> print(UnknownMetricError("drak_mode", ("dark_mode",)))
    the registry defines no metric 'drak_mode'; it defines: dark_mode

    Attributes:
        metric: the unknown name. ``Telemetry`` sets None, because the app may have passed an answer
            instead of a name.
    """

    def __init__(self, metric: str | None, known: tuple[str, ...]) -> None:
        """Set the attributes and the message."""
        name = "metric of this name (pass the name first, then the answer)" if metric is None else f"metric {metric!r}"
        super().__init__(f"the registry defines no {name}; it defines: {', '.join(known)}")
        self.metric = metric


class OutsideDomainError(HearsayError):
    """An answer is outside the domain of a metric. The error does not contain the answer.

    >>> OutsideDomainError("dark_mode", "True or False").expected
    'True or False'

    Attributes:
        metric: the name of the metric.
        expected: the answers that the domain allows, in words.

    """

    def __init__(self, metric: str, expected: str) -> None:
        """Set the attributes and the message."""
        super().__init__(f"metric {metric!r} expects {expected}; the value passed is something else (it is not shown)")
        self.metric = metric
        self.expected = expected


class DomainError(ValueError):
    """An answer is outside a domain. The error contains neither the answer nor the metric.

    The message is empty, or says what a part of the answer must be, such as a feature's value.
    """
