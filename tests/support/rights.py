"""The rights of the collector's user on a store, as the page on access grants them."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "access.md").read_text(encoding="utf-8")
LINES = re.findall(r"^ACL SETUSER (.*)$", PAGE, re.MULTILINE)
(USER, *RULES), (_, *RULES_ON_A_CLUSTER) = map(str.split, LINES)
PASSWORD = "PASSWORD"  # noqa: S105 as the page has it
COMMANDS = [rule.removeprefix("+") for rule in RULES if rule.startswith("+")]
