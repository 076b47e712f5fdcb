"""What the URL of a store may say: a server, a login, a database, certificates and time limits.

redis-py takes every parameter of a URL for an argument of a connection. Some of them cannot be
texts, others would change how answers are read, and a database that is no number counts as 0.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from client_sdk.protocol.wire.base_url import is_host
from collector.errors import ConfigError, require

SCHEMES: Final = ("redis", "rediss", "unix")

PARAMETERS: Final = (
    "db",
    "username",
    "password",
    "client_name",
    "socket_connect_timeout",
    "socket_keepalive",
    "socket_timeout",
)
"""The parameters of every URL."""

TLS_PARAMETERS: Final = (
    "ssl_ca_certs",
    "ssl_ca_data",
    "ssl_ca_path",
    "ssl_cert_reqs",
    "ssl_certfile",
    "ssl_check_hostname",
    "ssl_ciphers",
    "ssl_keyfile",
    "ssl_min_version",
    "ssl_password",
)
"""The parameters that a URL with ``rediss`` may have too."""

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
    except ValueError:
        raise ConfigError(NO_URL) from None
    require(parts.scheme in SCHEMES and not parts.fragment, NO_URL)
    _require_parameters(parts)
    if parts.scheme != "unix":
        require("@" not in parts.path and is_host(parts.hostname or "localhost"), NO_URL)
        _require_database(parts.path.strip("/"))


def _require_parameters(parts: SplitResult) -> None:
    known = PARAMETERS + TLS_PARAMETERS if parts.scheme == "rediss" else PARAMETERS
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in known:
            require("@" not in parts.query, NO_URL)
            require(name not in TLS_PARAMETERS, f"{name} in the URL of --redis needs rediss://")
            raise ConfigError(f"the URL of --redis may not have {name}, only {', '.join(known)}")
        require(value != "", f"{name} in the URL of --redis has no value")
        if name == "db":
            _require_database(value)


def _require_database(number: str) -> None:
    require(
        not number or (number.isascii() and number.isdigit()),
        "the database in the URL of --redis must be a number, as in redis://HOST:6379/0",
    )
