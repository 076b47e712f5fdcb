"""The rights of the collector's user on a store, as docs/reference/access.md grants them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "reference" / "access.md").read_text(encoding="utf-8")
LINES = re.findall(r"^ACL SETUSER (.*)$", PAGE, re.MULTILINE)
USER, BACKUP_USER, RESTORE_USER = (line.split()[0] for line in LINES[::2])
RULES, RULES_OF_BACKUPS, RULES_OF_RESTORES = (line.split()[1:] for line in LINES[::2])
RULES_ON_A_CLUSTER, RULES_OF_BACKUPS_ON_A_CLUSTER, RULES_OF_RESTORES_ON_A_CLUSTER = (
    line.split()[1:] for line in LINES[1::2]
)
PASSWORD = "PASSWORD"  # noqa: S105 as the page has it


def commands(rules: list[str]) -> list[str]:
    """Return the commands that the rules allow."""
    return [rule.removeprefix("+") for rule in rules if rule.startswith("+")]
