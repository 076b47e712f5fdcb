"""The command ``hearsay-estimator``."""

from __future__ import annotations

import importlib.util
import os
import sys

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""The environment variable that limits numpy to one thread, and the value to set. numpy reads the
variable on import. The matrices in a report are so small that more threads would slow numpy down.
"""


def main() -> None:
    """Run the command line."""
    _run(sys.argv[1:])


def conformance() -> None:
    """Run ``hearsay-estimator conformance`` as a separate command."""
    _run(["conformance", *sys.argv[1:]])


def _run(arguments: list[str]) -> None:
    """Run a command line, or exit with instructions for installing the missing packages."""
    missing = [package for package in ("client_sdk", "click", "numpy") if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(
            f"hearsay-estimator needs {' and '.join(missing)}: pip install 'hearsay-ldp[estimator]'"
            " (from a checkout: pip install ./client_sdk '.[estimator]')"
        )
    os.environ.setdefault(*ONE_THREAD)
    from estimator.commands.cli import command  # noqa: PLC0415 it imports the packages checked above

    command(arguments, prog_name="hearsay-estimator")


if __name__ == "__main__":
    main()
