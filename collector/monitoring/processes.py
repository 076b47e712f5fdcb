"""What each process of the collector uses: processor time, memory and open files.

A sum over the processes would fall when a worker ends, and Prometheus would read that as a counter
that began anew. So each process has series of its own. A worker's name is that of its row: the next
worker in the row continues the series, with another start time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric

from collector.monitoring.counters import worker_pids
from collector.monitoring.shared_rows import Sheet


def worker_processes(sheet: Sheet) -> dict[str, int]:
    """Return the pid of each worker, by a name that its successor takes over."""
    return {f"worker-{number}": pid for number, pid in enumerate(worker_pids(sheet), 1)}


def process_families(processes: Mapping[str, int]) -> Iterator[Metric]:
    """Yield the ``process_*`` metrics of processes, each labelled with its name.

    A process that has ended has none. Systems without ``/proc`` have none at all.
    """
    families: dict[str, Metric] = {}
    for name, pid in processes.items():
        for family in ProcessCollector(pid=partial(int, pid), registry=None).collect():
            known = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
            for sample in family.samples:
                known.add_sample(sample.name, {"process": name}, sample.value)
    yield from families.values()
