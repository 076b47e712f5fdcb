"""Tallies are read strictly and within bounds: each problem is named, by its line if it has one."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.protocol import Registry, Window
from estimator import tallies as tally
from estimator.commands.cli import command
from estimator.errors import OutputError, TalliesError, UnfitTallyError
from estimator.render.html.page import as_html
from estimator.report import report as report_module
from estimator.report.report import make_report
from estimator.results.report import Request
from estimator.tallies import LEAST_LINE_BYTES, MOST_REPORTS, Bounds, decode, read_file
from tests.support.core.tables import for_each
from tests.support.devices.definitions import CATEGORY, registry_text
from tests.support.estimates.tallies import REGISTRY, REGISTRY_TEXT, line

FAR_APART = line("dark_mode", [30, 40], window="1970-01-01") + line("dark_mode", [30, 40], window="9998-12-31")


def days(number: int) -> list[bytes]:
    return [line("dark_mode", [30, 40], window=f"2026-11-{day:02}") for day in range(1, number + 1)]


def report(folder: Path, tallies: bytes, *options: str) -> Result:
    (folder / "metrics.toml").write_text(REGISTRY_TEXT)
    (folder / "tallies.ndjson").write_bytes(tallies)
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    return CliRunner().invoke(command, ["report", *places, *options])


@for_each("text", [b"", b"\n", b"a", b"a\n", b"a\nbc\n\nd", b"\n\nabc", b"abc\n\n"])
def test_pieces_of_any_size_make_up_the_same_lines(text: bytes) -> None:
    seeded = Random(len(text))  # noqa: S311 where a text is cut is no secret
    for _ in range(50):
        ends = sorted(seeded.randrange(len(text) + 1) for _ in range(4))
        pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
        assert [*Bounds().lines(pieces)] == [line.removesuffix(b"\n") for line in text.splitlines(keepends=True)]


@pytest.mark.parametrize("pieces", [[b"abc\n", b"de", b"f", b"g"], [b"abc\ndefg\nh"], [b"abc", b"\ndefg"]])
def test_a_line_that_is_too_long_is_refused_before_it_ends(pieces: list[bytes]) -> None:
    with pytest.raises(TalliesError, match="line 2 is longer than the limit of 3 bytes"):
        list(Bounds(line_bytes=3).lines(iter([*pieces, *[b"x"] * 9])))


def test_a_text_that_is_too_long_is_refused_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MOST_BYTES", 1000)
    nothing = Bounds(spans=lambda _: False)
    with pytest.raises(TalliesError, match="more than 1,000 bytes; read fewer windows, with --from and --to"):
        decode(nothing.lines(days(1) * 1000), nothing)


@pytest.mark.slow
def test_a_line_may_be_as_long_as_the_largest_alphabet_of_the_registry_asks_for() -> None:
    assert Bounds.from_metrics(REGISTRY.metrics.values()).line_bytes == LEAST_LINE_BYTES
    large = Registry.parse(registry_text(m=CATEGORY | {"values": [str(number) for number in range(200_000)]}))
    symbols = large.metric("m").channel.symbols
    counted = line("os", [10**10] * symbols, symbols=[*range(symbols)])
    assert LEAST_LINE_BYTES < len(counted) < Bounds.from_metrics(large.metrics.values()).line_bytes
    assert len(decode(Bounds.from_metrics(large.metrics.values()).lines([counted]))) == 1


@pytest.mark.parametrize(
    ("bound", "most", "sentence"),
    [("MOST_TALLIES", 2, "more than 2 tallies; read fewer"), ("MOST_COUNTS", 5, "more than 5 counts; read fewer")],
)
def test_too_many_tallies_are_refused_unless_fewer_windows_are_selected(
    bound: str, most: int, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tally, bound, most)
    with pytest.raises(TalliesError, match=sentence):
        decode(days(3))
    last = Window.parse("2026-11-03")
    assert [tally.window for tally in decode(days(3), Bounds(spans=last.__eq__))] == [last]


def test_an_excluded_tally_is_still_checked() -> None:
    with pytest.raises(TalliesError, match="line 2 is not a tally"):
        decode([*days(1), b"{}"], Bounds(spans=lambda _: False))


def test_reports_whose_sums_would_not_be_exact_are_refused() -> None:
    first = line("dark_mode", [MOST_REPORTS - 1, 0])
    assert sum(tally.reports for tally in decode([first, line("os", [1, 0, 0, 0])])) == MOST_REPORTS
    with pytest.raises(TalliesError, match=r"contain 2\^53 reports or more"):
        decode([first, line("os", [2, 0, 0, 0])])


def test_short_lines_that_stand_for_too_many_shares_are_refused_before_they_are_estimated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 40)
    short = [line("os", [1], symbols=[0], window=f"2026-11-{day}") for day in (19, 20)]
    assert len(make_report(REGISTRY, decode(short[:1])).metrics) == 1
    with pytest.raises(TalliesError, match="would consist of 64 numbers, too many at once; read fewer"):
        make_report(REGISTRY, decode(short))


@pytest.mark.parametrize("covariance", [False, True])
def test_one_window_of_every_metric_is_always_estimated(covariance: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 both cases
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 0)
    tallies = decode([line("os", [1, 2, 3, 4]), line("dark_mode", [1, 2])])
    assert len(make_report(REGISTRY, tallies, request=Request(covariance=covariance)).metrics) == 2


def test_a_page_of_windows_that_lie_far_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="9998-12-31 would need room for 2,932,532 windows"):
        as_html(make_report(REGISTRY, decode(FAR_APART.splitlines())), REGISTRY)
    page = tmp_path / "report.html"
    refused = report(tmp_path, FAR_APART, "--output", str(page))
    assert (refused.exit_code, page.exists()) == (1, False)
    assert refused.stderr.startswith("Error: a page of 1970-01-01 to 9998-12-31")
    assert report(tmp_path, FAR_APART, "--output", str(page), "--from", "2000-01-01").exit_code == 0
    assert page.stat().st_size < 10**6


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_windows_that_lie_far_apart_are_no_more_work_than_others_in_forms_without_a_calendar(
    tmp_path: Path, form: str
) -> None:
    result = report(tmp_path, FAR_APART, "--format", form, "--with", "pooled")
    assert result.exit_code == 0
    assert len(result.stdout) < 10_000


def test_too_many_estimates_are_an_error_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 0)
    refused = report(tmp_path, b"".join(days(2)))
    assert (refused.exit_code, refused.stderr[:27]) == (1, "Error: the estimates of the")


SOUND = line("dark_mode", [3, 4])

WRONG = {
    "no JSON": b"hello\n",
    "no UTF-8": b"\xff\n",
    "an empty line": b"\n",
    "nested without end": b"[" * 100_000,
    "no object": b"[1]\n",
    "not a number": SOUND.replace(b"7", b"NaN"),
    "a field twice": SOUND.replace(b"{", b'{"closed": true, ', 1),
    "an unknown field": line("dark_mode", [3, 4], note=1),
    "a missing field": b'{"metric": "dark_mode"}\n',
    "a metric that is no name": line("dark_mode", [3, 4], metric="Dark Mode"),
    "an edition that is none": line("dark_mode", [3, 4], edition="xyz"),
    "a window that is none": line("dark_mode", [3, 4], window="2026-13"),
    "a window that is no text": line("dark_mode", [3, 4], window=20261120),
    "closed as a number": line("dark_mode", [3, 4], closed=1),
    "counts as a number": line("dark_mode", [3, 4], counts=7),
    "a count that is true": line("dark_mode", [3, 4], counts=[True, 6]),
    "a count that is no integer": line("dark_mode", [3, 4], counts=[3.0, 4]),
    "a negative count": line("dark_mode", [-1, 8]),
    "a count beyond 53 bits": line("dark_mode", [MOST_REPORTS + 1, 0]),
    "a sum beyond 53 bits": line("dark_mode", [MOST_REPORTS, 1]),
    "a sum beyond 64 bits": line("dark_mode", [2**62, 2**62]),
    "an object in it": SOUND.replace(b"true", b"{}"),
    "a list in it": line("dark_mode", [3, 4], symbols=[0, 1], closed=[]),
    "a sum that is not reports": line("dark_mode", [3, 4], reports=8),
    "reports that are true": line("dark_mode", [0, 1], reports=True),
    "symbols that fall": line("dark_mode", [3, 4], symbols=[1, 0]),
    "a symbol twice": line("dark_mode", [3, 4], symbols=[1, 1]),
    "a count with a zero before it": SOUND.replace(b"[3", b"[03"),
    "two counts without a comma": SOUND.replace(b"[3, 4]", b"[3 4]"),
    "a missing count": SOUND.replace(b"[3, 4]", b"[3,,4]"),
    "a comma before all counts": SOUND.replace(b"[3", b"[,3"),
    "a comma behind all counts": SOUND.replace(b"4]", b"4,]"),
    "counts that do not end": SOUND.replace(b"4]", b"4"),
    "a list that stands for another": SOUND.replace(b"[3, 4]", b'{"list":0}'),
    "fewer symbols than counts": line("dark_mode", [3, 4], symbols=[1]),
    "an integer too long to read": b'{"metric": ' + b"9" * 5000 + b"}",
}


@for_each("wrong", WRONG.values())
def test_a_wrong_line_is_named(wrong: bytes) -> None:
    with pytest.raises(TalliesError, match="line 2 "):
        decode([line("os", [1, 2, 3, 4]), wrong])


def test_a_repeated_tally_is_named_with_both_lines() -> None:
    with pytest.raises(TalliesError, match=r"line 3 repeats .* line 1"):
        decode([SOUND, line("os", [1, 2, 3, 4]), SOUND])


@pytest.mark.parametrize(
    ("written", "counts"),
    [
        pytest.param(SOUND, [3, 4], id="all symbols"),
        pytest.param(line("dark_mode", [MOST_REPORTS - 1, 1]), [MOST_REPORTS - 1, 1], id="as many as are exact"),
        pytest.param(line("os", [5, 1], symbols=[0, 3]), [5, 0, 0, 1], id="sparse"),
        pytest.param(line("os", [], symbols=[]), [0, 0, 0, 0], id="sparse, of nothing"),
    ],
)
def test_a_tally_is_read_as_it_was_written(written: bytes, counts: list[int]) -> None:
    (tally,) = decode([written])
    assert (tally.window.text, tally.closed, tally.reports) == ("2026-11-20", True, sum(counts))
    assert tally.metric == ("dark_mode" if len(counts) == 2 else "os")
    assert tally.dense(len(counts)).tolist() == counts


@pytest.mark.parametrize("wrong", [line("os", [1, 2, 3]), line("os", [1], symbols=[4])])
def test_a_tally_of_another_alphabet_is_refused(wrong: bytes) -> None:
    (tally,) = decode([wrong])
    with pytest.raises(UnfitTallyError, match="4 symbols"):
        tally.dense(4)


@pytest.mark.parametrize("separator", [b",", b", ", b" , ", b",\t"])
def test_lists_are_read_however_they_are_separated(separator: bytes) -> None:
    (tally,) = decode([SOUND.replace(b"[3, 4]", b"[3" + separator + b"4]")])
    assert [*tally.counts] == [3, 4]


def test_a_long_list_of_anything_but_usual_integers_is_refused_before_it_takes_memory() -> None:
    """An object for each of its numbers would take a hundred times the bytes of the line."""
    for number in (b"1.5", b"-1", b"1 "):
        text = SOUND.replace(b"3, 4", number + (b"," + number) * 2**15)
        with pytest.raises(TalliesError, match="it must contain two lists of integers from 0"):
            decode([text])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TalliesError, match=r"gone\.ndjson cannot be read: No such file"):
        read_file(tmp_path / "gone.ndjson")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_nothing_but_the_named_error_comes_out_of_the_decoder(garbage: bytes) -> None:
    with suppress(TalliesError):
        assert not decode([garbage])


@pytest.mark.slow
@settings(derandomize=True, deadline=None)
@given(st.sampled_from(["metric", "edition", "window", "closed", "reports", "counts", "symbols"]), JSON)
def test_a_changed_field_is_read_or_refused(field: str, value: object) -> None:
    with suppress(TalliesError):
        decode([line("dark_mode", [3, 4], **{field: value})])
