"""The pages of the protocol: each rule has a check, each check a rule; the examples are true."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from client_sdk.commands.compile import Target, document_of
from client_sdk.protocol import Registry, Verdict
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.verdict import decode_stopped
from collector.api.messages import OPERATIONS
from estimator.conformance.outcome import CaseClass
from tests.support.conformance.python_sdk import DO, Device
from tests.support.core.tables import for_each
from tests.support.laws.coins import ScriptedCoins
from tests.support.vectors import VECTORS, vectors

ROOT = Path(__file__).resolve().parents[2]
PROTOCOL = ROOT / "docs" / "protocol"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(PROTOCOL.glob("*.md"))}
MOST_WORDS = 2500
RUNNER = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "estimator" / "conformance").glob("*.py"))
PLAYED = {"coins.json": "laws answers", "editions.json": "editions", "windows.json": "windows"}
"""Files that the runner plays, beside histories, and the classes of their cases."""


class Rule(NamedTuple):
    number: str
    text: str
    enforced_by: tuple[str, ...]


def paragraphs(page: str) -> list[str]:
    """Return each paragraph and each list item of a page, without code."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return [" ".join(each.split()) for each in re.split(r"\n\n|\n(?=\* |\d+\. |\|)", prose) if each.strip()]


RULES = [
    Rule(match[1], match[2], tuple(re.findall(r"`([^`]+)`", match[3])))
    for page in PAGES.values()
    for paragraph in paragraphs(page)
    if (match := re.fullmatch(r"\* \*\*\[([A-Z]-\d+)\]\*\* (.*) \*Enforced by\* (.*)\.", paragraph))
]
NUMBERS = {rule.number for rule in RULES}


