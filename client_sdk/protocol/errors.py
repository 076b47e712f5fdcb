"""The errors that `client_sdk.protocol` raises, with messages for people.

Every message says what is wrong and what to do. Most errors also have the details as attributes. No
error ever contains a user's answer. To catch every error of the project, catch `HearsayError`.
"""

from __future__ import annotations

from collections.abc import Sequence


class HearsayError(Exception):
    """The base class of every error of this project. Only its subclasses are raised."""


class RegistryError(HearsayError):
    """A registry contains mistakes, and cannot be used.

    >>> print(RegistryError("metric.os.epsilon", "is missing"))
    metric.os.epsilon: is missing

    Attributes:
        mistakes: pairs of a place in the file, such as ``metric.os.epsilon``, and the problem
            there; never empty.

    """

    def __init__(self, place: str, problem: str) -> None:
        """Store the problem and its place in the registry."""
        super().__init__(f"{place}: {problem}")
        self.mistakes: tuple[tuple[str, str], ...] = ((place, problem),)

    @classmethod
    def from_mistakes(cls, mistakes: Sequence[tuple[str, str]], origins: Sequence[str] = ()) -> RegistryError:
        """Return one error that names several mistakes, each on its own line.

        Args:
            mistakes: pairs of a place in the file and the problem there.
            origins: the file and the line of each mistake, such as ``metrics.toml:12``; may be
                empty.

        """
        error = cls(*mistakes[0])
        lines = [f"{place}: {problem}" for place, problem in mistakes]
        if origins:
            lines = [f"{origin}: {line}" for origin, line in zip(origins, lines, strict=True)]
        error.args = ("\n".join(lines),)
        error.mistakes = tuple(mistakes)
        return error


class LanguageError(HearsayError, ValueError):
    """The requested language has no sentences. The message names the available languages."""


class WindowError(HearsayError):
    """A string is not the name of a window."""


class UnknownMetricError(HearsayError):
    """A name was passed for which the registry defines no metric.

    >>> print(UnknownMetricError("drak_mode", ("dark_mode",)))
    the registry defines no metric 'drak_mode'; it defines: dark_mode

    Attributes:
        metric: the unknown name; None if ``Telemetry`` raised the error, because an app may have
            passed an answer instead of a name.

    """

    def __init__(self, metric: str | None, known: tuple[str, ...]) -> None:
        """Name the unknown metric, and the names that the registry defines."""
        name = "metric of this name (pass the name first, then the answer)" if metric is None else f"metric {metric!r}"
        super().__init__(f"the registry defines no {name}; it defines: {', '.join(known)}")
        self.metric = metric


class OutsideDomainError(HearsayError):
    """An answer outside the domain of a metric. The error does not contain the answer.

    >>> OutsideDomainError("dark_mode", "True or False").expected
    'True or False'

    Attributes:
        metric: the name of the metric.
        expected: the answers that the domain allows, in words.

    """

    def __init__(self, metric: str, expected: str) -> None:
        """Store the metric's name and its valid answers in words."""
        super().__init__(f"metric {metric!r} expects {expected}; the value passed is something else (it is not shown)")
        self.metric = metric
        self.expected = expected


class DomainError(ValueError):
    """An answer outside a domain; the error contains neither the answer nor the metric.

    The error's message is either empty, or says what a part of the answer must be, such as the
    value of a model's feature.
    """
