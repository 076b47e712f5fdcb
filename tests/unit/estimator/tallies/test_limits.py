"""Input from a collector is bounded; anything beyond is refused in a sentence."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry, Window
from estimator.commands.cli import command
from estimator.errors import OutputError, TalliesError
from estimator.render.html.page import as_html
from estimator.report import report as report_module
from estimator.report.report import make_report
from estimator.results.report import Request
from estimator.tallies import tally
from estimator.tallies.tally import LEAST_LINE_BYTES, MOST_REPORTS, Bounds, decode
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


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n", b"a\nbc\n\nd", b"\n\nabc", b"abc\n\n"])
def test_pieces_of_any_size_make_up_the_same_lines(text: bytes) -> None:
    seeded = Random(len(text))  # noqa: S311 where a text is cut is no secret
    for _ in range(50):
        ends = sorted(seeded.randrange(len(text) + 1) for _ in range(4))
        pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
        assert [*Bounds().lines(pieces)] == [line.removesuffix(b"\n") for line in text.splitlines(keepends=True)]


@pytest.mark.parametrize("pieces", [[b"abc\n", b"de", b"f", b"g"], [b"abc\ndefg\nh"], [b"abc", b"\ndefg"]])
def test_a_line_that_is_too_long_is_refused_before_it_ends(pieces: list[bytes]) -> None:
    with pytest.raises(TalliesError, match="line 2 is longer than any tally, 3 bytes"):
        list(Bounds(line_bytes=3).lines(iter([*pieces, *[b"x"] * 9])))


def test_a_text_that_is_too_long_is_refused_before_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MOST_BYTES", 1000)
    nothing = Bounds(spans=lambda _: False)
    with pytest.raises(TalliesError, match="more than 1,000 bytes; read fewer windows, with --from and --to"):
        decode(nothing.lines(days(1) * 1000), nothing)


@pytest.mark.slow
def test_a_line_may_be_as_long_as_the_largest_alphabet_of_the_registry_asks_for() -> None:
    assert Bounds.of(REGISTRY.metrics.values()).line_bytes == LEAST_LINE_BYTES
    large = Registry.parse(registry_text(m=CATEGORY | {"values": [str(number) for number in range(200_000)]}))
    symbols = large.metric("m").channel.symbols
    counted = line("os", [10**10] * symbols, symbols=[*range(symbols)])
    assert LEAST_LINE_BYTES < len(counted) < Bounds.of(large.metrics.values()).line_bytes
    assert len(decode(Bounds.of(large.metrics.values()).lines([counted]))) == 1


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
    with pytest.raises(TalliesError, match=r"hold 2\^53 reports or more"):
        decode([first, line("os", [2, 0, 0, 0])])


def test_short_lines_that_stand_for_too_many_shares_are_refused_before_they_are_estimated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 40)
    short = [line("os", [1], symbols=[0], window=f"2026-11-{day}") for day in (19, 20)]
    assert len(make_report(REGISTRY, decode(short[:1])).metrics) == 1
    with pytest.raises(TalliesError, match="would be 64 numbers, too many at once; read fewer"):
        make_report(REGISTRY, decode(short))


@pytest.mark.parametrize("covariance", [False, True])
def test_one_window_of_every_question_is_always_estimated(covariance: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: FBT001 both cases
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 0)
    tallies = decode([line("os", [1, 2, 3, 4]), line("dark_mode", [1, 2])])
    assert len(make_report(REGISTRY, tallies, request=Request(covariance=covariance)).metrics) == 2


def test_a_page_of_windows_that_lie_far_apart_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="9998-12-31 would have 2,932,532 places"):
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
