"""Numbers before a word or a unit."""

from __future__ import annotations

from collector.errors import in_units, plural


def test_the_number_one_takes_the_singular_and_others_the_plural() -> None:
    assert [plural(number, "report") for number in (0, 1, 2)] == ["0 reports", "1 report", "2 reports"]
    assert [plural(number, "tally", "tallies") for number in (1, 1024)] == ["1 tally", "1,024 tallies"]


def test_bytes_are_shown_in_the_largest_unit_that_they_fill() -> None:
    sizes = (0, 1, 999, 1_000, 9_949, 10_000, 24_117_248, 7_340_032_000, 12_345 * 10**9)
    shown = ["0 bytes", "1 byte", "999 bytes", "1.0 kB", "9.9 kB", "10 kB", "24 MB", "7.3 GB", "12,345 GB"]
    assert list(map(in_units, sizes)) == shown
