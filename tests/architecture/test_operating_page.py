"""The operator's pages agree with the code: the collector answers its codes, and its numbers are
the code's constants.
"""

from __future__ import annotations

import re

from client_sdk.protocol import CLOCK_SKEW_S, GRACE_S, Refusal
from collector.api.problem import Problem
from collector.app import FULL_RETRY_AFTER_S, MAX_RETRY_AFTER_S, RETRY_AFTER_S
from collector.config import DAY_S, DEFAULT_THREADS, HOUR_S
from collector.log import Event
from collector.service import MAX_CONNECTIONS, WORKER_STOP_S
from tests.support.services.images import ROOT

ACCESS, FAILURES, STORE = (
    (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("access", "troubleshooting", "store")
)
NGINX = "".join((ROOT / "docker" / name).read_text(encoding="utf-8") for name in ("nginx.conf", "upstream.conf"))


def test_every_code_that_the_page_names_is_answered() -> None:
    named = {code for code in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", FAILURES) if not code.startswith("hearsay")}
    named.remove("upload_key")  # an argument of the SDK
    answered = {problem.code for problem in Problem} | {str(code) for code in (*Refusal, *Event)}
    assert named <= answered
    assert named >= {"store_unavailable", "collector_unavailable", "quota_exceeded", "too_many_requests"}


def test_the_numbers_of_the_page_are_those_of_the_code() -> None:
    assert f"`Retry-After: {RETRY_AFTER_S}`" in FAILURES
    assert f"503 `store_full`, `Retry-After: {FULL_RETRY_AFTER_S}`" in FAILURES
    assert MAX_RETRY_AFTER_S == HOUR_S
    assert CLOCK_SKEW_S == 600
    assert GRACE_S == 3 * DAY_S
    assert f"`--threads` ({DEFAULT_THREADS})" in STORE
    assert f"holds {MAX_CONNECTIONS} connections" in STORE
    assert f"within {WORKER_STOP_S} seconds" in FAILURES
    assert "max_conns=64 " in NGINX
    assert "every collector is processing 64 requests" in " ".join(ACCESS.split())


def test_the_page_names_every_file_that_the_units_read() -> None:
    units = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "systemd").glob("*.service"))
    named = set(re.findall(r"/etc/hearsay/%i/[\w.-]+", units))
    assert {path.rpartition("/")[2] for path in named} == {"metrics.toml", "read-token", "addresses"}
    page = (ROOT / "docs" / "reference" / "operating.md").read_text(encoding="utf-8")
    for path in named:
        folder, _, file = path.replace("%i", "$app").rpartition("/")
        assert f"{folder}/{file}" in page or f" {file} {folder}/\n" in page, path


def test_the_pages_that_files_of_operators_name_are_there() -> None:
    files = [path for folder in ("docker", "docs/systemd") for path in (ROOT / folder).rglob("*") if path.is_file()]
    named = {page for path in files for page in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))}
    assert named
    assert [page for page in named if not (ROOT / page).is_file()] == []


def test_a_new_password_of_the_store_goes_into_both_files_that_hold_it() -> None:
    section = ACCESS.partition("### The store's password")[2].partition("\n#")[0]
    assert [name for name in ("store_url", "store_users") if f"`secrets/{name}`" not in section] == []
