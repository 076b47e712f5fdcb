"""A mean within a group is tested for changes, and no form of a report says that a figure did not
change whose change was not tested.
"""

from __future__ import annotations

import json
import re
from functools import cache

import numpy as np
import pytest

from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.cross import MeanByGroup
from estimator.decoders.inversions import inverse_of
from estimator.formats.json_documents import as_json
from estimator.formats.tables import DEVICES, TAKING_PART, metric_rows, rows_of
from estimator.render.html.page import as_html
from estimator.render.text.report import as_table
from estimator.render.text.summary import as_summary
from estimator.render.words import untested_words
from estimator.report.report import make_report
from estimator.results.report import EstimateReport, Request, Selection
from estimator.statistics.confidence import SIGNIFICANT
from estimator.tallies import decode
from tests.support.devices.definitions import CATEGORY, MEAN_BY_GROUP, NUMBER, registry_text
from tests.support.estimates import every_kind
from tests.support.estimates.tallies import tally

REGISTRY = Registry.parse(registry_text(os=CATEGORY, startup_ms=NUMBER, startup_by_os=MEAN_BY_GROUP))
REPORTS = 20_000
CLEAR = 7.0
"""Standard errors by which the mean of one group rises."""

COMPARED = {
    "share",
    "share_above",
    "share_at_least",
    "coordinate",
    "mean",
    "geometric_mean",
    "mean_position",
    "mean_size",
    "mean_within",
    "share_within",
}
WITHIN_A_WINDOW = {"difference", "difference_of_means", "sum", DEVICES, TAKING_PART}


@cache
def risen() -> EstimateReport:
    """Return a report of two windows: groups keep their shares, and the mean of the first rises."""
    metric = REGISTRY.metric("startup_by_os")
    domain, inverse = metric.kind, inverse_of(metric.channel)
    assert isinstance(domain, MeanByGroup)
    lines = []
    for window, part in (("2026-11-19", 0.2), ("2026-11-20", 0.8)):
        within = np.zeros((3, domain.points))
        within[:, 0], within[:, -1] = 1 / 3, 0.0
        within[0, 0], within[0, -1] = (1 - part) / 3, part / 3
        counts = np.rint(REPORTS * inverse.symbol_law(within.ravel())).astype(int).tolist()
        lines.append(tally(metric, counts, window=window))
    return make_report(REGISTRY, decode(lines), Selection(), Request(pool=True))


def test_every_form_says_that_a_groups_mean_rises_while_no_share_changes() -> None:
    report = risen()
    (changes,) = report.changes
    assert changes.figures("share").p_values_corrected.min() > SIGNIFICANT
    (found,) = changes.found
    assert (found.statistic, found.value, found.verdict, found.is_new) == ("mean_within", "a", "changed", True)
    page = as_html(report, REGISTRY).partition('<script type="application/json"')[0]
    for text in (page, as_summary(report), as_table(report)):
        assert re.search(
            "the mean of “a” is .* higher in 2026-11-20 than in 2026-11-19 ", " ".join(text.split()).lower()
        )
    assert json.loads(as_json(report))["changes"][0]["found"][0]["verdict"] == "changed"
    assert any(row.statistic == "found_change" and row.value == "mean of a: changed, new" for row in rows_of(report))


@pytest.mark.slow
def test_every_figure_of_every_kind_is_compared_or_named_as_untested() -> None:
    report = make_report(every_kind.REGISTRY, decode(every_kind.tallies().splitlines()), Selection(), Request())
    for estimated in report.metrics:
        statistics = {row.statistic for *_, row in metric_rows(estimated, report.confidence)} - WITHIN_A_WINDOW
        tested = COMPARED | {"quantile"} if estimated.counts else COMPARED
        assert statistics - tested == set(estimated.untested)
        assert all(untested_words([statistic]) for statistic in estimated.untested)


@pytest.mark.slow
def test_a_metric_whose_windows_are_not_compared_is_not_said_to_have_one_window() -> None:
    page = as_html(make_report(every_kind.REGISTRY, decode(every_kind.tallies().splitlines())), every_kind.REGISTRY)
    embedding = page.partition('id="q-embedding"')[2].partition("</article>")[0]
    assert "not tested" not in embedding
    assert "there are not two yet" not in embedding
