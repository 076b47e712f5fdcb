"""``hearsay-collector check``, which tests whether a deployment will work."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import click

from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.registry.registry import Registry
from collector.access import new_secret
from collector.check import (
    CheckResult,
    Level,
    check_access,
    check_data_dir,
    check_disk,
    check_registry,
    check_store,
    check_tally_memory,
    failed,
    ok,
)
from collector.commands.opening import embedded_url
from collector.commands.options import (
    examples,
    grace_option,
    registry_option,
    served_store_options,
    store_memory_option,
)
from collector.config import CollectorConfig
from collector.embedded.aof import STORE_DIR
from collector.embedded.store import server_program
from collector.errors import ConfigError
from collector.redis_servers.memory import embedded_limit_bytes
from collector.store.redis_store import RedisStore
from collector.store.shards import SHARDS
from collector.store.tally_memory import TallyMemory


@click.command(epilog=examples("hearsay-collector check --registry metrics.toml --data-dir hearsay-data"))
@registry_option
@click.option("--access", "access_file", type=click.Path(path_type=Path), help="The access file.")
@served_store_options
@grace_option
@store_memory_option
def check(access_file: Path | None, **settings: Any) -> None:  # noqa: ANN401 CollectorConfig and the options define the types
    """Check registry, keys and store before a deployment.

    Print one line per check, and exit with status 1 if any check fails. A test record is written
    and then removed. Collectors may keep running on the store.
    """
    config = CollectorConfig(host="127.0.0.1", port=8080, read_token=new_secret(), **settings)
    registry, registry_results = check_registry(config.registry, datetime.now(UTC).date())
    access_results = () if access_file is None else check_access(access_file, registry)
    status = ExitStatus.DONE
    for result in chain(registry_results, access_results, _store(config, registry)):
        click.echo(f"{result.level:<8}{result.subject}: {result.text}")
        if result.level is Level.FAILED:
            status = ExitStatus.FAILED
    sys.exit(status)


def _store(config: CollectorConfig, registry: Registry | None) -> Iterator[CheckResult]:
    """Yield the results for the store. If an embedded store is not running, start it."""
    memory_bytes = config.store_memory_bytes or embedded_limit_bytes()
    if config.redis_url is None:
        yield check_disk(config.data_dir)
        data_dir_result = check_data_dir(config.data_dir)
        yield data_dir_result
        if data_dir_result.level is Level.FAILED:
            return
        if not (config.data_dir / STORE_DIR).is_dir():
            yield _new_store(config.data_dir)
            if registry is not None:
                yield check_tally_memory(TallyMemory.from_registry(registry, SHARDS, is_new=True), [memory_bytes])
            return
    with contextlib.ExitStack() as stack:
        try:
            url = config.redis_url or embedded_url(config.data_dir, stack, memory_bytes=memory_bytes)
            store = RedisStore(url, config.promise, is_cluster=config.is_cluster)
        except ConfigError as error:
            yield failed("store", str(error))
            return
        stack.callback(store.disconnect)
        yield from check_store(store, config.promise, registry, config.grace_s)


def _new_store(data_dir: Path) -> CheckResult:
    try:
        program = server_program()
    except ConfigError as error:
        return failed("store", str(error))
    text = f"there is no store in {data_dir} yet; serve creates it, with {Path(program).name}"
    return ok("store", text)
