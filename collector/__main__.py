"""The command ``hearsay-collector``."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec


def _skip_unused_clients() -> None:
    """Let redis-py import only what the collector names, such as `redis.connection`.

    Without this function, the package would first import all of its clients, which the collector
    never uses. This would take 80 ms in each process.
    """
    spec = find_spec("redis")
    if spec is not None:
        sys.modules.setdefault("redis", module_from_spec(spec))


_skip_unused_clients()  # not in `main`: the workers import this module, and do not call it


def main() -> None:
    """Run the command line. If a package is missing, print how to install the package."""
    try:
        from collector.commands.cli import cli  # noqa: PLC0415 click may be missing

        cli(prog_name="hearsay-collector")
    except ModuleNotFoundError as error:
        sys.exit(
            f"hearsay-collector needs the package {error.name}, which is not installed; install the collector with:\n"
            "  pip install 'hearsay-ldp[collector]'    (from a checkout: pip install ./client_sdk '.[collector]')"
        )


if __name__ == "__main__":
    main()
