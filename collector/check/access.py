"""Checks an access file before a deployment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from client_sdk.protocol.registry.registry import Registry
from collector.access_file import load_access
from collector.access_keys import Access, Role
from collector.check.result import CheckResult, Level
from collector.errors import ConfigError


def check_access(path: Path, registry: Registry | None) -> Iterator[CheckResult]:
    """Yield the results for an access file, compared with the registry if there is one."""
    try:
        access = load_access(path)
    except ConfigError as error:
        yield from (CheckResult(Level.FAILED, "keys", problem) for problem in str(error).splitlines())
        return
    roles = Counter(key.role for key in access.keys)
    yield CheckResult(Level.OK, "keys", ", ".join(f"{roles[role]} {role}" for role in Role))
    if access.uploads_are_open:
        yield CheckResult(Level.OK, "keys", 'anybody may report: uploads = "open"')
    elif not roles[Role.UPLOAD]:
        text = 'only relays may report: uploads = "keys", and no key is for uploads'
        yield CheckResult(Level.OK if roles[Role.RELAY] else Level.WARNING, "keys", text)
    if not roles[Role.READ]:
        yield CheckResult(Level.WARNING, "keys", "nobody may read tallies: hearsay-collector key NAME --role read")
    if registry is not None:
        yield from _unknown_metrics(access, registry)


def _unknown_metrics(access: Access, registry: Registry) -> Iterator[CheckResult]:
    for key in access.keys:
        for metric in sorted((key.metrics or frozenset()) - registry.metrics.keys()):
            text = f"{key.name} may read {metric}, which the registry does not define: correct it, or leave it out"
            yield CheckResult(Level.WARNING, "keys", text)
