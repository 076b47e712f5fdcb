"""The collector's errors, with messages for people, and functions that format such messages."""

from __future__ import annotations

from client_sdk.protocol.errors import HearsayError


class ConfigError(HearsayError):
    """A setting, a file or a server cannot be used. The message says how to correct the problem."""


class OptionError(ConfigError):
    """The command line itself is invalid, independently of the machine and the store."""


class StoreUnavailableError(HearsayError):
    """The store failed or did not respond. No upload was counted in part, and a retry is safe."""


class StoreFullError(StoreUnavailableError):
    """The store's memory is full. The upload was not counted. No acknowledged upload is lost."""


class QuotaExceededError(HearsayError):
    """The upload would exceed its key's daily allowance. The store kept nothing of the upload."""


def require(holds: bool, problem: str) -> None:  # noqa: FBT001 calls read like a sentence
    """Raise a `ConfigError` that says ``problem``, unless ``holds`` is true."""
    if not holds:
        raise ConfigError(problem)


def require_option(holds: bool, problem: str) -> None:  # noqa: FBT001 calls read like a sentence
    """Raise an `OptionError` that says ``problem``, unless ``holds`` is true."""
    if not holds:
        raise OptionError(problem)


def plural(number: int, singular: str, plural_form: str | None = None) -> str:
    """Return a number with its noun, such as ``2 tallies``. The default plural form adds an s."""
    return f"{number:,} {singular if number == 1 else plural_form or singular + 's'}"


_UNITS = ((10**9, "GB"), (10**6, "MB"), (10**3, "kB"))


def in_units(number: int) -> str:
    """Return a number of bytes in a readable form, such as ``512 bytes`` or ``7.3 GB``."""
    for bytes_each, unit in _UNITS:
        if number >= bytes_each:
            return f"{number / bytes_each:,.{0 if number >= 10 * bytes_each else 1}f} {unit}"
    return plural(number, "byte")
