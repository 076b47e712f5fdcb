"""The command ``hearsay-collector serve`` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from client_sdk.protocol.registry.registry import FOLDER
from collector.access import new_secret
from collector.commands.options import (
    examples,
    grace_option,
    log_format_option,
    metrics_option,
    read_secret,
    registry_option,
    served_store_options,
    store_memory_option,
)
from collector.config import DEFAULT_THREADS, HOUR_S, CollectorConfig, parse_bind

TOKEN_VARIABLE = "HEARSAY_READ_TOKEN"  # noqa: S105 the name of a variable


@click.command(
    epilog=examples(
        "hearsay-collector serve --registry metrics.toml",
        "hearsay-collector serve --trial",
        "hearsay-collector serve --registry metrics.toml --bind 0.0.0.0:8080 --access access.toml",
    )
)
@registry_option
@click.option(
    "--access", "access_file", type=click.Path(path_type=Path), help="The access file: the keys and their permissions."
)
@click.option("--read-token-file", type=click.Path(path_type=Path), help="A file that contains the read token.")
@click.option(
    "--bind", default="127.0.0.1:8080", show_default=True, metavar="HOST:PORT", help="The address to listen on."
)
@served_store_options
@grace_option
@click.option(
    "--snapshot-interval",
    "snapshot_interval_s",
    type=int,
    default=HOUR_S,
    show_default=True,
    metavar="SECONDS",
    help="The minimum time between two snapshots of open windows.",
)
@click.option(
    "--cors-origin",
    "cors_origins",
    multiple=True,
    metavar="ORIGIN",
    help="An origin whose web pages may report. Repeatable.",
)
@click.option("--workers", type=int, default=1, show_default=True, help="Worker processes.")
@click.option("--threads", type=int, default=DEFAULT_THREADS, show_default=True, help="Request threads per worker.")
@click.option(
    "--allow-unknown-editions",
    "allows_unknown_editions",
    is_flag=True,
    help="Start even if devices report questions that neither the registry nor its history defines.",
)
@click.option(
    "--rename-app",
    "renames_app",
    is_flag=True,
    help="Accept the store of an app that has since been renamed to the registry's app name.",
)
@log_format_option
@store_memory_option
@metrics_option
@click.option(
    "--trial",
    "is_trial",
    is_flag=True,
    help="Use a separate store, count only reports from Telemetry(…, trial=True), and show open windows at any time.",
)
def serve(
    bind: str,
    metrics_bind: str | None,
    read_token_file: Path | None,
    **settings: Any,  # noqa: ANN401 CollectorConfig and the options define the types
) -> None:
    """Run the service. The service prints one line when it is ready.

    Without --access, anyone may report. The read token then comes from the environment variable
    HEARSAY_READ_TOKEN, or from a file that --read-token-file or HEARSAY_READ_TOKEN_FILE names.
    Without a token, a new token is generated and shown once.
    """
    from collector.service import serve as run  # noqa: PLC0415 saves 114 ms in the other commands

    if settings["is_trial"]:
        settings |= {"snapshot_interval_s": 0, "allows_unknown_editions": True}
        settings["data_dir"] /= FOLDER
    host, port = parse_bind(bind)
    metrics = None if metrics_bind is None else parse_bind(metrics_bind, "--metrics-bind")
    token = read_secret(TOKEN_VARIABLE, read_token_file)
    is_new = token is None and settings["access_file"] is None
    token = new_secret() if is_new else token
    config = CollectorConfig(host=host, port=port, read_token=token, metrics_bind=metrics, **settings)
    if is_new:
        click.echo(f"{TOKEN_VARIABLE} is not set; the read token for this run is: {token}", err=True)
    run(config)
