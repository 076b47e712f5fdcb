"""What the URL of a store may say: a server, a login, a database and certificates.

redis-py takes every parameter of a URL for an argument of a connection. Some of them cannot be
texts, others would change how answers are read, switch checks of certificates off, or be overruled.
It ignores a host before the path of a socket, takes port 0 for 6379, and a database that is no
number, or one of thousands of digits, for 0. Of a parameter that comes twice it takes the first.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from client_sdk.protocol.wire.base_url import is_host
from collector.errors import ConfigError, require

SCHEMES: Final = ("redis", "rediss", "unix")

PARAMETERS: Final = ("db",)
"""The parameters of every URL."""

TLS_PARAMETERS: Final = ("ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile", "ssl_password")
"""The parameters that a URL with ``rediss`` may have too: none of them takes a check away."""

DATABASE: Final = re.compile(r"[0-9]{1,9}")

NO_URL: Final = (
    "--redis must be a URL such as redis://HOST:6379/0, rediss://HOST:6379/0 or unix:///PATH; write "
    "special characters of a password as %XX"
)


def require_url(url: str) -> None:
    """Refuse a URL of which redis-py would misunderstand or ignore a part.

    Raises:
        ConfigError: if there is one. It shows nothing but the names of parameters, and those only
            if no @ follows: a URL that was split in the wrong places may reveal a password.

    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ConfigError(NO_URL) from None
    # a NUL ends a path for the system
    require(parts.scheme in SCHEMES and not parts.fragment and "\0" not in unquote(url), NO_URL)
    parameters = _parameters(parts)
    if parts.scheme == "unix":
        require(parts.path not in ("", "/") and not parts.hostname and port is None, NO_URL)
        databases = [parameters.get("db", "")]
    else:
        require("@" not in parts.path and is_host(parts.hostname or "localhost") and port != 0, NO_URL)
        databases = [parts.path.strip("/"), parameters.get("db", "")]
    _require_database([number for number in databases if number])


def _parameters(parts: SplitResult) -> dict[str, str]:
    """Return the values of the parameters by their names, which are all known."""
    known = PARAMETERS + TLS_PARAMETERS if parts.scheme == "rediss" else PARAMETERS
    values: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            require("@" not in parts.query, NO_URL)
            require(name not in TLS_PARAMETERS, f"{name} in the URL of --redis needs rediss://")
            raise ConfigError(f"the URL of --redis may not have {name}, only {', '.join(known)}")
        require(value != "", f"{name} in the URL of --redis has no value")
        require(name not in values, f"{name} stands twice in the URL of --redis")
        values[name] = value
    for name in ("ssl_keyfile", "ssl_password"):
        require(name not in values or "ssl_certfile" in values, f"{name} in the URL of --redis needs ssl_certfile")
    return values


def _require_database(numbers: list[str]) -> None:
    require(
        all(map(DATABASE.fullmatch, numbers)),
        "the database in the URL of --redis must be a number, as in redis://HOST:6379/0",
    )
    require(len(numbers) <= 1, "the URL of --redis names its database twice, after the port and as db")
