"""Which alerts can be had, and the sentence that refuses any other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry
from client_sdk.protocol.errors import UnknownMetricError
from estimator.errors import RequestError
from estimator.report.alerts import Operator, read_alert
from estimator.results.group import FigureKey
from tests.support.core.tables import for_each
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    CROSSED_MODEL,
    MODEL,
    NUMBER,
    ORDINAL,
    SET,
    TEXT,
    THRESHOLDS,
    VECTOR,
    registry_text,
)

ODD = ["a] > 1", "a, b", "b", "0.5", ""]
PAIRS = {"values": ["x", "x, y"]}

REGISTRY = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        seen=BOOLEAN | {"fill_in": True},
        os=CATEGORY,
        odd=CATEGORY | {"values": ODD[:4]},
        many=CATEGORY | {"values": [f"v{value}" for value in range(40)]},
        mood=ORDINAL,
        languages=SET,
        mean_ms=NUMBER,
        below=NUMBER | {"low": -5, "high": -1},
        startup_ms=NUMBER | {"low": -5, "high": 10, "statistic": "distribution"},
        rounded_ms=THRESHOLDS,
        crashes=COUNT,
        both=CROSS,
        left=CATEGORY | PAIRS,
        right=CATEGORY | {"values": ["y, z", "z"]},
        same=CROSS | {"cross": ["left", "right"]},
        mean_ms_by_os=CROSS | {"cross": ["os", "mean_ms"]},
        embedding=VECTOR,
        unknown_word=TEXT,
        limitation=MODEL,
        limitation_by_feature=CROSSED_MODEL,
    )
)


@pytest.mark.parametrize(
    ("text", "key", "operator", "bound"),
    [
        ("crashes.mean > 2", FigureKey("mean"), ">", 2),
        ("  crashes.mean>=2.50  ", FigureKey("mean"), ">=", 2.5),
        ("mood.mean <= 1e0", FigureKey("mean_position"), "<=", 1),
        ("languages.mean < 2", FigureKey("mean_size"), "<", 2),
        ("mean_ms.sum > 1e6", FigureKey("sum"), ">", 1e6),
        ("below.sum < -3", FigureKey("sum"), "<", -3),
        ("startup_ms.sum > -7", FigureKey("sum"), ">", -7),
        ("startup_ms.p5 > -5", FigureKey("quantile", 0.05), ">", -5),
        ("startup_ms.p95 < +9", FigureKey("quantile", 0.95), "<", 9),
        ("dark_mode.share[yes] < .25", FigureKey("share", True), "<", 0.25),  # noqa: FBT003 a value
        ("seen.share[nothing recorded] > 0", FigureKey("share", None), ">", 0),
        ("crashes.share[0] <= 0.9", FigureKey("share", 0), "<=", 0.9),
        ("both.share[yes, b] >= 1", FigureKey("share", (True, "b")), ">=", 1),
        ("odd.share[a] > 1] > 0.5", FigureKey("share", "a] > 1"), ">", 0.5),
        ("mean_ms_by_os.share[c] > 0.5", FigureKey("share", "c"), ">", 0.5),
        ("odd.share[0.5]<0.5", FigureKey("share", "0.5"), "<", 0.5),
        ("mean_ms_by_os.mean[b] > 7", FigureKey("mean_within", "b"), ">", 7),
        ("mean_ms_by_os.mean[b] rises", FigureKey("mean_within", "b"), "rises", None),
        ("dark_mode.share[yes]  falls ", FigureKey("share", True), "falls", None),  # noqa: FBT003 a value
        ("seen.share[no] changes", FigureKey("share", False), "changes", None),  # noqa: FBT003 a value
    ],
)
def test_an_expression_names_one_figure(text: str, key: FigureKey, operator: str, bound: float | None) -> None:
    alert = read_alert(REGISTRY, text)
    assert (alert.key, alert.operator, alert.bound) == (key, operator, bound)
    assert text.strip().startswith(f"{alert.metric}.{alert.figure}")


GRAMMAR = "cannot be read; write METRIC.FIGURE OPERATOR NUMBER, such as 'crashes.mean > 2'"


@for_each(
    "text",
    [
        *("", "crashes", "crashes.mean", "crashes.mean 2", "crashes.mean > ", "crashes.mean > two"),
        *("crashes.mean > nan", "crashes.mean > inf", "crashes.mean > 1_000", "crashes.mean > ٢"),
        *("crashes.mean > 50%", "crashes.mean > 2 or crashes.mean < 1", "crashes.mean == 2", "crashes.mean rise"),
        *("crashes.meanrises", "crashes.mean rises > 2", "crashes.mean => 2", "crashes mean > 2"),
        *("dark_mode.share[yes > 0.5", "crashes.mean > 2\x00"),
    ],
)
def test_what_is_no_expression_is_refused_with_the_grammar(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_alert(REGISTRY, text)
    assert GRAMMAR in str(caught.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dark_mode.mean > 0.5", "names mean, which dark_mode does not have; write one of: share[VALUE]"),
        ("seen.mean > 0.5", "names mean, which seen does not have; write one of: share[VALUE]"),
        ("mood.sum > 2", "names sum, which mood does not have; write one of: mean, share[VALUE]"),
        ("mean_ms.share[1] > 0.5", "which mean_ms does not have; write one of: mean, sum"),
        ("mean_ms.p50 > 5", "names p50, which mean_ms does not have; write one of: mean, sum"),
        ("crashes.p50 > 5", "names p50, which crashes does not have; write one of: mean, sum, share[VALUE]"),
        ("startup_ms.p90 > 5", "names p90, which startup_ms does not have; write one of: mean, sum, p5, p25, p50, p75"),
        ("startup_ms.p95[x] > 5", "names p95[x], which startup_ms does not have"),
        ("dark_mode.share > 0.5", "names a share without its value; write one of: share[VALUE]"),
        ("os.share[d] > 0.5", "names no value of os; its values are: a, b, c"),
        ("os.share[ a] > 0.5", "names no value of os"),
        ("os.share[] > 0.5", "names no value of os"),
        ("dark_mode.share[True] > 0.5", "its values are: no, yes"),
        ("many.share[w] > 0.5", "v10, v11, …"),
        ("mean_ms_by_os.share[c, 0] > 0.5", "names no value of mean_ms_by_os; its values are: a, b, c"),
        ("mean_ms_by_os.mean > 0.5", "which mean_ms_by_os does not have; write one of: mean[VALUE], share[VALUE]"),
        ("mean_ms_by_os.mean[d] > 0.5", "names no value of mean_ms_by_os; its values are: a, b, c"),
        ("crashes.mean[0] > 0.5", "names mean[0], which crashes does not have; write one of: mean, sum, share[VALUE]"),
        ("crashes.p50[0] > 0.5", "names p50[0], which crashes does not have"),
        ("embedding.share[0] > 0.5", "embedding has no figure for alerts; use another metric"),
        ("unknown_word.mean > 0.5", "unknown_word has no figure for alerts; use another metric"),
        ("limitation.share[age] > 0.5", "limitation has no figure for alerts; use another metric"),
        ("limitation_by_feature.mean > 0.5", "limitation_by_feature has no figure for alerts; use another metric"),
        ("same.share[x, y, z] > 0.5", "is ambiguous: 2 answers are written as this value; choose another value"),
        ("rounded_ms.p95 rises", "changes of p95 are not tested; use a share or a mean"),
        ("dark_mode.share[no] rises", "repeats an alert on share[yes] with the opposite direction; use share[yes]"),
    ],
)
def test_a_figure_or_value_that_a_metric_has_not_is_refused_with_those_that_it_has(text: str, problem: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_alert(REGISTRY, text)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("text", "range_of_it"),
    [
        ("dark_mode.share[yes] > 1", "share[yes] of dark_mode is 0 to 1"),
        ("dark_mode.share[yes] >= 0", "is 0 to 1"),
        ("dark_mode.share[yes] < 0", "is 0 to 1"),
        ("dark_mode.share[yes] <= 1", "is 0 to 1"),
        ("dark_mode.share[yes] > 50", "is 0 to 1"),
        ("dark_mode.share[yes] > -1", "is 0 to 1"),
        ("crashes.mean > 9", "mean of crashes is 0 to 9"),
        ("mood.mean < 1", "mean of mood is 1 to 3"),
        ("crashes.sum < 0", "sum of crashes is 0 or more"),
        ("crashes.sum > 1e999", "sum of crashes is 0 or more"),
        ("startup_ms.sum > 1e999", "sum of startup_ms is any finite number"),
        ("below.sum > -0.5", "sum of below is -1 or less"),
        ("startup_ms.p95 > 10", "p95 of startup_ms is -5 to 10"),
        ("mean_ms_by_os.mean[b] > 1000", "mean[b] of mean_ms_by_os is 0 to 9"),
        ("mean_ms_by_os.share[b] > 7", "share[b] of mean_ms_by_os is 0 to 1"),
    ],
)
def test_a_number_that_decides_the_alert_beforehand_is_refused_with_the_range(text: str, range_of_it: str) -> None:
    with pytest.raises(RequestError) as caught:
        read_alert(REGISTRY, text)
    assert "would never or always fire" in str(caught.value)
    assert range_of_it in str(caught.value)


def test_an_unknown_metric_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownMetricError, match="no metric 'x'; it defines: dark_mode"):
        read_alert(REGISTRY, "x.mean > 2")


@settings(derandomize=True, deadline=None)
@given(st.text(alphabet="crashes.mean dk_o[]tu<>=0129e-+\n\x00é"))
def test_any_text_is_an_alert_or_is_refused(text: str) -> None:
    try:
        alert = read_alert(REGISTRY, text)
    except (RequestError, UnknownMetricError):
        return
    assert alert.operator in Operator
    assert alert.metric in REGISTRY.metrics
