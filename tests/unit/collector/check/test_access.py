from __future__ import annotations

from pathlib import Path

import pytest

from collector.check import Level, check_access
from tests.support.services.collecting import OPEN, REGISTRY, key_entry

UPLOAD, READ = key_entry("app", "upload", "one"), key_entry("dashboard", "read", "two")
RELAY = key_entry("edge", "relay", "three")
KEYS_ONLY = 'uploads = "keys"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (UPLOAD + READ, [(Level.OK, "1 upload, 1 read, 0 relay")]),
        (OPEN + READ, [(Level.OK, "0 upload, 1 read, 0 relay"), (Level.OK, "anybody may report")]),
        (KEYS_ONLY + READ, [(Level.OK, "0 upload, 1 read, 0 relay"), (Level.WARNING, "only relays may report")]),
        (KEYS_ONLY + READ + RELAY, [(Level.OK, "0 upload, 1 read, 1 relay"), (Level.OK, "only relays may report")]),
        (READ, [(Level.FAILED, "uploads: is missing, and no key is for uploads")]),
        (UPLOAD, [(Level.OK, "1 upload, 0 read, 0 relay"), (Level.WARNING, "nobody may read tallies")]),
        (
            UPLOAD + key_entry("some", "read", "two", 'metrics = ["os", "oz"]'),
            [(Level.OK, "1 upload, 1 read, 0 relay"), (Level.WARNING, "some may read oz, which the registry does not")],
        ),
        ("[[key]]", [(Level.FAILED, "name: is missing"), (Level.FAILED, "role"), (Level.FAILED, "sha256")]),
    ],
)
def test_keys_are_looked_through(tmp_path: Path, text: str, expected: list[tuple[Level, str]]) -> None:
    (tmp_path / "access.toml").write_text(text)
    results = list(check_access(tmp_path / "access.toml", REGISTRY))
    assert [result.level for result in results] == [level for level, _ in expected]
    assert all(part in result.text for result, (_, part) in zip(results, expected, strict=True))


def test_keys_are_not_held_against_a_registry_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "access.toml").write_text(UPLOAD + key_entry("some", "read", "two", 'metrics = ["oz"]'))
    assert {result.level for result in check_access(tmp_path / "access.toml", None)} == {Level.OK}
