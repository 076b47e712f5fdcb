"""The command ``hearsay-estimator``."""

from __future__ import annotations

import importlib.util
import os
import sys

ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""The variables that numpy reads when it is imported. On matrices as small as a report's, threads
only wait for each other.
"""


def main() -> None:
    """Run the command line."""
    _run(sys.argv[1:])


def conformance() -> None:
    """Run ``hearsay-estimator conformance``, under a name of its own."""
    _run(["conformance", *sys.argv[1:]])


def _run(arguments: list[str]) -> None:
    """Run a command line, or say how to install what it needs."""
    missing = [package for package in ("client_sdk", "click", "numpy") if importlib.util.find_spec(package) is None]
    if missing:
        sys.exit(
            f"hearsay-estimator needs {' and '.join(missing)}: pip install 'hearsay-ldp[estimator]'"
            " (from a checkout: pip install ./client_sdk '.[estimator]')"
        )
    os.environ.setdefault(*ONE_THREAD)
    from estimator.commands.cli import command  # noqa: PLC0415 it needs the packages that were just looked for

    command(arguments, prog_name="hearsay-estimator")


if __name__ == "__main__":
    main()
