"""A device that records and sends as fast as it can, until it is killed.

Run it by `python -m tests.support.devices.hasty …`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Final

from client_sdk import Recorded, Registry, Telemetry

BEGUN: Final = "begun"
"""The line that it prints before it records."""

DONE: Final = "done"
"""The line that it prints when everything that it recorded was accepted."""


def main(data_dir: str, registry_file: str, collector: str, ahead_s: str) -> None:
    """Record every question, and send meanwhile and at the end, by a clock some seconds ahead."""
    registry = Registry.load(registry_file)
    with Telemetry(
        registry,
        collector=collector,
        data_dir=Path(data_dir),
        consent=True,
        clock=lambda: time.time() + float(ahead_s),
    ) as device:
        # neither jitter nor back-off
        device._processes.current.uploader._departures.uniform = lambda low, _: low
        sys.stdout.write(f"{BEGUN}\n")
        sys.stdout.flush()
        for name in registry.metrics:
            while device.record(name, value=True) in (Recorded.BUSY, Recorded.WAITING):
                pass
            # the upload thread sends now, while this one continues to record
            device.flush(timeout_s=0)
        if device.flush(timeout_s=60):
            sys.stdout.write(DONE)


if __name__ == "__main__":
    main(*sys.argv[1:])
