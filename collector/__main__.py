"""The command ``hearsay-collector``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line. If a package is missing, print the command that installs it."""
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
