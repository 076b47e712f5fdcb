"""The collector's address and key, as an app gives them."""

from __future__ import annotations

from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way


def check_address(collector: str, upload_key: str | None, *, allow_plain_http: bool) -> None:
    """Refuse an address or a key that an upload must not or cannot use.

    Raises:
        ValueError: if the address is no http or https URL, or has a query, a fragment, blanks
            or a user name; if it leads to another machine without TLS and that is not allowed;
            or if the secret is not printable ASCII without blanks.
        TypeError: if the secret is no text.

    """
    if not is_base_url(collector):  # not shown: it may hold a password
        raise ValueError(
            "collector must be a URL such as https://telemetry.example.com, without query, fragment, blanks or user"
        )
    if is_readable_on_the_way(collector) and not allow_plain_http:
        raise ValueError(
            "collector must be an https:// URL, unless it is on this machine: anybody on the way could read "
            "reports and upload_key, and answer in the collector's name; allow_plain_http=True allows that"
        )
    if not isinstance(upload_key, str | None):
        raise TypeError("upload_key must be a text, or None if the collector requires none")
    if upload_key is not None and not _is_token(upload_key):  # not shown: it is a secret
        raise ValueError("upload_key must be printable ASCII without blanks")


def _is_token(text: str) -> bool:
    return bool(text) and text.isascii() and text.isprintable() and " " not in text
