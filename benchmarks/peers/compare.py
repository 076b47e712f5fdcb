"""A comparison with other libraries (peers) in one run: `python -m benchmarks.peers.compare`.

Libraries that cannot be installed are left out.
"""

from __future__ import annotations

import sys
import time

from benchmarks.peers.accuracy import accuracy_section
from benchmarks.peers.client import client_section
from benchmarks.peers.environments import running_peers
from benchmarks.peers.server import server_section


def measure_peers() -> str:
    with running_peers() as (peers, missing):
        running = ", ".join(f"{peer.name} {peer.version}" for peer in peers) or "none"
        head = "## Peers\n\nThe other libraries, called *peers*, run in their own environments. "
        head += f"Measured peers: {running}.\n"
        head += "".join(f"\n{name} could not be installed or started: {why}\n" for name, why in missing.items())
        parts = [head]
        for part in (client_section, server_section, accuracy_section):
            started = time.perf_counter()
            sys.stderr.write(f"  {part.__name__} …")
            parts.append(part(peers))
            sys.stderr.write(f" {time.perf_counter() - started:.0f} s\n")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(measure_peers())
