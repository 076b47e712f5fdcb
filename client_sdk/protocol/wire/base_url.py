"""The base URL of a collector or relay: its form, and whether others can read the traffic."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_THIS_MACHINE = re.compile(r"localhost\.?|.+\.localhost\.?|127(\.\d{1,3}){3}|::1", re.IGNORECASE)
"""Names and addresses that never leave this machine (RFC 6761, section 6.3; RFC 1122, section
3.2.1.3; RFC 4291, section 2.5.3)."""


def is_host(name: str) -> bool:
    """Whether a text may name a machine: one with an empty or too long part, as `a..b`, cannot."""
    try:
        return bool(name.encode("idna"))
    except UnicodeError:
        return False


def is_base_url(text: str) -> bool:
    """Whether a text is an http or https URL without user, query, fragment or blanks."""
    try:
        parts = urlsplit(text)
        well_formed = parts.scheme in ("https", "http") and is_host(parts.hostname or "") and parts.port != 0
    except (AttributeError, ValueError):  # no text, or an invalid port or IPv6 address
        return False
    return well_formed and text.isprintable() and not any(mark in text for mark in " ?#@\\")


def is_readable_on_the_way(base_url: str) -> bool:
    """Whether anything sent to a base URL leaves this machine without TLS."""
    parts = urlsplit(base_url)
    return parts.scheme == "http" and not _THIS_MACHINE.fullmatch(parts.hostname or "")
