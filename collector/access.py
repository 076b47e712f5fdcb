"""Access control by the keys in an access file.

The file contains the SHA-256 digest of each key's secret, not the secret itself. Several keys may
have the same name, for example while a secret is being replaced.

The parser is strict. A single error lists all mistakes in the file.
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

from client_sdk.protocol.toml_table import TomlTable
from collector.config import DAY_S
from collector.errors import ConfigError, require
from collector.judge import Allowance

SECRET_BYTES = 32
"""The length of a secret in bytes.

Nobody can guess 256 random bits, so a fast hash function protects the secret well enough.
"""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
"""The pattern of a key's name. Names appear in log lines and in Redis keys."""

NAME_RULE = "must have 1 to 64 characters: lowercase letters, digits, - and _, starting with a letter or digit"

MAX_QUOTA = 10**12
"""The maximum quota, in reports per UTC day."""

DIGEST = re.compile(r"[0-9a-f]{64}")


class Role(StrEnum):
    """The permission that a key gives."""

    UPLOAD = "upload"
    READ = "read"
    RELAY = "relay"


@dataclass(frozen=True, slots=True)
class AccessKey:
    """A key. Everyone who knows its secret has the key's permissions.

    Attributes:
        name: the holder's name. Several keys may have the same name.
        digest: the SHA-256 digest of the secret, 32 bytes.
        quota: the number of reports per UTC day that all ``upload`` and ``relay`` keys with this
            name may send together. None for no limit.
        metrics: the metrics that a ``read`` key may read. None for all metrics.
        preliminary: whether a ``read`` key may read tallies of open windows.
    """

    name: str
    role: Role
    digest: bytes
    quota: int | None = None
    metrics: frozenset[str] | None = None
    preliminary: bool = False

    def allowance(self, now_s: float) -> Allowance | None:
        """Return the key's allowance for the UTC day of ``now_s`` (Unix seconds).

        If the key has no quota, return None.
        """
        if self.quota is None:
            return None
        return Allowance(self.name, self.quota, (int(now_s) // DAY_S + 1) * DAY_S)

    def may_read(self, metric: str) -> bool:
        """Return whether the key may read the tallies of a metric."""
        return self.metrics is None or metric in self.metrics


@dataclass(frozen=True, slots=True)
class Access:
    """All keys of a collector, in the order of the access file.

    Attributes:
        uploads_are_open: whether anybody may report. The access file must permit this explicitly.
    """

    keys: tuple[AccessKey, ...]
    uploads_are_open: bool = False

    def find(self, secret: str) -> AccessKey | None:
        """Return the key with this secret, or None if no key has it.

        The search takes equally long for every secret.
        """
        digest = digest_of(secret)
        match = None
        for key in self.keys:
            # compare all keys: if the search stopped at a match, its duration would reveal the
            # position of the key
            if hmac.compare_digest(key.digest, digest):
                match = key
        return match

    @classmethod
    def of_token(cls, token: str) -> Access:
        """Return the permissions that apply if there is no access file.

        Anybody may report, and everyone who knows ``token`` may read all tallies.
        """
        key = AccessKey("read-token", Role.READ, digest_of(token), preliminary=True)
        return cls((key,), uploads_are_open=True)


def new_secret() -> str:
    """Return a new random secret. All its characters are safe in an HTTP header."""
    return secrets.token_urlsafe(SECRET_BYTES)


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 digest of a secret."""
    return sha256(secret.encode(errors="surrogateescape")).digest()


class Uploads(StrEnum):
    """The clients that may report: everyone, or only holders of an upload or relay key."""

    OPEN = "open"
    KEYS = "keys"


UPLOADS_RULE = (
    'is missing, and there is no upload key: above the first [[key]], write uploads = "open" to let anyone '
    'report, or uploads = "keys" to accept uploads from relays only'
)
"""The error for a file that lists no upload key and does not say who may report.

Without this error, removing the last upload key could open uploads to everybody by accident.
"""


ABOVE_KEYS = "applies to the whole file: move it above the first [[key]], as lines below [[key]] belong to that key"
"""The error for a file that sets ``uploads`` inside a ``[[key]]`` table."""

READ_ONLY, UPLOADING_ONLY = (
    f"is only for a key with {roles}: remove it, or give the key that role"
    for roles in ('role = "read"', 'role = "upload" or "relay"')
)


def load_access(path: Path) -> Access:
    """Read an access file, or raise a ConfigError that lists all mistakes in the file."""
    try:
        return parse_access(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; give a readable file with --access") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error


def parse_access(text: str) -> Access:
    """Parse the text of an access file, or raise a ConfigError that lists all mistakes."""
    require(not text.startswith("\ufeff"), "begins with a byte order mark; save it as UTF-8 without one")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"is not TOML: {error}") from error
    mistakes: list[tuple[str, str]] = []
    top = TomlTable(document, "", mistakes)
    uploads = top.choice("uploads", Uploads, required=False)
    raw = top.take("key", required=True)
    top.nothing_else()
    if raw is not None and not isinstance(raw, list):
        top.mistake("key", "must be one or more [[key]] tables")
    tables = raw if isinstance(raw, list) else []
    keys = [_read_key(TomlTable(table, f"key[{number}]", mistakes)) for number, table in enumerate(tables, 1)]
    digests = [key.digest for key in keys]
    if not mistakes and len(set(digests)) < len(digests):
        top.mistake(
            "key", "two keys have the same digest; create a separate secret for each with: hearsay-collector key NAME"
        )
    if not mistakes:
        _require_clear(top, uploads, keys)
    if mistakes:
        raise ConfigError("\n".join(f"{place}: {problem}" for place, problem in mistakes))
    return Access(tuple(keys), uploads is Uploads.OPEN)


def _require_clear(top: TomlTable, uploads: Uploads | None, keys: list[AccessKey]) -> None:
    """Record a mistake if the file does not say who may report, or contradicts itself."""
    has_upload_key = any(key.role is Role.UPLOAD for key in keys)
    if uploads is None and not has_upload_key:
        top.mistake("uploads", UPLOADS_RULE)
    if uploads is Uploads.OPEN and has_upload_key:
        top.mistake("uploads", 'is "open", but the file has an upload key: remove that key, or write uploads = "keys"')


def _read_key(table: TomlTable) -> AccessKey:
    """Return the key that ``table`` defines. Record mistakes in ``table``."""
    name = table.text("name", required=True)
    if name and not NAME.fullmatch(name):
        table.mistake("name", NAME_RULE)
    role = table.choice("role", Role, required=True)
    digest = table.text("sha256", required=True)
    if digest and not DIGEST.fullmatch(digest):
        table.mistake("sha256", "must be 64 lowercase hex digits, as printed by hearsay-collector key NAME")
        digest = ""
    scope: dict[str, Any] = {}
    misplaced = {"uploads": ABOVE_KEYS}
    if role is Role.READ:
        misplaced["quota"] = UPLOADING_ONLY
        scope = {"metrics": _read_metrics(table), "preliminary": table.flag("preliminary")}
    elif role is not None:
        misplaced |= {"metrics": READ_ONLY, "preliminary": READ_ONLY}
        scope = {"quota": _read_quota(table)}
    for key, problem in misplaced.items():
        if table.has(key):
            table.take(key)
            table.mistake(key, problem)
    if role is not None:
        table.nothing_else()
    return AccessKey(name, role or Role.READ, bytes.fromhex(digest), **scope)


def _read_quota(table: TomlTable) -> int | None:
    quota = table.take("quota")
    if quota is not None and (type(quota) is not int or not 1 <= quota <= MAX_QUOTA):
        table.mistake("quota", f"must be a whole number of reports from 1 to {MAX_QUOTA}")
        return None
    return quota


def _read_metrics(table: TomlTable) -> frozenset[str] | None:
    raw = table.take("metrics")
    if raw is None:
        return None
    if not isinstance(raw, list) or not raw or not all(isinstance(name, str) for name in raw):
        table.mistake(
            "metrics", 'must be a list of names, such as ["os", "dark_mode"]; omit it to let the key read all metrics'
        )
        return None
    return frozenset(raw)
