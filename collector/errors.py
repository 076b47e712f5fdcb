"""The collector's errors, with messages for people, and functions that format such messages."""

from __future__ import annotations

from client_sdk.protocol.errors import HearsayError


class ConfigError(HearsayError):
    """A setting cannot be used. The message names the setting and a correct value."""


class OptionError(ConfigError):
    """A command line is invalid on any machine and with any store."""


class StoreUnavailableError(HearsayError):
    """The store failed or did not respond. No upload was counted in part, and a retry is safe."""


class StoreFullError(StoreUnavailableError):
    """The store's memory is full.

    The upload was not counted, and all acknowledged reports are still stored.
    """


class QuotaExceededError(HearsayError):
    """The upload would exceed its daily allowance. The store did not count or remember it."""


def require(holds: bool, problem: str) -> None:  # noqa: FBT001 calls read like a sentence
    """Raise `ConfigError` unless a setting can be used.

    Args:
        holds: whether the setting can be used.
        problem: the error message if the setting cannot be used.

    Raises:
        ConfigError: if the setting cannot be used.

    """
    if not holds:
        raise ConfigError(problem)


def require_option(holds: bool, problem: str) -> None:  # noqa: FBT001 calls read like a sentence
    """Raise `OptionError` unless a command line is valid.

    Args:
        holds: whether the command line is valid.
        problem: the error message if the command line is invalid.

    Raises:
        OptionError: if the command line is not valid.

    """
    if not holds:
        raise OptionError(problem)


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Return a number with its noun, such as ``1 tally`` or ``2 tallies``.

    Args:
        number: the number of things.
        singular: the noun.
        plural_form: the plural of the noun, or None to add an s.

    """
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"


_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def in_units(number: int) -> str:
    """Return a number of bytes in a readable form, such as ``512 bytes`` or ``7.3 GB``."""
    for bytes_each, unit in _UNITS:
        if number >= bytes_each:
            return f"{number / bytes_each:,.{0 if number >= 10 * bytes_each else 1}f} {unit}"
    return plural(number, "byte")
