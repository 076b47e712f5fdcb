"""The page on who may do what: its samples are what the collector reads."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from collector.access import Role, parse_access
from tests.support.services.rights import (
    BACKUP_USER,
    RESTORE_USER,
    RULES,
    RULES_OF_BACKUPS,
    RULES_OF_BACKUPS_ON_A_CLUSTER,
    RULES_OF_RESTORES,
    RULES_OF_RESTORES_ON_A_CLUSTER,
    RULES_ON_A_CLUSTER,
    USER,
    commands,
)

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "access.md").read_text(encoding="utf-8")


def test_the_sample_of_an_access_file_is_one_and_shows_every_role() -> None:
    (sample,) = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    access = parse_access(sample)
    assert {key.role for key in access.keys} == set(Role)
    assert any(key.quota for key in access.keys)
    assert any(key.metrics and key.preliminary for key in access.keys)


@pytest.mark.parametrize(
    ("user", "granted"),
    [
        (USER, [*RULES, *RULES_ON_A_CLUSTER]),
        (BACKUP_USER, [*RULES_OF_BACKUPS, *RULES_OF_BACKUPS_ON_A_CLUSTER]),
        (RESTORE_USER, [*RULES_OF_RESTORES, *RULES_OF_RESTORES_ON_A_CLUSTER]),
    ],
)
def test_the_users_of_the_composed_store_have_the_rights_that_the_page_grants(user: str, granted: list[str]) -> None:
    users = (ROOT / "docker" / "users.example.acl").read_text(encoding="utf-8").splitlines()
    (rules,) = (line.split()[2:] for line in users if line.startswith(f"user {user} "))
    assert commands(rules) == commands(granted)
    assert [rule for rule in rules if "~" in rule] == [rule for rule in granted if "~" in rule]
