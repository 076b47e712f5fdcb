"""The texts of each tally of a question about texts that nobody listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from client_sdk.protocol.texts.text import Text
from estimator.discovery.group_tables import GroupTables
from estimator.discovery.poisoning import made_up_reports
from estimator.discovery.power import Power
from estimator.discovery.texts import confirm, discover
from estimator.estimates.question_fields import question_fields
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate
from estimator.results.poisoning import Fakes, RangeTest
from estimator.results.request import Request
from estimator.results.texts import TextFindings
from estimator.statistics.laws import chi_square_tail
from estimator.tallies.tally import Tally

MADE_UP: Final = 1e-6
"""A tally less likely than this does not come from devices, which draw groups by the weights."""


def text_estimates(metric: Metric, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
    """Yield the texts of each tally."""
    for tally in tallies:
        tally.check(metric.channel.symbols)
        yield _estimate(metric, tally, request)


def fitting(domain: Text, texts: Sequence[str]) -> list[str]:
    """Return the texts that consist of the question's letters.

    In a set the empty text stands for a free place.
    """

    def fits(text: str) -> bool:
        try:
            domain.number_of(text)
        except DomainError:
            return False
        return bool(text) or domain.max_items == 1

    return [text for text in texts if fits(text)]


def _estimate(metric: Metric, tally: Tally, request: Request) -> MetricEstimate:
    domain, channel = metric.kind, metric.channel
    assert isinstance(domain, Text)  # noqa: S101 whoever asks knows the kind
    assert isinstance(channel, GroupedGeometry)  # noqa: S101 the only channel of texts
    tables = GroupTables.of(channel, tally.dense(channel.symbols))
    discovered = discover(domain, tables, simultaneous=request.simultaneous) if domain.discover else None
    texts = fitting(domain, request.candidates)
    named = confirm(domain, tables, texts, simultaneous=request.simultaneous) if texts else None
    parts = {"found_text": discovered, "named_text": named}
    has_power, is_faked = domain.discover and tally.reports > 0, request.fakes is not None
    return MetricEstimate(
        **question_fields(metric),
        window=tally.window.text,
        closed=tally.closed,
        reports=tally.reports,
        groups=tuple(FigureGroup(name, part.shares, "", SHARES) for name, part in parts.items() if part is not None),
        texts=TextFindings(
            candidates=discovered.candidates if discovered else 0,
            certain=named.certain if named else 0,
            unclear=tuple(dict.fromkeys(text for part in parts.values() if part for text in part.unclear)),
            least=Power(domain, channel).least_shares(tally.reports) if has_power else (),
            max_length=domain.max_length,
            made_up=made_up_reports(domain, tables) if has_power and is_faked else None,
        ),
        fakes=None
        if request.fakes is None or not tally.reports
        else Fakes(fraction=request.fakes, test=_groups_as_drawn(channel, tables)),
    )


def _groups_as_drawn(channel: GroupedGeometry, tables: GroupTables) -> RangeTest:
    """Test whether each group has as many reports as chance allows, whatever people answer."""
    weights = np.array(channel.weights)
    expected = tables.reports.sum() * weights / weights.sum()
    statistic = float(((tables.reports - expected) ** 2 / expected).sum())
    p_value = float(chi_square_tail(statistic, weights.size - 1))
    return RangeTest(statistic, p_value, 0, impossible=p_value < MADE_UP)
