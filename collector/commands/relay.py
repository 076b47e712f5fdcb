"""The command ``hearsay-collector relay`` and its options."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from collector.commands.options import examples, log_format_option, metrics_option, read_secret
from collector.config import parse_bind
from collector.errors import ConfigError
from collector.relay.config import DEFAULT_GATHER_S, DEFAULT_HELD, RelayConfig

KEY_VARIABLE = "HEARSAY_RELAY_KEY"


@click.command(
    short_help="Mix and forward uploads.",
    epilog=examples(
        "hearsay-collector relay --to https://telemetry.example.com --key-file relay.key --state relay.json"
    ),
)
@click.option("--to", "collector", metavar="URL", required=True, help="The collector's base URL.")
@click.option(
    "--allow-plain-http",
    is_flag=True,
    help="Accept an http:// URL of another machine. Anyone on the network path can read uploads.",
)
@click.option("--key-file", type=click.Path(path_type=Path), help="A file that contains the relay key.")
@click.option(
    "--state",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file with the relay's list of stopped questions. The relay creates this file. Do not lose the file.",
)
@click.option(
    "--bind", default="127.0.0.1:8081", show_default=True, metavar="HOST:PORT", help="The address to listen on."
)
@click.option(
    "--gather",
    "gather_s",
    type=float,
    default=DEFAULT_GATHER_S,
    show_default=True,
    metavar="SECONDS",
    help="The longest time that an upload waits for its batch to be sent.",
)
@click.option(
    "--held", type=int, default=DEFAULT_HELD, show_default=True, help="The maximum number of uploads in memory."
)
@log_format_option
@metrics_option
def relay(
    bind: str,
    metrics_bind: str | None,
    key_file: Path | None,
    **settings: Any,  # noqa: ANN401 RelayConfig and the options define the types
) -> None:
    """Mix and forward uploads, so that the collector does not see any device's address.

    The relay's key comes from the environment variable HEARSAY_RELAY_KEY, or from a file that
    --key-file or HEARSAY_RELAY_KEY_FILE names. The collector's access file must list the key.
    """
    from collector.relay.serve import serve  # noqa: PLC0415 saves 280 ms in the other commands

    host, port = parse_bind(bind)
    metrics = None if metrics_bind is None else parse_bind(metrics_bind, "--metrics-bind")
    key = read_secret(KEY_VARIABLE, key_file)
    if key is None:
        raise ConfigError(f"a relay needs a key: set {KEY_VARIABLE}, or name a file with --key-file")
    serve(RelayConfig(key=key, host=host, port=port, metrics_bind=metrics, **settings))
