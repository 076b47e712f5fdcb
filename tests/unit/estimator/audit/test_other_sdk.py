"""A program that plays another SDK: what it is asked, and every way in which it may fail."""

from __future__ import annotations

import shlex
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

from client_sdk.protocol import Registry
from estimator.audit.black_box import OtherSdk
from estimator.commands.cli import command
from estimator.errors import AuditError
from tests.support.devices.definitions import BOOLEAN, registry_text

TEXT = registry_text(dark_mode=BOOLEAN | {"epsilon": "ln 3"})
REGISTRY = Registry.parse(TEXT)

SILENT = "import sys\nfor line in sys.stdin: print('{}', flush=True)"

PLAYER = """
import json, random, sys
coins, reports = random.Random(4), []
edition = sys.argv[1]
for line in sys.stdin:
    asked, answer = json.loads(line), {}
    if asked["do"] == "begin":
        reports = []
    if asked["do"] == "record":
        symbol = int(asked["answer"]) if KEPT else int(not asked["answer"])
        day = __import__("datetime").datetime.fromtimestamp(asked["at"], __import__("datetime").UTC).date().isoformat()
        reports.append({"metric": asked["metric"], "edition": edition, "window": day, "symbol": symbol})
        answer = {"recorded": "queued"}
    if asked["do"] == "flush":
        body = json.dumps({"upload": "%032x" % coins.getrandbits(128), "reports": reports}, separators=(",", ":"))
        answer, reports = {"sent": [body]}, []
    print(json.dumps(answer), flush=True)
"""


def program(source: str, *arguments: str) -> str:
    return shlex.join([sys.executable, "-c", source, *arguments])


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "status"), [("coins.random() < 0.75", 0), ("coins.random() < 0.95", 1)])
def test_an_sdk_that_keeps_its_claims_passes_and_another_one_is_accused(tmp_path: Path, kept: str, status: int) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT, encoding="utf-8")
    player = program(PLAYER.replace("KEPT", kept), REGISTRY.metric("dark_mode").edition)
    arguments = ["audit", "--registry", str(path), "--reports", "480", "--sdk", player]
    result = CliRunner().invoke(command, arguments)
    assert result.exit_code == status, result.output
    assert ("dark_mode" in result.stderr) is bool(status)


def test_an_exact_audit_walks_only_the_sdk_in_python(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(TEXT, encoding="utf-8")
    result = CliRunner().invoke(command, ["audit", "--registry", str(path), "--exact", "--sdk", "player"])
    assert result.exit_code == 2
    assert "--exact works only for the Python SDK" in result.output


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", "ended, or printed something other than JSON"),
        ("print('hello', flush=True); input()", "ended, or printed something other than JSON"),
        ("print('[]', flush=True); input()", "its answer is not a JSON object"),
        ('print(\'{"error": "no such question"}\', flush=True); input()', "no such question"),
    ],
)
def test_a_program_that_cannot_go_on_ends_the_audit_with_the_reason(source: str, why: str) -> None:
    with OtherSdk(program(source)) as sdk, pytest.raises(AuditError, match=why):
        sdk.ask({"do": "begin"})


@pytest.mark.parametrize(
    ("name", "why"),
    [("/no/such/program", "cannot be started"), ("'", "cannot be started"), (" ", "no program is named")],
)
def test_a_program_that_cannot_be_started_is_named(name: str, why: str) -> None:
    with pytest.raises(AuditError, match=why):
        OtherSdk(name)


def test_a_device_that_records_nothing_or_sends_nothing_is_no_audit() -> None:
    class Nowhere:
        def post(self, body: bytes) -> None: ...

    with OtherSdk(program(SILENT)) as sdk:
        device = sdk.device(REGISTRY, clock=lambda: 0.0, transport=Nowhere())
        assert device.record("dark_mode", 1) == "None"
        with pytest.raises(AuditError, match="answer a flush with the bodies"):
            device.flush(1.0)


def test_answers_that_json_lacks_travel_as_lists_and_numbers() -> None:
    echo = "import json, sys\nfor line in sys.stdin: print(json.dumps({'got': json.loads(line)['answer']}), flush=True)"
    with OtherSdk(program(echo)) as sdk:
        for answer, got in [({"b", "a"}, ["a", "b"]), (Fraction(1, 4), 0.25), ((True, 2), [True, 2]), (7, 7)]:
            assert sdk.ask({"answer": answer}) == {"got": got}
