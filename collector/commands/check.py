"""``hearsay-collector check``: whether a deployment will work, a line a check."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import click

from client_sdk.protocol import Registry
from collector.access import new_secret
from collector.check.access import check_access
from collector.check.store import Finding, Level, check_data_dir, check_disk, check_registry, check_store
from collector.commands.options import (
    ErrorsForPeople,
    cluster_option,
    copies_option,
    data_dir_option,
    durability_option,
    redis_option,
)
from collector.config import CollectorConfig
from collector.embedded.aof import STORE_DIR
from collector.embedded.store import EmbeddedStore, running_store_url, server_program
from collector.errors import ConfigError
from collector.store.redis_store import RedisStore


@click.command()
@click.option("--registry", type=click.Path(path_type=Path), required=True, help="The file of definitions.")
@click.option("--access", "access_file", type=click.Path(path_type=Path), help="The file of keys.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def check(access_file: Path | None, **settings: Any) -> None:  # noqa: ANN401 each is typed by its option and by CollectorConfig
    """Look at registry, keys and store before a deployment, and change nothing: a line a check, with what to do.

    The exit status is 1 if any check failed. A collector may be running.
    """
    with ErrorsForPeople():
        config = CollectorConfig(host="127.0.0.1", port=8080, read_token=new_secret(), **settings)
        registry, found = check_registry(config.registry, datetime.now(UTC).date())
        failed = False
        keys = () if access_file is None else check_access(access_file, registry)
        for finding in chain(found, keys, _store(config, registry)):
            click.echo(f"{finding.level:<8}{finding.what}: {finding.text}")
            failed = failed or finding.level is Level.FAILED
    sys.exit(int(failed))


def _store(config: CollectorConfig, registry: Registry | None) -> Iterator[Finding]:
    """Yield the findings on the store, which is started for the time being where it does not run."""
    if config.redis_url is None:
        yield check_disk(config.data_dir)
        usable = check_data_dir(config.data_dir)
        yield usable
        if usable.level is Level.FAILED:
            return
        if not (config.data_dir / STORE_DIR).is_dir():
            yield _embeddable(config.data_dir)
            return
    with contextlib.ExitStack() as stack:
        try:
            url = config.redis_url or _url_on(config.data_dir, stack)
            store = RedisStore(url, config.promise, is_cluster=config.is_cluster)
        except ConfigError as error:
            yield Finding(Level.FAILED, "store", str(error))
            return
        stack.callback(store.disconnect)
        yield from check_store(store, config.promise, registry)


def _url_on(data_dir: Path, stack: contextlib.ExitStack) -> str:
    try:
        return running_store_url(data_dir)
    except ConfigError:
        return stack.enter_context(EmbeddedStore(data_dir)).url


def _embeddable(data_dir: Path) -> Finding:
    try:
        program = server_program()
    except ConfigError as error:
        return Finding(Level.FAILED, "store", str(error))
    return Finding(Level.OK, "store", f"there is none in {data_dir} yet; it will be made with {Path(program).name}")
