"""`hearsay-client compile` writes questions as integers, and refuses what a target cannot keep."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from client_sdk.cli import main
from client_sdk.commands.compile import MECHANISMS, Target, compiled, document_of, function_of, refusal, refusals
from client_sdk.protocol import Registry
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.ordinal import OrdinalMean
from client_sdk.protocol.registry.registry import in_trial
from tests.support.compiled_vectors import compiled_registry, compiled_vectors
from tests.support.vectors import vectors

ROOT = Path(__file__).parents[4]

HEAD = """
schema = 1
[app]
name = "acme"
[budget]
window = "week"
per_window = 3
lifetime = 100
"""
DARK_MODE = """
[metric.dark_mode]
purpose = "Is it used? */"
kind = "boolean"
epsilon = "ln 3"
"""
YEAR = "web_year = 162\n"


def asked(name: str, lines: str) -> str:
    return f'[metric.{name}]\npurpose = "?"\n{lines}\nepsilon = 1\n'


def run(tmp_path: Path, text: str, *options: str) -> int:
    path = tmp_path / "metrics.toml"
    path.write_text(text, encoding="utf-8")
    return main(["compile", "--registry", str(path), *options])


def test_a_trial_is_compiled_whatever_strategy_and_year_say_and_no_other_module_tells_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paced = f'{HEAD}strategy = "pace"\n{DARK_MODE}expires = 2036-12-31\n'
    assert run(tmp_path, paced, "--target", "web") == 1
    assert run(tmp_path, paced, "--target", "web", "--trial") == 0
    module = capsys.readouterr().out
    assert 'import { trial } from "hearsay-ldp/trial";' in module
    assert in_trial(Registry.parse(paced)).metric("dark_mode").edition in module
    assert run(tmp_path, f"{paced}fill_in = true\n", "--target", "web", "--trial") == 1
    capsys.readouterr()
    assert run(tmp_path, HEAD + YEAR + DARK_MODE, "--target", "web") == 0
    assert "trial" not in capsys.readouterr().out


def test_the_module_holds_every_metric_as_integers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, HEAD + YEAR + DARK_MODE, "--target", "web") == 0
    module = capsys.readouterr().out
    assert 'import { boolean, randomizedResponse } from "hearsay-ldp/spec";' in module
    assert 'kinds: { "boolean": boolean }, mechanisms: { "randomized-response": randomizedResponse }' in module
    document = json.loads(module[module.index("= {") + 2 : module.index(";\n\nexport")])
    registry = Registry.parse(HEAD + YEAR + DARK_MODE)
    assert document == document_of(registry, "web")
    metric = registry.metric("dark_mode")
    assert document["metrics"]["dark_mode"]["integers"] == {"keep_numerator": str(3 * 2**62)}
    assert document["metrics"]["dark_mode"]["nanos"] == str(metric.epsilon_nanos)
    assert document["budget"] == {
        "window": "week",
        "per_window": "3" + "0" * 9,
        "lifetime": "100" + "0" * 9,
        "delta": "0",
    }


def test_check_passes_until_the_registry_says_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "hearsay.js"
    text, options = HEAD + YEAR + DARK_MODE, ("--target", "web", "--output", str(output))
    assert run(tmp_path, text, *options, "--check") == 1
    assert "compile it again" in capsys.readouterr().err
    assert run(tmp_path, text, *options) == 0
    assert "162 a year" in capsys.readouterr().out
    assert "dark_mode: boolean;" in (tmp_path / "hearsay.d.ts").read_text(encoding="utf-8")
    assert run(tmp_path, text, *options, "--check") == 0
    assert run(tmp_path, text.replace('"ln 3"', '"ln 2"'), *options, "--check") == 1


SDK = "the SDK for browsers and Node"
NEAREST = asked("n", 'kind = "nearest"\nprototypes = { a = "0", b = "1" }')
REFUSED = {
    "web_year": (HEAD + DARK_MODE, r"\[budget\] web_year must be at least 162"),
    "a year too small": (HEAD + "web_year = 161" + DARK_MODE, r"at least 162"),
    "permanent answers": (
        HEAD + DARK_MODE + "permanent_epsilon = 2",
        r"metric\.dark_mode: permanent_epsilon needs a secret",
    ),
    "fill_in": (HEAD + YEAR + DARK_MODE + "fill_in = true", r"metric\.dark_mode: fill_in needs"),
    "activity": (
        HEAD + YEAR + asked("use", 'kind = "activity"\ndays = 7\nstatistic = "mean"'),
        r"metric\.use: an activity needs",
    ),
    "vector": (
        HEAD + YEAR + asked("v", 'kind = "vector"\nlength = 3\nnorm = 1'),
        rf"metric\.v: {SDK} lacks the kind vector",
    ),
    "a cross with vectors": (
        HEAD + YEAR + DARK_MODE + NEAREST + asked("c", 'cross = ["n", "dark_mode"]'),
        rf"metric\.c: {SDK} cannot cross this kind",
    ),
    "the mean of an ordinal": (
        HEAD + YEAR + asked("o", 'kind = "ordinal"\nvalues = ["a", "b"]\nstatistic = "mean"'),
        rf"metric\.o: {SDK} has no statistic",
    ),
    "strategy": (HEAD + YEAR + 'strategy = "sample"\nanswers = 1' + DARK_MODE, r'strategy = "sample" needs a secret'),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_browsers_cannot_promise_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    text, reason = REFUSED[name]
    assert run(tmp_path, text, "--target", "web") == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert re.search(reason, captured.err)


def test_node_needs_no_year_of_a_browser(tmp_path: Path) -> None:
    assert run(tmp_path, HEAD + DARK_MODE, "--target", "node") == 0


def test_an_unknown_target_is_refused_with_those_there_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(tmp_path, HEAD + DARK_MODE, "--target", "browser")
    assert re.search(r"choose from '?web'?, '?node'?\)", capsys.readouterr().err)


def test_the_year_of_a_browser_changes_no_edition() -> None:
    with_year, without = (Registry.parse(HEAD + year + DARK_MODE) for year in (YEAR, ""))
    assert with_year.metric("dark_mode").edition == without.metric("dark_mode").edition


KNOWN = {"boolean", "category", "count", "cross", "mean-by-group", "nearest", "number", "ordinal", "set"}
LACKING = {"activity", "vector", "model", "model-of-crosses", "text"}
"""The kinds that the SDK for browsers does not have."""


@pytest.mark.slow
def test_the_tests_in_typescript_get_every_vector_but_those_of_three_reasons() -> None:
    compiled = vectors("compiled")
    assert compiled == compiled_vectors(), "run python -m tests.support.compiled_vectors"
    coins, invalid = vectors("coins"), vectors("invalid")
    assert compiled.keys() == {
        vector["definition"]
        for vector in (*coins["answers"], *coins["kinds"], *vectors("editions"), *invalid["answers"], *invalid["added"])
    }
    metrics = {text: next(iter(Registry.parse(text).metrics.values())) for text in compiled}
    left_out = {
        text
        for text, metric in metrics.items()
        if metric.kind.name in LACKING or metric.fill is not None or isinstance(metric.kind, OrdinalMean)
    }
    assert {text for text, entry in compiled.items() if isinstance(entry, str)} == left_out


def test_the_registries_of_the_histories_are_compiled() -> None:
    registries = vectors("histories")["registries"].values()
    assert all(each["compiled"] == compiled_registry(each["definition"]) for each in registries)


def test_every_kind_of_the_vectors_is_known_or_refused_by_name() -> None:
    kinds = [Registry.parse(vector["definition"]).metric(vector["metric"]).kind for vector in vectors("editions")]
    assert {kind.name for kind in kinds} - KNOWN == LACKING
    assert {kind.name for kind in kinds if not kind.browser_refusal} == KNOWN


def test_a_kind_or_mechanism_that_the_sdk_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry.parse(HEAD + YEAR + DARK_MODE)
    assert not list(refusals(registry, Target.WEB))
    monkeypatch.setattr("client_sdk.commands.compile.MECHANISMS", ("one-bit",))
    assert "lacks the mechanism randomized-response" in "".join(refusals(registry, Target.WEB))
    monkeypatch.setattr(Boolean, "typescript_type", "")
    assert "lacks the kind boolean" in "".join(refusals(registry, Target.WEB))


def test_a_pair_whose_part_the_sdk_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    system = asked("os", 'kind = "category"\nvalues = ["a", "b"]')
    registry = Registry.parse(HEAD + system + DARK_MODE + asked("c", 'cross = ["os", "dark_mode"]'))
    assert refusal(registry.metric("c")) is None
    monkeypatch.setattr(Category, "typescript_type", "")
    assert refusal(registry.metric("c")) == "the SDK for browsers and Node lacks the kind category"


def test_every_kind_and_mechanism_of_the_compiler_is_exported_by_the_sdk() -> None:
    spec = (ROOT / "client_sdk" / "typescript" / "src" / "spec.ts").read_text(encoding="utf-8")
    exported = set(re.findall(r"\w+", spec))
    assert {function_of(name) for name in (*KNOWN, *MECHANISMS)} <= exported


def parts(text: str) -> dict[str, Any]:
    return compiled(Registry.parse(HEAD + text).metric("m"))


def test_what_a_metric_does_not_say_is_left_out() -> None:
    count = 'kind = "count"\nmax = 5\nstatistic = "mean"'
    plain = parts(asked("m", count))
    assert not {"expires", "persist", "vectors", "consent", "strata"} & plain.keys()
    kept = parts(asked("m", f"{count}\npersist = true\nexpires = 2027-12-31"))
    assert (kept["persist"], kept["expires"]) == (True, "2027-12-31")


def test_strata_purposes_and_stopped_metrics_are_compiled_beside_the_metric() -> None:
    text = HEAD.replace("[app]", 'stopped = ["old:0123456789ab"]\n[strata]\nplatform = ["ios", "android"]\n[app]')
    registry = Registry.parse(text + DARK_MODE + 'consent = "usage"\nstrata = ["platform"]')
    document = document_of(registry, "node")
    assert (document["variables"], document["stopped"]) == (["platform"], ["old:0123456789ab"])
    entry, metric = document["metrics"]["dark_mode"], registry.metric("dark_mode")
    assert entry["consent"] == ["usage"]
    assert entry["strata"] == {
        f"platform={value}": metric.for_strata({"platform": value}).edition for value in ("ios", "android")
    }
    assert entry["edition"] == metric.edition
    assert not {"variables", "stopped"} & document_of(Registry.parse(HEAD + DARK_MODE), "node").keys()


def test_the_types_of_pairs_and_sets_say_what_may_be_answered(tmp_path: Path) -> None:
    metrics = (
        asked("os", 'kind = "category"\nvalues = ["a", "b"]')
        + asked("ms", 'kind = "number"\nlow = 0\nhigh = 9\nstatistic = "mean"')
        + asked("by", 'cross = ["os", "ms"]')
        + asked("s", 'kind = "set"\nvalues = ["a", "b"]\nmax_items = 1\nother = "b"')
    )
    assert run(tmp_path, HEAD + metrics, "--target", "node", "--output", str(tmp_path / "q.js")) == 0
    types = (tmp_path / "q.d.ts").read_text(encoding="utf-8")
    assert 'by: readonly ["a" | "b", number | bigint];' in types
    assert "s: ReadonlySet<string> | readonly (string)[];" in types
