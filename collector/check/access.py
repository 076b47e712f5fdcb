"""Looks at a file of keys before a deployment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from client_sdk.protocol import Registry
from collector.access import Access, Role
from collector.check.store import Finding, Level
from collector.errors import ConfigError


def check_access(path: Path, registry: Registry | None) -> Iterator[Finding]:
    """Yield what there is to say of the keys, held against the registry if that can be used."""
    try:
        access = Access.load(path)
    except ConfigError as error:
        yield from (Finding(Level.FAILED, "keys", problem) for problem in str(error).splitlines())
        return
    roles = Counter(key.role for key in access.keys)
    yield Finding(Level.OK, "keys", ", ".join(f"{roles[role]} {role}" for role in Role))
    if access.uploads_are_open:
        yield Finding(Level.OK, "keys", 'anybody may report: uploads = "open"')
    elif not roles[Role.UPLOAD]:
        text = 'nobody may report but through a relay: uploads = "keys", and no key is for uploads'
        yield Finding(Level.OK if roles[Role.RELAY] else Level.WARNING, "keys", text)
    if not roles[Role.READ]:
        yield Finding(Level.WARNING, "keys", "nobody may read tallies: hearsay-collector key NAME --role read")
    if registry is not None:
        yield from _unknown_metrics(access, registry)


def _unknown_metrics(access: Access, registry: Registry) -> Iterator[Finding]:
    for key in access.keys:
        for metric in sorted((key.metrics or frozenset()) - registry.metrics.keys()):
            text = f"{key.name} may read {metric}, which the registry does not define: correct it, or leave it out"
            yield Finding(Level.WARNING, "keys", text)
