"""Questions about texts from the tally to the table, page and rehearsal."""

from __future__ import annotations

import csv
import io
import json
from itertools import islice, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from client_sdk.protocol import Metric, Registry
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator.analyses.texts import sampled_texts
from estimator.commands.cli import command
from estimator.commands.report_options import read_candidates
from estimator.discovery.prefix_search import SURVIVORS
from estimator.errors import RequestError
from estimator.report import report as report_module
from estimator.report.report import NUMBERS_A_SHARE
from tests.support.devices.definitions import TEXT, registry_text
from tests.support.estimates.documents import listed

PEOPLE = {"the": 9000, "zebra": 6000, "congratulations": 9000, "": 6000}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    text = registry_text(word=TEXT)
    (folder / "metrics.toml").write_text(text, encoding="utf-8")
    metric = Registry.parse(text).metric("word")
    lines = [_line(metric, f"2026-11-{day}", seed=day) for day in (19, 20)]
    (folder / "tallies.ndjson").write_text("".join(lines), encoding="utf-8")
    (folder / "words.txt").write_text("zebra\nnobody\n\n", encoding="utf-8")
    (folder / "answers.csv").write_text("word\n" + "the\n" * 3 + "zebra\nnobody\n", encoding="utf-8")
    return folder


def _line(metric: Metric, window: str, seed: int) -> str:
    domain, channel = metric.kind, metric.channel
    assert isinstance(domain, Text)
    assert isinstance(channel, GroupedGeometry)
    devices: dict[tuple[int, ...], int] = {(domain.number_of(text),): count for text, count in PEOPLE.items()}
    counts = sampled_texts(domain, channel, devices, np.random.default_rng(seed))
    symbols = np.flatnonzero(counts)
    line = {"metric": "word", "edition": metric.edition, "window": window, "closed": True}
    return (
        json.dumps(
            line | {"reports": int(counts.sum()), "symbols": symbols.tolist(), "counts": counts[symbols].tolist()}
        )
        + "\n"
    )


def report(folder: Path, *options: str | Path) -> str:
    words = ["report", "--registry", folder / "metrics.toml", "--tallies", folder / "tallies.ndjson", *options]
    result = CliRunner().invoke(command, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_table_lists_what_was_found_and_what_the_list_lacks(folder: Path) -> None:
    table = report(folder)
    assert [text for text in ("(empty text)", "zebra", "the", "congratulati…") if f"  {text} " in table] == [
        "(empty text)",
        "zebra",
        "the",
        "congratulati…",
    ]
    said = " ".join(table.split())
    assert "The list lacks rare texts. A text is found 9 times in 10 if at least" in said
    assert "and it has 12 letters. With 95% confidence, every text on the list occurs." in said
    assert "An ellipsis marks a text that is longer than 12 letters" in said


def test_a_verbose_table_lists_the_texts_of_each_window(folder: Path) -> None:
    table = report(folder, "--verbose", "--with", f"candidates={folder / 'words.txt'}")
    for window in ("2026-11-19", "2026-11-20"):
        assert f"  texts found, {window}: 4\n" in table
        assert f"  texts named, {window}: 2\n" in table


@pytest.mark.slow
def test_json_and_csv_have_found_and_named_texts(folder: Path) -> None:
    options = ("--with", f"candidates={folder / 'words.txt'}", "--with", "simultaneous")
    for metric in json.loads(report(folder, "--format", "json", *options))["metrics"]:
        texts = {share["value"]: share for share in listed(metric, "found_text")}
        assert set(texts) == {"", "the", "zebra", "congratulati…"}
        assert all(texts[text]["low"] <= PEOPLE[text] / 30_000 <= texts[text]["high"] for text in ("the", "zebra", ""))
        zebra, nobody = listed(metric, "named_text")
        assert zebra["low"] > 0.1
        assert nobody["low"] == 0
    rows = list(csv.DictReader(io.StringIO(report(folder, "--format", "csv", *options))))
    of_window = [*["found_text"] * 4, *["named_text"] * 2, "devices_taking_part"]
    assert [row["statistic"] for row in rows] == 2 * of_window + ["change"] * 2


@pytest.mark.slow
def test_made_up_reports_are_counted_and_groups_are_tested(folder: Path) -> None:
    (first, _) = json.loads(report(folder, "--format", "json", "--with", "poisoning=0.01"))["metrics"]
    assert 100 < first["texts"]["made_up"] < 3000
    assert not first["fakes"]["test"]["impossible"]
    assert "fabricated reports," in " ".join(report(folder, "--with", "poisoning=0.01").split())


def test_a_page_has_the_texts(folder: Path) -> None:
    report(folder, "--output", folder / "page.html")
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "Texts found" in page
    assert "zebra" in page
    assert "the most common text found" in page


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"zebra\ngr\xc3\xb6\xc3\x9fe\n", "candidate 2, 'größe', is not a text of the letters"),
        (b"\xff", "is not UTF-8 text"),
        (b"zebra\n" * 3_000_000, "has more than 16,777,216 bytes; remove some texts"),
        (None, "cannot be read"),
    ],
)
def test_candidates_that_cannot_be_had_are_refused(
    folder: Path, tmp_path: Path, content: bytes | None, said: str
) -> None:
    path = tmp_path / "words.txt"
    if content is not None:
        path.write_bytes(content)
    words = ["report", "--registry", folder / "metrics.toml", "--tallies", folder / "tallies.ndjson"]
    result = CliRunner().invoke(command, [*map(str, words), "--with", f"candidates={path}"])
    assert result.exit_code != 0
    assert said in result.output


