"""Who may do what: the keys of the access file. Pure but for reading that file, which holds digests and no secret.

A key is known by the SHA-256 digest of its secret. Secrets are long and random (`new_secret`), so that a digest tells
nobody what to send. Several keys may bear one name: an old one and a new one while a secret is replaced.
"""

from __future__ import annotations

import hmac
import re
import secrets
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Any

from client_sdk.protocol.registry.table import Table
from collector.config import DAY_S
from collector.errors import ConfigError
from collector.judge import Allowance

SECRET_BYTES = 32
"""256 random bits: nobody guesses them, so that one round of a fast digest is enough."""

MAX_QUOTA = 10**12
"""Reports of a key a day: a thousand of each device of a large population."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""Of a key: what can stand in a log line and in a key of the store."""

NAME_RULE = "must be 1 to 64 of: lower-case letters, digits, - and _; a letter or digit first"

DIGEST = re.compile(r"[0-9a-f]{64}")


class Role(StrEnum):
    """What a key is for: to report, to read tallies, or to hand on the uploads of others."""

    UPLOAD = "upload"
    READ = "read"
    RELAY = "relay"


class Uploads(StrEnum):
    """Who may report: anybody, or whoever bears a key for it."""

    OPEN = "open"
    KEYS = "keys"


UPLOADS_RULE = (
    'is missing, and no key is for uploads: write uploads = "open" above the first [[key]] to let anybody report, or '
    'uploads = "keys" to let nobody report but through a relay'
)
"""The absence of a key opens nothing: whoever takes the last one out need not mean to."""


@dataclass(frozen=True, slots=True)
class Key:
    """What the holder of one secret may do.

    Attributes:
        name: whose it is; several keys may bear it.
        role: what it is for.
        digest: SHA-256 of the secret: 32 bytes.
        quota: of ``upload`` and ``relay``: reports that all keys of this name may send in a UTC day; none: any number.
        metrics: of ``read``: names of the metrics whose tallies it reads; none: all of them.
        preliminary: of ``read``: whether it may look at open windows.

    """

    name: str
    role: Role
    digest: bytes
    quota: int | None = None
    metrics: frozenset[str] | None = None
    preliminary: bool = False

    def allowance(self, now_s: float) -> Allowance | None:
        """Return what the reports of its holder are charged to at an instant (Unix seconds), if there is a quota."""
        if self.quota is None:
            return None
        return Allowance(self.name, self.quota, (int(now_s) // DAY_S + 1) * DAY_S)

    def may_read(self, metric: str) -> bool:
        """Whether it reads the tallies of a metric."""
        return self.metrics is None or metric in self.metrics


@dataclass(frozen=True, slots=True)
class Access:
    """Every key there is.

    Attributes:
        keys: in the file's order.
        uploads_are_open: whether anybody may report; never because a key is missing, only because somebody said so.

    """

    keys: tuple[Key, ...]
    uploads_are_open: bool = False

    def find(self, secret: str) -> Key | None:
        """Return the key of a secret, or none; the time that takes says nothing of either."""
        given = digest_of(secret)
        found = None
        for key in self.keys:  # to the end in any case: where a search ends tells which key was met
            if hmac.compare_digest(key.digest, given):
                found = key
        return found

    @classmethod
    def of_token(cls, token: str) -> Access:
        """Return the access of a collector without a file: anybody reports, the bearer of one token reads it all."""
        key = Key("read-token", Role.READ, digest_of(token), preliminary=True)
        return cls((key,), uploads_are_open=True)

    @classmethod
    def load(cls, path: Path) -> Access:
        """Read an access file.

        Raises:
            ConfigError: naming every mistake by key, or saying why the file cannot be read.

        """
        try:
            return cls.parse(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise ConfigError(f"{path} cannot be read: {error.strerror}; name a readable file with --access") from error
        except UnicodeDecodeError as error:
            raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from error
        except ConfigError as error:
            raise ConfigError(f"{path}: {error}") from error

    @classmethod
    def parse(cls, text: str) -> Access:
        """Read the text of an access file.

        Raises:
            ConfigError: naming every mistake by key.

        """
        try:
            document = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"is not TOML: {error}") from error
        mistakes: list[tuple[str, str]] = []
        top = Table(document, "", mistakes)
        uploads = top.choice("uploads", Uploads, required=False)
        raw = top.take("key", required=True)
        top.nothing_else()
        if raw is not None and not isinstance(raw, list):
            top.mistake("key", "must be one or more tables: [[key]]")
        tables = raw if isinstance(raw, list) else []
        keys = [_read_key(Table(table, f"key[{place}]", mistakes)) for place, table in enumerate(tables, 1)]
        digests = [key.digest for key in keys]
        if not mistakes and len(set(digests)) < len(digests):
            top.mistake("key", "two keys have the same digest; make a secret for each with: hearsay-collector key NAME")
        if not mistakes:
            _require_clear(top, uploads, keys)
        if mistakes:
            raise ConfigError("\n".join(f"{place}: {problem}" for place, problem in mistakes))
        return cls(tuple(keys), uploads is Uploads.OPEN)


def new_secret() -> str:
    """Return a fresh secret, of characters that any header can carry."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 digest of a secret."""
    return sha256(secret.encode(errors="surrogateescape")).digest()


def _require_clear(top: Table, uploads: Uploads | None, keys: list[Key]) -> None:
    """Note a file that leaves open who may report, or says two things of it."""
    has_upload_key = any(key.role is Role.UPLOAD for key in keys)
    if uploads is None and not has_upload_key:
        top.mistake("uploads", UPLOADS_RULE)
    if uploads is Uploads.OPEN and has_upload_key:
        top.mistake("uploads", 'is "open", and a key is for uploads: remove that key, or write uploads = "keys"')


def _read_key(table: Table) -> Key:
    """Read one key; what is mistaken is noted in the table, and something stands in its place."""
    name = table.text("name", required=True)
    if name and not NAME.fullmatch(name):
        table.mistake("name", NAME_RULE)
    role = table.choice("role", Role, required=True)
    digest = table.text("sha256", required=True)
    if digest and not DIGEST.fullmatch(digest):
        table.mistake("sha256", "must be 64 lower-case hex digits, as hearsay-collector key NAME prints them")
        digest = ""
    scope: dict[str, Any] = {}
    if role is Role.READ:
        scope = {"metrics": _read_metrics(table), "preliminary": table.flag("preliminary")}
    elif role is not None:
        scope = {"quota": _read_quota(table)}
    if role is not None:
        table.nothing_else()
    return Key(name, role or Role.READ, bytes.fromhex(digest), **scope)


def _read_quota(table: Table) -> int | None:
    quota = table.take("quota")
    if quota is not None and (type(quota) is not int or not 1 <= quota <= MAX_QUOTA):
        table.mistake("quota", f"must be a whole number of reports from 1 to {MAX_QUOTA}")
        return None
    return quota


def _read_metrics(table: Table) -> frozenset[str] | None:
    raw = table.take("metrics")
    if raw is None:
        return None
    if not isinstance(raw, list) or not raw or not all(isinstance(name, str) for name in raw):
        table.mistake("metrics", 'must be a list of names, such as ["os", "dark_mode"]; without it all are read')
        return None
    return frozenset(raw)
