"""Every kind's `law` is the exact law of its `encode`, for each of its answers that is tried."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice

import pytest

from client_sdk.protocol import OutsideDomainError, Registry
from client_sdk.protocol.kinds import KINDS
from client_sdk.protocol.metric import Metric
from tests.golden.outputs import METRICS
from tests.support.core.tables import for_each
from tests.support.laws.coins import exact_law

GOLDEN = Registry.load(METRICS).metrics
MOST_SAMPLES = 7
NOTHING = object()


def answers_of(metric: Metric) -> Iterator[object]:
    """Yield some answers: the ends, some between, and silence if it is reported."""
    kind = metric.kind
    yield from (named.value for named in kind.extremes(midpoint=True))
    yield from islice(iter(kind.samples()), MOST_SAMPLES)
    if metric.has_no_answer:
        yield None


@for_each("name", GOLDEN)
def test_a_law_is_that_of_the_encoding(name: str) -> None:
    metric = GOLDEN[name]
    tried = list(answers_of(metric))
    assert tried
    for answer in tried:
        law = metric.law(answer)
        assert dict(law) == exact_law(partial(metric.encode, answer))
        assert sum(law.values()) == 1


@for_each("name", GOLDEN)
def test_what_is_no_answer_has_no_law(name: str) -> None:
    with pytest.raises(OutsideDomainError):
        GOLDEN[name].law(NOTHING)


def test_every_kind_and_pair_is_tried() -> None:
    pairs = {"cross", "mean-by-group", "model-of-crosses"}
    assert {metric.kind.name for metric in GOLDEN.values()} == {*chain(KINDS, pairs)}
