"""``hearsay-client`` check, init, codegen and schema."""

from __future__ import annotations

import keyword
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from client_sdk import Recorded, Registry
from client_sdk.cli import main
from client_sdk.commands.codegen import module_of
from client_sdk.commands.registry_commands import STARTER
from client_sdk.protocol.kinds.kind import MOST_LITERALS
from client_sdk.protocol.registry.registry import Registry as SameRegistry
from tests.support.devices.clients import run_python
from tests.support.devices.definitions import (
    ACTIVITY,
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    MODEL,
    NEAREST,
    NUMBER,
    SET,
    TEXT,
    VECTOR,
    Toml,
    registry_text,
)

ROOT = Path(__file__).parents[4]
SHORT = registry_text(a=BOOLEAN, b=BOOLEAN).replace("per_window = 20", "per_window = 1.5")
ORDERS = ("type: which?", "type: ignore", "type: ignore[misc] # type: ignore", "mypy: disable-error-code=x", "noqa")
"""Purposes that would be orders to a type checker in a comment of their own."""

NODE = ["compile", "--target", "node"]
KINDS = {
    "dark_mode": BOOLEAN,
    "os": CATEGORY,
    "size": NUMBER,
    "taps": COUNT,
    "used": ACTIVITY,
    "topic": NEAREST,
    "embedding": VECTOR,
    "unknown_word": TEXT,
    "model": MODEL,
    "languages": SET,
    "both": CROSS,
}