def test_a_file_without_an_end_is_refused_as_soon_as_it_is_too_long() -> None:
    with pytest.raises(RequestError, match="has more than 16,777,216 bytes"):
        read_candidates(Path("/dev/zero"))


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (b"", ()),
        (b"\xef\xbb\xbfthe\r\n\r\nzebra", ("the", "zebra")),
        (b"the\n\n\nzebra\n", ("the", "zebra")),
        ("a\u2028b\x0bc\x85d\rzebra\r\n".encode(), ("a\u2028b\x0bc\x85d\rzebra",)),
    ],
)
def test_a_line_is_a_text_in_files_of_every_origin(tmp_path: Path, content: bytes, texts: tuple[str, ...]) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    assert read_candidates(path) == texts


@pytest.mark.slow
def test_of_many_named_texts_that_nobody_has_none_is_said_to_occur(folder: Path, tmp_path: Path) -> None:
    words = [*map("".join, islice(product("abcdefghij", repeat=4), 3000)), "zebra"]
    (tmp_path / "words.txt").write_text("\n".join(words))
    said = " ".join(report(folder, "--with", f"candidates={tmp_path / 'words.txt'}").split())
    assert "Of 3,001 texts that you named, 1 certainly occurs" in said
    for metric in json.loads(report(folder, "--format", "json", "--with", f"candidates={tmp_path / 'words.txt'}"))[
        "metrics"
    ]:
        assert metric["texts"]["certain"] == 1
        assert sum(share["low"] > 0 for share in listed(metric, "named_text")) > 20  # each interval by itself


def test_named_texts_of_many_windows_count_as_numbers_of_a_report(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_module, "MOST_NUMBERS", 2 * SURVIVORS * NUMBERS_A_SHARE)
    report(folder)
    words = ["report", "--registry", folder / "metrics.toml", "--tallies", folder / "tallies.ndjson"]
    result = CliRunner().invoke(command, [*map(str, words), "--with", f"candidates={folder / 'words.txt'}"])
    assert result.exit_code == 1
    assert f"would consist of {2 * (SURVIVORS + 2) * NUMBERS_A_SHARE:,} numbers, too many at once" in result.output


def test_candidates_need_a_metric_about_texts(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "metrics.toml").write_text(registry_text(a={"purpose": "Why?", "kind": "boolean", "epsilon": 1}))
    words = ["report", "--registry", tmp_path / "metrics.toml", "--tallies", folder / "tallies.ndjson"]
    result = CliRunner().invoke(command, [*map(str, words), "--with", f"candidates={folder / 'words.txt'}"])
    assert 'candidates are only for questions of kind = "text"' in result.output


@pytest.mark.slow
def test_a_rehearsal_shows_truth_found_missed_and_false(folder: Path) -> None:
    words = ["rehearse", "--registry", folder / "metrics.toml", "--csv", folder / "answers.csv", "--repeat", 6000]
    options = list(map(str, [*words, "--seed", 3]))
    table = CliRunner().invoke(command, options).stdout
    assert "the 60." in " ".join(table.split())
    assert "  found: 3 texts; false: 0 texts\n" in table
    (metric,) = json.loads(CliRunner().invoke(command, [*options, "--format", "json"]).stdout)["metrics"]
    assert next((share["value"], share["truth"]) for share in listed(metric, "found_text")) == ("the", 0.6)
    assert (metric["texts"]["false"], metric["texts"]["missed"]) == ([], [])


@pytest.mark.slow
def test_a_plan_says_what_is_found_and_advises_to_name_texts(folder: Path) -> None:
    words = ["plan", "--registry", str(folder / "metrics.toml"), "--population", "1000000"]
    table = CliRunner().invoke(command, words).stdout
    assert "share found, 6 letters" in table
    assert "devices to see a text of 1%, 6 letters, if named" in table
    (metric,) = json.loads(CliRunner().invoke(command, [*words, "--format", "json"]).stdout)["metrics"]
    assert metric["texts"]["devices_to_find"] > 4 * metric["texts"]["devices_if_named"]
    assert [least["letters"] for least in metric["texts"]["least_shares"]] == [6, 12]


def test_an_audit_proves_a_metric_about_texts(folder: Path) -> None:
    result = CliRunner().invoke(command, ["audit", "--registry", str(folder / "metrics.toml"), "--exact"])
    assert result.exit_code == 0
    assert "as claimed" in result.stdout
