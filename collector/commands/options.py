"""Options that several commands share, and a function that reads secrets.

Every user of a machine can read the command lines of running programs. Secrets therefore come from
the environment or from files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

import click

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import GRACE_S, Window
from collector.config import parse_size
from collector.errors import ConfigError, OptionError, require
from collector.log import LogFormat
from collector.required_settings import Durability


def member_option(members: type[StrEnum], default: StrEnum) -> dict[str, Any]:
    """Return the settings of an option that accepts the values of an enumeration.

    click itself would accept the names of the members instead.
    """
    return {
        "type": click.Choice([member.value for member in members], case_sensitive=False),
        "default": default.value,
        "show_default": True,
        "callback": lambda _context, _option, value: members(value),
    }


def examples(*lines: str) -> str:
    """Return the section of example commands for the end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def window_of(_context: click.Context, option: click.Parameter, name: str) -> Window:
    """Return the window that an option's value names. A callback for click."""
    try:
        return Window.parse(name)
    except WindowError as error:
        raise OptionError(f"{option.opts[0]}: {error}") from None


Command = TypeVar("Command", bound=Callable[..., Any])

registry_option = click.option(
    "--registry",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("metrics.toml"),
    show_default=True,
    help="The registry file.",
)

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("hearsay-data"),
    show_default=True,
    help="The directory of the embedded store.",
)


def _redis_url(context: click.Context, _: click.Parameter, url: str | None) -> str | None:
    """Return the URL in the option or in HEARSAY_REDIS_URL. Return None if neither is set.

    A URL on the command line must not contain a user or a password. A callback for click.
    """
    if url is not None and ("@" in url or "password=" in url):
        raise click.UsageError(
            (
                "every user of this machine can read command lines: put a URL with a user or password in "
                "HEARSAY_REDIS_URL, or in a file that HEARSAY_REDIS_URL_FILE names"
            ),
            context,
        )
    try:
        url = read_secret("HEARSAY_REDIS_URL") if url is None else url
        if url is not None:
            from collector.redis_servers.connection import require_url  # noqa: PLC0415 saves 50 ms in a relay

            require_url(url)
    except ConfigError as error:
        raise click.UsageError(str(error), context) from error
    return url


redis_option = click.option(
    "--redis",
    "redis_url",
    metavar="URL",
    callback=_redis_url,
    help=(
        "Use this Redis or Valkey server instead of the embedded store. A URL with a password belongs in "
        "HEARSAY_REDIS_URL, or in a file that HEARSAY_REDIS_URL_FILE names."
    ),
)

cluster_option = click.option(
    "--cluster", "is_cluster", is_flag=True, help="The server of --redis belongs to a cluster."
)

durability_option = click.option(
    "--durability",
    **member_option(Durability, Durability.FSYNC),
    help="Where a report is stored before it is acknowledged: on the server's disk, or also on the disks of replicas.",
)

copies_option = click.option(
    "--copies",
    type=int,
    default=1,
    show_default=True,
    help="With --durability replicated: how many replicas must have stored a report before it is acknowledged.",
)


def store_options(command: Command) -> Command:
    """Add the options that specify where the store is."""
    return data_dir_option(redis_option(cluster_option(command)))


def served_store_options(command: Command) -> Command:
    """Add the options that specify the store, and how durably the store keeps reports."""
    return store_options(durability_option(copies_option(command)))


grace_option = click.option(
    "--grace",
    "grace_s",
    type=int,
    default=GRACE_S,
    show_default=True,
    metavar="SECONDS",
    help="How long a window still accepts reports after its end.",
)

store_memory_option = click.option(
    "--store-memory",
    "store_memory_bytes",
    metavar="SIZE",
    callback=lambda _context, _option, size: None if size is None else parse_size(size, "--store-memory"),
    help="The memory limit of the embedded store, such as 2G.  [default: half of the machine's memory]",
)

metrics_option = click.option(
    "--metrics-bind", metavar="HOST:PORT", help="The address of Prometheus metrics.  [default: none]"
)

log_format_option = click.option(
    "--log-format",
    **member_option(LogFormat, LogFormat.TEXT),
    help="The format of the log: text for people, or one JSON object per line.",
)


def read_secret(variable: str, file: Path | None = None) -> str | None:
    """Return a secret, or None if there is none.

    The secret is the value of the environment variable ``variable``, or the content of a file. The
    file is ``file`` or, if ``file`` is None, the file that the environment variable
    ``<variable>_FILE`` names.

    Raises:
        ConfigError: if both a value and a file are given, the file cannot be read, or the secret is
            empty. A command that ignored an empty secret could open the wrong store.
    """
    secret, file_name = os.environ.get(variable), os.environ.get(f"{variable}_FILE")
    if file is None and file_name is not None:
        require(bool(file_name), f"{variable}_FILE is set but empty: name a file, or unset it")
        file = Path(file_name)
    if file is None:
        require(secret != "", f"{variable} is set but empty: give it a value, or unset it")
        return secret
    if secret is not None:
        raise ConfigError(f"{variable} is set, and a file is named for the same secret: keep only one of them")
    content = _content(file)
    require(bool(content), f"the secret file {file} is empty: it must contain the value of {variable}")
    return content


def _content(file: Path) -> str:
    """Return the content of a file without its final line break."""
    try:
        return file.read_text(encoding="utf-8").rstrip("\r\n")
    except OSError as error:
        raise ConfigError(f"the secret file {file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"the secret file {file} is not UTF-8 text") from error
