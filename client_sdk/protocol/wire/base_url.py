"""Checks of the base URL of a collector or relay.

The checks concern the URL's format, and whether others can read requests to the URL.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_MOST_PART = 63
"""The maximum number of octets between two dots of a host name (RFC 1035, section 2.3.4)."""

_BYTE = r"(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])"
_THIS_MACHINE = rf"localhost|127(\.{_BYTE}){{3}}|::1"
"""Matches the loopback host name and addresses. Traffic to these hosts never leaves this machine
(RFC 1122, section 3.2.1.3; RFC 4291, section 2.5.3).

RFC 6761 also lists ``app.localhost`` and ``localhost.``. But for these two names and for
``127.0.0.999``, glibc asks the network's name server, which can return another machine's address.
"""


def is_host(name: str) -> bool:
    """Whether a string can be a host name. Each part has 1 to 63 octets; a final dot is valid."""
    if name.isascii():  # the codec gives the same result, but its tables take 2 ms to load
        *parts, last = name.split(".")
        return bool(name) and all(0 < len(part) <= _MOST_PART for part in parts) and len(last) <= _MOST_PART
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def is_base_url(text: str) -> bool:
    """Whether a string is an http or https URL that has no user, query, fragment or blanks."""
    try:
        parts = urlsplit(text)
        well_formed = parts.scheme in ("https", "http") and is_host(parts.hostname or "") and parts.port != 0
    except (AttributeError, ValueError):  # not a string, or an invalid port or IPv6 address
        return False
    return well_formed and text.isprintable() and not any(mark in text for mark in " ?#@\\")


def is_on_this_machine(base_url: str) -> bool:
    """Whether the host of a base URL is this machine."""
    return re.fullmatch(_THIS_MACHINE, urlsplit(base_url).hostname or "", re.ASCII) is not None


def is_readable_on_the_way(base_url: str) -> bool:
    """Whether requests to a base URL leave this machine without TLS."""
    return urlsplit(base_url).scheme == "http" and not is_on_this_machine(base_url)


def proxies_to(base_url: str) -> dict[str, str] | None:
    """Return the proxies that `requests` must use for a base URL.

    If the result is None, `requests` uses the proxies that environment variables name.

    For a URL on this machine, no proxy is used, because a proxy may be on another machine.
    """
    return {"http": "", "https": ""} if is_on_this_machine(base_url) else None


def check_address(collector: str, upload_key: str | None, *, allow_plain_http: bool) -> None:
    """Check that a collector's address and upload key are valid and safe to use.

    Raises:
        ValueError: if the address is not an http or https URL, or has a query, a fragment, blanks
            or a user name; if a remote address does not use TLS, and ``allow_plain_http`` is false;
            or if the key is not printable ASCII without blanks.
        TypeError: if the key is not a string.
    """
    if not is_base_url(collector):  # the address is not shown, because it may contain a password
        raise ValueError(
            "collector must be a URL such as https://telemetry.example.com, without query, fragment, spaces or user"
        )
    if is_readable_on_the_way(collector) and not allow_plain_http:
        raise ValueError(
            "collector must be an https:// URL, unless it is on this machine: anybody on the path could read "
            "reports and upload_key, and answer in the collector's name; to accept this, pass allow_plain_http=True"
        )
    if not isinstance(upload_key, str | None):
        raise TypeError("upload_key must be a string, or None if the collector needs none")
    if upload_key is not None and not _is_token(upload_key):  # the key is not shown, because it is a secret
        raise ValueError("upload_key must be printable ASCII without spaces")


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
