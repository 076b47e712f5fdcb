"""The address of a collector or a relay: what is one, and whether what is sent there can be read on the way."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_THIS_MACHINE = re.compile(r"localhost\.?|.+\.localhost\.?|127(\.\d{1,3}){3}|::1", re.IGNORECASE)
"""Names and addresses that lead nowhere else (RFC 6761, section 6.3; RFC 1122, section 3.2.1.3; RFC 4291, 2.5.3)."""


def is_base_url(text: str) -> bool:
    """Whether a text is an http or https URL without user, query, fragment or blanks."""
    try:
        parts = urlsplit(text)
        well_formed = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an IPv6 address that is none
        return False
    return well_formed and text.isprintable() and not any(mark in text for mark in " ?#@\\")


def is_readable_on_the_way(base_url: str) -> bool:
    """Whether what is sent to a base URL leaves this machine without TLS."""
    parts = urlsplit(base_url)
    return parts.scheme == "http" and not _THIS_MACHINE.fullmatch(parts.hostname or "")
