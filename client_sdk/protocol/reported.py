"""What a report says, in words: the answers that make its symbol likeliest.

It says nothing about the answer that was given, beyond what the report itself reveals.
"""

from __future__ import annotations

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import Sentences


def reported(metric: Metric, symbol: int, say: Sentences) -> str:
    """Return in words what the report of a symbol says."""
    return metric.kind.reported(metric.channel.last_step, symbol, metric.labels, say)