def write(folder: Path, text: str) -> Path:
    path = folder / "metrics.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_check_says_that_a_registry_is_sound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, registry_text(a=BOOLEAN))
    assert main(["check", "--registry", str(path)]) == 0
    assert capsys.readouterr().out == (
        f"{path} is valid: 1 question in acme; the budget pays for at least one answer to each\n"
        f"{path}: limits are exceeded by budget; the reason given is: It exists in tests only.\n"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            registry_text(a={**BOOLEAN, "epsilon": 0}, b={}),
            ":13: metric.a.epsilon: must be from 0.000001 to 20, not 0\n",
        ),
        (SHORT, ": budget.per_window: the first day of a device may cost 1 (a) + 1 (b) = 2, but the ceiling is 1.5; "),
        ("schema = =", ": is not TOML: "),
    ],
    ids=["mistakes", "a shortage", "no TOML"],
)
def test_check_fails_for_a_bad_registry(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, text)
    assert main(["check", "--registry", str(path)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"{path}{said}" in shown.err


def test_init_writes_a_sound_registry_and_replaces_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.toml"
    assert main(["init", "--registry", str(path), "--app", 'say "hi"']) == 0
    registry = Registry.load(path)
    assert registry.app == 'say "hi"'
    expires = {metric.expires for metric in registry.metrics.values()}
    assert {day.year - datetime.now(UTC).year for day in expires if day} == {1}
    written = path.read_text(encoding="utf-8")
    assert main(["init", "--registry", str(path)]) == 1
    assert f"{path} already exists" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == written
    assert main(["init", "--registry", str(tmp_path / "none" / "metrics.toml")]) == 1
    assert "cannot be written: No such file" in capsys.readouterr().err


@pytest.mark.parametrize("app", ["", "a\x7fb", "a\nb", os.fsdecode(b"\xff"), "x" * 501])
def test_init_refuses_a_name_that_check_would_refuse_and_writes_nothing(
    app: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "metrics.toml"
    with pytest.raises(SystemExit) as refused:
        main(["init", "--registry", str(path), "--app", app])
    assert refused.value.code == 2
    assert "--app: must be the app's name, in 1 to 500 printable characters" in capsys.readouterr().err
    assert not path.exists()
    assert main(["init", "--registry", str(path), "--app", "\u00fc \\ '"]) == 0
    assert main(["check", "--registry", str(path)]) == 0


def test_init_leaves_no_file_that_it_could_not_fill(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    code = (
        "import resource, signal, sys; from client_sdk.cli import main; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)"
    )
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-B", "-c", f"{code}; {limit}", "init", "--registry", str(path)]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 1, shown.stderr
    assert "metrics.toml cannot be written: File too large" in shown.stderr
    assert not path.exists()


def test_the_starter_is_the_registry_of_the_readme() -> None:
    assert f"```toml\n{STARTER.read_text(encoding='utf-8')}```\n" in (
        ROOT / "docs" / "reference" / "metrics.md"
    ).read_text(encoding="utf-8")
    assert Registry.read(STARTER).objections(datetime.now(UTC).date()) == []


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the typed module of a registry with a question of every kind."""
    folder = tmp_path_factory.mktemp("typed")
    orders = {f"order_{index}": BOOLEAN | {"purpose": purpose} for index, purpose in enumerate(ORDERS)}
    text = (
        registry_text(**KINDS, **orders)
        + '[metric."class"]\npurpose = "Quote: \'\'\'"\nkind = "boolean"\nepsilon = 1\n'
    )
    assert main(["codegen", "--registry", str(write(folder, text)), "--output", str(folder / "metrics.py")]) == 0
    return folder


RIGHT = """\
metrics.dark_mode.record(True)
metrics.os.record("a")
metrics.size.record(2.5)
metrics.size.record(3)
metrics.taps.record(3)
metrics.taps.count()
metrics.used.active()
metrics.used.record(7)
metrics.topic.record([0.5, 1])
metrics.topic.record("near")
metrics.languages.record({"a", "b"})
metrics.languages.record(["c"])
metrics.both.record((True, "b"))
metrics.class_.record(False)
"""
WRONG = """\
metrics.dark_mode.record("yes")
metrics.os.record("dark")
metrics.size.record("2")
metrics.taps.record(1.5)
metrics.languages.record({"z"})
metrics.both.record(("b", True))
metrics.dark_mode.count()
metrics.used.count()
metrics.topic.record("far")
metrics.taps.active()
metrics.theme.record("dark")
"""


@pytest.mark.long
def test_mypy_refuses_every_wrong_answer_and_no_right_one(typed: Path) -> None:
    head = "from client_sdk import Telemetry\nfrom metrics import Metrics\n\n\ndef ask(metrics: Metrics) -> None:\n"
    body = "".join(f"    {line}\n" for line in (RIGHT + WRONG).splitlines())
    (typed / "app.py").write_text(head + body, encoding="utf-8")
    # In a process of its own: mypy raises the limit of recursion of the process that imports it.
    options = [
        "--strict",
        "--warn-unused-ignores",
        "--no-error-summary",
        "--follow-imports=silent",
        "app.py",
        "metrics.py",
    ]
    shown = subprocess.run(
        [sys.executable, "-m", "mypy", *options], cwd=typed, capture_output=True, text=True, check=False
    ).stdout
    first_wrong = len(head.splitlines()) + len(RIGHT.splitlines()) + 1
    expected = {f"app.py:{line}" for line in range(first_wrong, first_wrong + len(WRONG.splitlines()))}
    flagged_lines = {":".join(line.split(":")[:2]) for line in shown.splitlines()}
    assert flagged_lines == expected, shown


def test_the_typed_module_records_by_the_names_of_the_registry(typed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(typed))
    recorded: list[tuple[Any, ...]] = []

    def note(*given: object) -> Recorded:
        recorded.append(given)
        return Recorded.QUEUED

    from metrics import Metrics  # type: ignore[import-not-found] # noqa: PLC0415 the test wrote it

    metrics = Metrics(SimpleNamespace(record=note, count=note, active=note))
    assert metrics.os.record("a") is Recorded.QUEUED
    metrics.taps.count(2)
    metrics.used.active()
    metrics.class_.record(True)  # noqa: FBT003 an answer
    assert recorded == [("os", "a"), ("taps", 2), ("used",), ("class", True)]


def test_odd_names_and_long_lists_make_a_module_all_the_same() -> None:
    values = [f"v{index}" for index in range(MOST_LITERALS + 1)]
    metrics = {name: BOOLEAN for name in (*keyword.kwlist, "class_") if name.islower()}
    text = module_of(SameRegistry.parse(registry_text(**metrics, many=CATEGORY | {"values": values})))
    compile(text, "metrics.py", "exec")
    assert "self.many: Metric[str]" in text
    assert "self.class__: " in text


def test_codegen_names_the_mistakes_of_a_registry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["codegen", "--registry", str(write(tmp_path, "schema = 3"))])
    assert refused.value.code == 2
    assert "schema: must be 1, the only schema" in capsys.readouterr().err
    assert main(["codegen", "--registry", str(STARTER)]) == 0
    assert "self.startup_ms: " in capsys.readouterr().out
    assert main(["codegen", "--registry", str(STARTER), "--output", str(tmp_path)]) == 1
    assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["codegen"], NODE])
@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_module_never_replaces_its_registry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], link: Callable[[Path, Path], None]
) -> None:
    text = registry_text(m=BOOLEAN)
    path = write(tmp_path, text)
    link(tmp_path / "questions.d.ts", path)
    for output in (path, tmp_path / "questions.d.ts"):
        assert main([*arguments, "--registry", str(path), "--output", str(output)]) == 1
        assert "is the registry itself" in capsys.readouterr().err
    assert path.read_text() == text


@pytest.mark.parametrize(("arguments", "name"), [(["codegen"], "out.py"), (NODE, "out.js"), (NODE, "out.d.ts")])
def test_a_module_replaces_only_what_its_command_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], name: str
) -> None:
    path, other = write(tmp_path, registry_text(m=BOOLEAN)), tmp_path / name
    output = other.with_name(name.replace(".d.ts", ".js"))
    for content in ("schema = 1\n", "-----BEGIN PRIVATE KEY-----\n", "export const mine = 1;\n", "import os\n"):
        other.write_text(content)
        assert main([*arguments, "--registry", str(path), "--output", str(output)]) == 1
        assert f"{other} was not written by {arguments[0]} and was not changed" in capsys.readouterr().err
        assert other.read_text() == content
    other.write_text("")
    for _ in range(2):
        assert main([*arguments, "--registry", str(path), "--output", str(output)]) == 0


def test_types_never_replace_the_registry(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.d.ts"
    path.write_text(registry_text(m=BOOLEAN))
    assert main(["compile", "--registry", str(path), "--target", "node", "--output", str(tmp_path / "metrics.js")]) == 1
    assert "is the registry itself" in capsys.readouterr().err
    assert path.read_text() == registry_text(m=BOOLEAN)
    assert not (tmp_path / "metrics.js").exists()


def test_checking_needs_no_library_of_the_services() -> None:
    work = f"assert main(['check', '--registry', {str(STARTER)!r}]) == 0"
    code = f"import sys\nfrom client_sdk.cli import main\n{work}\nprint(*sys.modules)"
    assert {"numpy", "click", "flask", "requests"}.isdisjoint(run_python(code).split())


def test_a_metric_that_has_expired_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(registry_text(m=BOOLEAN | {"expires": Toml("2020-01-01")}), encoding="utf-8")
    assert main(["check", "--registry", str(path)]) == 0
    assert "metric.m expired on 2020-01-01: remove it, or set a later date\n" in capsys.readouterr().out


def test_codegen_has_a_type_of_the_purposes_if_there_are_any() -> None:
    metrics = {"a": BOOLEAN | {"consent": "usage"}, "b": BOOLEAN | {"consent": "crashes"}, "c": BOOLEAN}
    text = module_of(SameRegistry.parse(registry_text(**metrics)))
    written: dict[str, Any] = {}
    exec(compile(text, "metrics.py", "exec"), written)  # noqa: S102 as an app imports it
    assert get_args(written["Purpose"]) == ("crashes", "usage")
    assert "Purpose" not in module_of(SameRegistry.parse(registry_text(a=BOOLEAN)))
