"""Who may do what: the keys of a collector. Pure.

A key holds the SHA-256 digest of its secret, not the secret. Secrets are long and random
(`new_secret`), so a digest does not reveal what to send. Several keys may have one name: the old
and the new one while a secret is being replaced.
"""

from __future__ import annotations

import hmac
import re
import secrets
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from collector.config import DAY_S
from collector.judgement import Allowance

SECRET_BYTES = 32
"""256 random bits: nobody can guess them, so one round of a fast digest is enough."""


NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""The name of a key: safe in a log line and in a key of the store."""

NAME_RULE = "must be 1 to 64 of: lower-case letters, digits, - and _; a letter or digit first"


class Role(StrEnum):
    """What a key is for: to report, to read tallies, or to hand on uploads of others."""

    UPLOAD = "upload"
    READ = "read"
    RELAY = "relay"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """What the holder of one secret may do.

    Attributes:
        name: the holder's name; several keys may have the same.
        role: what the key is for.
        digest: SHA-256 digest of the secret: 32 bytes.
        quota: for ``upload`` and ``relay``, the number of reports that all keys of this name may
            send in a UTC day; None for any number.
        metrics: for ``read``, the names of the metrics whose tallies the key reads; None for all.
        preliminary: for ``read``, whether the key may look at open windows.

    """

    name: str
    role: Role
    digest: bytes
    quota: int | None = None
    metrics: frozenset[str] | None = None
    preliminary: bool = False

    def allowance(self, now_s: float) -> Allowance | None:
        """Return the allowance at an instant (Unix seconds), or None without a quota."""
        if self.quota is None:
            return None
        return Allowance(self.name, self.quota, (int(now_s) // DAY_S + 1) * DAY_S)

    def may_read(self, metric: str) -> bool:
        """Whether the key may read the tallies of a metric."""
        return self.metrics is None or metric in self.metrics


@dataclass(frozen=True, slots=True)
class Access:
    """All keys of a collector.

    Attributes:
        keys: the keys, in the file's order.
        uploads_are_open: whether anybody may report. The file must say so: a missing key is not
            enough.

    """

    keys: tuple[AccessKey, ...]
    uploads_are_open: bool = False

    def find(self, secret: str) -> AccessKey | None:
        """Return the key of a secret, or None. The time that this takes reveals neither."""
        digest = digest_of(secret)
        match = None
        for key in self.keys:
            # go through all keys: the time of a search that stops would reveal which key matched
            if hmac.compare_digest(key.digest, digest):
                match = key
        return match

    @classmethod
    def of_token(cls, token: str) -> Access:
        """Return the access without a file: anybody may report, one token reads all tallies."""
        key = AccessKey("read-token", Role.READ, digest_of(token), preliminary=True)
        return cls((key,), uploads_are_open=True)


def new_secret() -> str:
    """Return a new secret, in characters that any header can carry."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 digest of a secret."""
    return sha256(secret.encode(errors="surrogateescape")).digest()
