"""The sentences for users: complete and alike in every language, and an app's own instead."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from client_sdk.commands.compile import document_of
from client_sdk.commands.registry_commands import check
from client_sdk.protocol import Refusal, Registry
from client_sdk.protocol.errors import LanguageError, RegistryError
from client_sdk.protocol.sentences import SHIPPED, languages, placeholders, shipped
from client_sdk.protocol.statement import statement
from client_sdk.protocol.toml_table import is_text
from client_sdk.results import Waits
from tests.support.devices.definitions import BOOLEAN, registry_text

TEXT = registry_text(dark_mode=BOOLEAN | {"purpose": "Is it used?"})
STATEMENTS = Path(__file__).with_name("statements")
EPSILONS = ("0.75", '"ln 3"', "4", "12")


def with_sentences(lines: str) -> Registry:
    return Registry.parse(f"{TEXT}\n{lines}")


@pytest.mark.parametrize("language", SHIPPED)
def test_every_language_that_ships_has_the_same_sentences_and_placeholders(language: str) -> None:
    english, other = shipped().texts, shipped(language).texts
    assert list(other) == list(english)
    for key, text in other.items():
        assert placeholders(text) == placeholders(english[key]), key
        assert is_text(text), key


@pytest.mark.parametrize("language", SHIPPED)
def test_every_code_that_a_user_may_see_has_words(language: str) -> None:
    say = shipped(language)
    assert all(f"outcome.{code}" in say for code in Refusal)
    assert all(f"show.{why.name.lower()}" in say for why in Waits)
    assert say.code("outcome", "from_a_later_version") == "from_a_later_version"


@pytest.mark.parametrize(
    ("number", "decimals", "english", "german"),
    [
        *((Fraction(9, 2), 1, "4.5", "4,5"), (1_234_567, 0, "1,234,567", "1.234.567")),
        *((Fraction(-1, 3), 3, "-0.333", "-0,333"), (Fraction(-1, 10_000), 3, "0", "0")),
        (Fraction(2999, 1000), 2, "3", "3"),
    ],
)
def test_numbers_are_as_the_language_has_them(number: Fraction | int, decimals: int, english: str, german: str) -> None:
    assert shipped("en").number(number, decimals) == english
    assert shipped("de").number(number, decimals) == german


@pytest.mark.parametrize("language", SHIPPED)
def test_the_statement_of_four_epsilons_reads_as_it_should(language: str) -> None:
    """Side by side: what each page says before its commands, which are the same in all."""
    pages = [statement(Registry.parse(_weekly(epsilon)), language) for epsilon in EPSILONS]
    end = f"## {shipped(language)('statement.erase.title')}"
    golden = (STATEMENTS / f"{language}.md").read_text(encoding="utf-8")
    assert "\n".join(page.partition(end)[0] for page in pages) == golden


def _weekly(epsilon: str) -> str:
    """Return a registry with a question to which a device gives two answers at most."""
    cost = {'"ln 3"': "1.1"}.get(epsilon, epsilon)
    return f"""\
schema = 1
[app]
name = "acme-notes"
owner = "telemetry@example.com"
[budget]
window = "week"
per_window = {cost}
lifetime = {2 * Decimal(cost)}
[metric.dark_mode]
purpose = "Is dark mode used enough to keep both themes?"
kind = "boolean"
epsilon = {epsilon}
expires = 2027-12-31
"""


def test_for_browsers_the_first_paragraph_says_that_only_the_limit_of_a_window_protects() -> None:
    text = _weekly("1").replace("lifetime", "web_year = 54\nlifetime")
    first = " ".join(statement(Registry.parse(text)).split("\n\n")[1].split())
    assert first.startswith("In a browser, only the weekly limit protects you.")
    assert "up to 54 times a year" in first
    assert first.endswith("even odds can become more than a million to 1, which is as good as knowing.")
    german = statement(Registry.parse(text), "de").split("\n\n")[1]
    assert german.startswith("Im Browser schützt Sie nur die Grenze für eine Woche.")


def test_an_app_changes_a_sentence_and_translates_a_purpose() -> None:
    registry = with_sentences(
        "[sentences.de]\nstatement.nobody = \"das Team\"\npurpose.dark_mode = 'Wird der *dunkle* Modus benutzt?'\n"
    )
    german = statement(registry, "de")
    assert "Wird der \\*dunkle\\* Modus benutzt?" in german
    assert "Is it used?" in statement(registry)
    assert registry.sentences("de")("statement.nobody") == "das Team"
    assert shipped("de")("statement.nobody") != "das Team"
    assert document_of(registry, "node")["sentences"].keys() == set(SHIPPED)


def test_a_language_that_nobody_ships_is_refused_by_name() -> None:
    with pytest.raises(LanguageError, match=r"no sentences in 'fr'; name one of: de, en$"):
        statement(Registry.parse(TEXT), "fr")


def _whole_language(leave_out: int = 0) -> str:
    texts = list(shipped().texts.items())[leave_out:]
    return "[sentences.fr]\n" + "".join(f'{key} = "{text}"\n' for key, text in texts)


def test_an_app_adds_a_language() -> None:
    registry = with_sentences(_whole_language())
    assert statement(registry, "fr") == statement(registry, "en")
    assert languages(registry.own_sentences) == ["de", "en", "fr"]
    assert document_of(registry, "node")["sentences"].keys() == {"de", "en", "fr"}


def test_check_names_the_sentences_that_a_new_language_lacks(tmp_path: Path) -> None:
    path = tmp_path / "metrics.toml"
    path.write_text(f"{TEXT}\n{_whole_language(leave_out=5)}", encoding="utf-8")
    (problem,) = check(path, date(2026, 11, 20)).problems
    assert "sentences.fr: lacks sentences: number.decimal, number.thousands, number.date, and 2 more; copy" in problem


@pytest.mark.parametrize(
    ("lines", "place", "problem"),
    [
        ('[sentences]\nde = "Hallo"', "sentences", "must contain a table for each language, such as [sentences.de]"),
        ("[sentences.German]", "sentences.German", "is not a language tag; write one, such as de or pt-BR"),
        *(
            (f"[sentences.de]\n{line}", f"sentences.de.{line.partition(' ')[0]}", problem)
            for line, problem in (
                ('history.captoin = "Liste"', 'is an unknown sentence; did you mean "history.caption"?'),
                ('statement.why = "Darum"', "must have these placeholders: {purpose}"),
                ('history.caption = "Liste {n}"', "must have these placeholders: none"),
                ("history.caption = 5", "must be a string of 1 to 500 printable characters"),
                ('purpose.theme = "Wozu?"', "is an unknown sentence; remove it or correct its spelling"),
            )
        ),
    ],
)
def test_a_mistake_in_an_apps_sentences_is_named(lines: str, place: str, problem: str) -> None:
    with pytest.raises(RegistryError) as caught:
        with_sentences(lines)
    assert caught.value.mistakes == ((place, problem),)
