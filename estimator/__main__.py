"""The command ``hearsay-estimator``."""

from __future__ import annotations

import importlib.util
import os
import sys

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""The environment variable that limits numpy to one thread, and the variable's value. The variable
must be set before numpy is imported. For a report's small matrices, several threads would be slower
than one.
"""


def main() -> None:
    """Run the command line."""
    _run(sys.argv[1:])


def conformance() -> None:
    """Run ``hearsay-conformance``, a short form of ``hearsay-estimator conformance``."""
    _run(["conformance", *sys.argv[1:]])


def _run(arguments: list[str]) -> None:
    """Run the command line. If a package is missing, exit with installation instructions."""
    missing = [package for package in ("client_sdk", "click", "numpy") if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(
            f"hearsay-estimator needs {' and '.join(missing)}: pip install 'hearsay-ldp[estimator]'"
            " (from a checkout: pip install ./client_sdk '.[estimator]')"
        )
    os.environ.setdefault(*ONE_THREAD)
    from estimator.commands.cli import command  # noqa: PLC0415 it needs the packages checked above

    command(arguments, prog_name="hearsay-estimator")


if __name__ == "__main__":
    main()
