"""Errors of servers, translated into the collector's own."""

from __future__ import annotations

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from client_sdk.protocol.wire.failure import Failure, failure_of
from collector.errors import ConfigError, StoreFullError, StoreUnavailableError


class TooFewCopiesError(RedisError):
    """A write was made, but too few replicas have it on disk yet."""


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Translate an error of a server into one of the collector's own."""
    if isinstance(error, (ConfigError, TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    if isinstance(error, OutOfMemoryError):
        return StoreFullError("the store's memory is full: give it more, or retire tallies")
    failure = failure_of(error)
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)) or failure is Failure.DISK:
        return StoreUnavailableError(failure.said_of("the store", str(error)))
    return StoreUnavailableError(f"the store returned an error: {error}")
