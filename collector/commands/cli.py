"""The command line: parse, call, print, exit code."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

from client_sdk.protocol import GRACE_S, Window
from collector.access import NAME, NAME_RULE, Role, digest_of, new_secret
from collector.commands.accept_loss import accept_loss
from collector.commands.backup import export_store, import_store
from collector.commands.check import check
from collector.commands.open_store import open_store
from collector.commands.options import (
    ErrorsForPeople,
    cluster_option,
    copies_option,
    data_dir_option,
    durability_option,
    log_format_option,
    one_of,
    redis_option,
)
from collector.commands.relay import relay
from collector.commands.retire import retire
from collector.commands.secret import read_secret
from collector.commands.upgrade import upgrade_store
from collector.config import DEFAULT_THREADS, HOUR_S, CollectorConfig, parse_bind, parse_size
from collector.errors import ConfigError

WITHOUT_UPLOAD_KEYS = (
    'an access file without a key for uploads says who may report, above its first [[key]]: uploads = "open" (anybody) '
    'or uploads = "keys" (nobody but through a relay)'
)

TOKEN_VARIABLE = "HEARSAY_READ_TOKEN"  # noqa: S105 a variable's name


@click.group()
@click.version_option(package_name="hearsay-ldp")
def cli() -> None:
    """Collect perturbed reports, and keep nothing but their tallies."""


for command in (accept_loss, check, export_store, import_store, relay, retire, upgrade_store):
    cli.add_command(command)


@cli.command()
@click.option("--registry", type=click.Path(path_type=Path), required=True, help="The file of definitions.")
@click.option("--access", "access_file", type=click.Path(path_type=Path), help="The file of keys: who may do what.")
@click.option("--read-token-file", type=click.Path(path_type=Path), help="A file that holds the read token.")
@click.option("--bind", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="Where to listen.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
@click.option(
    "--grace",
    "grace_s",
    type=int,
    default=GRACE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long after its end a window still takes reports.",
)
@click.option(
    "--snapshot-interval",
    "snapshot_interval_s",
    type=int,
    default=HOUR_S,
    show_default=True,
    metavar="SECONDS",
    help="Least time between two looks at open windows.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin of web pages that may report; may be repeated.",
)
@click.option("--workers", type=int, default=1, show_default=True, help="Worker processes.")
@click.option(
    "--threads", type=int, default=DEFAULT_THREADS, show_default=True, help="Threads a worker that handle requests."
)
@click.option(
    "--rename-app",
    "renames_app",
    is_flag=True,
    help="The store is that of an app which has a new name: the registry's.",
)
@log_format_option
@click.option(
    "--store-memory", metavar="SIZE", help="Memory that the embedded store may use, such as 2G; half of what there is."
)
@click.option("--metrics-bind", metavar="HOST:PORT", help="Where to serve Prometheus metrics; nowhere by default.")
def serve(
    bind: str,
    metrics_bind: str | None,
    store_memory: str | None,
    read_token_file: Path | None,
    **settings: Any,  # noqa: ANN401 each is typed by its option and by CollectorConfig
) -> None:
    """Run the service; it prints one line when it is ready.

    Without --access anybody may report, and tallies are read with the token in the environment variable
    HEARSAY_READ_TOKEN or in a file that --read-token-file or HEARSAY_READ_TOKEN_FILE names; where there is none, one is
    made and shown once.
    """
    from collector.service import serve as run  # noqa: PLC0415 the other commands need no server

    with ErrorsForPeople():
        host, port = parse_bind(bind)
        metrics = None if metrics_bind is None else parse_bind(metrics_bind, "--metrics-bind")
        memory_bytes = None if store_memory is None else parse_size(store_memory, "--store-memory")
        token = read_secret(TOKEN_VARIABLE, read_token_file)
        is_made = token is None and settings["access_file"] is None
        token = new_secret() if is_made else token
        config = CollectorConfig(
            host=host,
            port=port,
            read_token=token,
            metrics_bind=metrics,
            store_memory_bytes=memory_bytes,
            **settings,
        )
        if is_made:
            click.echo(f"{TOKEN_VARIABLE} is not set; the read token of this run is: {token}", err=True)
        run(config)


@cli.command()
@click.option("--window", "name", required=True, metavar="WINDOW", help="Such as 2026-11-20, 2026-W47 or 2026-11.")
@data_dir_option
@redis_option
@cluster_option
@durability_option
@copies_option
def close(name: str, **store: Any) -> None:  # noqa: ANN401 each is typed by its option and by open_store
    """Close a window early and for good: it takes no further report, and its tallies are final.

    --durability and --copies are those of the service: the window is closed where, and as often as, reports are kept.
    """
    with ErrorsForPeople():
        window = Window.parse(name)
        if window.starts_at > time.time():
            raise ConfigError(f"the window {window} has not begun; only a window that has can be closed")
        open_store(**store).close(window)
        click.echo(f"window {window} is closed")


@cli.command()
@click.argument("name")
@click.option("--role", **one_of(Role, Role.UPLOAD), help="What the key is for.")
def key(name: str, role: Role) -> None:
    """Make a new secret: it is shown once, on standard error; what goes into the access file, on standard output."""
    with ErrorsForPeople():
        if not NAME.fullmatch(name):
            raise ConfigError(f"NAME {NAME_RULE}")
        secret = new_secret()
        if role is not Role.UPLOAD:
            click.echo(WITHOUT_UPLOAD_KEYS, err=True)
        entry = f'[[key]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest_of(secret).hex()}"\n'
        click.echo(f"the secret of {name}, shown only here: {secret}", err=True)
        click.echo(entry)