def code(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)\n```$", PAGES[page], re.MULTILINE | re.DOTALL)


def test_the_numbers_of_rules_are_unique_and_leave_no_gap() -> None:
    assert len(RULES) == len(NUMBERS) > 50
    for letter, last in Counter(number[0] for number in NUMBERS).items():
        assert {f"{letter}-{place}" for place in range(1, last + 1)} <= NUMBERS


def test_every_must_belongs_to_a_rule() -> None:
    loose = [
        paragraph
        for page in PAGES.values()
        for paragraph in paragraphs(page)
        if re.search(r"\bMUST\b|\bSHALL\b|\bREQUIRED\b", paragraph)
        and not re.match(r"\* \*\*\[[A-Z]-\d+\]\*\* ", paragraph)
    ]
    assert [each for each in loose if not each.startswith(("The key words MUST", "Each MUST and MUST NOT"))] == []
    assert all(re.search(r"\bMUST\b|may decide", rule.text) for rule in RULES)


@for_each("rule", RULES)
def test_a_rule_is_enforced_by_vectors_and_tests_that_exist(rule: Rule) -> None:
    assert rule.enforced_by
    for name in rule.enforced_by:
        path, _, function = name.partition("::")
        file = ROOT / path if "/" in path else VECTORS / path
        assert file.is_file(), name
        assert not function or f"def {function}(" in file.read_text(encoding="utf-8"), name


def test_every_file_of_vectors_enforces_a_rule_and_is_described() -> None:
    files = {path.name for path in VECTORS.glob("*.json")} - {"compiled.json"}  # the input of others
    assert files == {name for rule in RULES for name in rule.enforced_by if "/" not in name}
    assert files | {"compiled.json"} == set(re.findall(r"^\*\*`([a-z_]+\.json)`\*\*", PAGES["vectors"], re.MULTILINE))


def test_the_runner_knows_the_rules_that_its_vectors_enforce_and_no_others() -> None:
    of_histories = {history["rule"] for history in vectors("histories")["histories"]}
    of_code = set(re.findall(r'"([A-Z]-\d+)\b', RUNNER))
    enforced = {rule.number for rule in RULES if {"histories.json", *PLAYED} & set(rule.enforced_by)}
    without_program = {"C-3", "C-4", "E-3", "E-4", "E-5", "V-3"}  # laws and definitions, which other tests compare
    assert of_histories | of_code == enforced - without_program


def test_every_link_to_a_rule_names_one() -> None:
    named = {number for page in PAGES.values() for number in re.findall(r"\b([A-Z]-\d+)\b", page)}
    assert named - {"U-0001"} <= NUMBERS


@for_each("name", PAGES)
def test_a_page_has_2500_words_at_most(name: str) -> None:
    assert len(PAGES[name].split()) <= MOST_WORDS


def test_the_compiled_registry_of_the_page_is_that_of_its_definition() -> None:
    (definition,), (document,) = code("registry", "toml"), code("registry", "json")
    compiled = document_of(Registry.parse(definition), Target.NODE)
    assert compiled.pop("sentences")
    assert json.loads(document) == compiled


def test_the_canonical_text_of_the_page_has_the_edition_and_length_of_the_page() -> None:
    (definition,), (canonical,) = code("registry", "toml"), code("registry", "text")
    metric = Registry.parse(definition).metric("theme")
    assert hashlib.sha256(canonical.encode("ascii")).hexdigest()[:12] == metric.edition
    assert f"one line of {len(canonical)} bytes" in PAGES["registry"]
    assert f"= {2**64 * 3 // 5}" in PAGES["registry"]
    assert f"begins with `{metric.edition}`" in PAGES["registry"]


def test_the_coins_of_the_page_give_the_symbols_of_the_page() -> None:
    channel = KAryRandomizedResponse(3, 2**64 * 3 // 5)
    rows = re.findall(r"^\| (\d) \| (true|false), (\d) \| .* \| (\d) \|$", PAGES["mechanisms"], re.MULTILINE)
    assert len(rows) == 4
    for given, keep, lie, symbol in rows:
        with ScriptedCoins([keep == "true", int(lie)]) as coins:
            assert channel.perturb(int(given), coins) == int(symbol)
    assert f"`bernoulli({channel.keep_numerator})`, `below(2)`" in PAGES["mechanisms"]


def test_the_bodies_and_the_header_of_the_wire_are_read() -> None:
    body, verdict = code("wire", "json")
    upload = read_upload(body.encode())
    assert upload.encode() == body.encode()
    (definition,) = code("registry", "toml")
    assert [report.edition for report in upload.reports] == [Registry.parse(definition).metric("theme").edition]
    assert Verdict.decode(verdict.encode(), reports=2).accepted == 1
    (header,) = code("wire", "text")
    assert [entry[0] for entry in decode_stopped(header.removeprefix("Hearsay-Stopped: "))] == ["theme", "sound"]


def test_the_page_of_the_wire_names_every_path_and_no_other() -> None:
    rows = [line for line in PAGES["wire"].splitlines() if re.match(r"\| `(GET|POST)", line)]
    named = {path for line in rows for path in re.findall(r"(/[a-z0-9/.]*)`", line.split(" | ")[0])}
    assert named == {operation.path for operation in OPERATIONS}


def test_the_lines_of_the_runner_are_answered_as_the_page_says() -> None:
    pairs = [(first, second) for block in code("conformance", "json") for first, second in _pairs(block)]
    assert {first["do"] for first, _ in pairs} == set(DO)
    whole = [(first, second) for first, second in pairs if first["do"] in {"perturb", "window"}]
    assert len(whole) > 3
    for first, second in whole:
        assert DO[first["do"]](Device(), first) == second


def _pairs(block: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    lines = [json.loads(line) for line in block.splitlines()]
    return list(zip(lines[::2], lines[1::2], strict=True))


def test_the_page_lists_the_classes_of_cases() -> None:
    rows = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \| `[a-z]+\.json`", PAGES["conformance"], re.MULTILINE)
    listed = [label for row in rows for label in re.findall(r"`([a-z]+)`", row)]
    assert listed == [each.label for each in CaseClass]
