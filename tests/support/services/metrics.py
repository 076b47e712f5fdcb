"""The metrics that a collector exposes to Prometheus."""

from __future__ import annotations

import urllib.request

from prometheus_client.parser import text_string_to_metric_families

from collector.api.messages import NOT_CACHED
from tests.support.services.wire import ANSWER_TIMEOUT_S

Samples = dict[tuple[str, tuple[str, ...]], float]


def scrape(port: int) -> Samples:
    """Return every sample, keyed by its name and the values of its labels."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=ANSWER_TIMEOUT_S) as answer:
        text = answer.read().decode()
        assert [answer.headers.get_all(name) for name, _ in NOT_CACHED] == [[value] for _, value in NOT_CACHED]
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sample.labels.values())): sample.value for family in families for sample in family.samples
    }
