"""Reading ``[sentences.de]``: an app's own sentences in place of those that ship."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from client_sdk.protocol.sentences import LANGUAGE, PURPOSE, SHIPPED, flattened, placeholders, shipped
from client_sdk.protocol.toml_table import MAX_TEXT, is_text, suggestion

MOST_SHOWN: Final = 3
"""Missing sentences to name; a new language lacks hundreds."""


def read_sentences(
    raw: object, questions: Collection[str], mistakes: list[tuple[str, str]]
) -> dict[str, dict[str, str]]:
    """Return an app's sentences by language and key; note what is wrong with them."""
    if raw is None:
        return {}
    if not isinstance(raw, dict) or not all(isinstance(table, dict) for table in raw.values()):
        mistakes.append(("sentences", "must hold a table for each language: [sentences.de]"))
        return {}
    read = {}
    for language, table in raw.items():
        place = f"sentences.{language}"
        if LANGUAGE.fullmatch(language) is None:
            mistakes.append((place, "is no language; write its tag, such as de or pt-BR"))
            continue
        own = dict(flattened(table))
        mistakes += [(f"{place}.{key}", problem) for key, problem in _problems(own, questions)]
        mistakes += [(place, problem) for problem in _missing(language, own)]
        read[language] = own
    return read


def _problems(own: Mapping[str, object], questions: Collection[str]) -> list[tuple[str, str]]:
    catalog, purposes = shipped().texts, [f"{PURPOSE}{name}" for name in questions]
    problems = []
    for key, text in own.items():
        if key not in catalog and key not in purposes:
            meant = suggestion(key, [*catalog, *purposes]) or "; remove it or correct its spelling"
            problems.append((key, f"is an unknown sentence{meant}"))
        elif not is_text(text):
            problems.append((key, f"must be a text of 1 to {MAX_TEXT} printable characters"))
        elif key in catalog and placeholders(text) != placeholders(catalog[key]):
            names = ", ".join(f"{{{name}}}" for name in sorted(placeholders(catalog[key]))) or "none"
            problems.append((key, f"must have these placeholders: {names}"))
    return problems


def _missing(language: str, own: Mapping[str, object]) -> list[str]:
    """Return a mistake if a language that does not ship lacks sentences."""
    missing = [] if language in SHIPPED else [key for key in shipped().texts if key not in own]
    if not missing:
        return []
    more = f", and {len(missing) - MOST_SHOWN:,} more" if len(missing) > MOST_SHOWN else ""
    named = ", ".join(missing[:MOST_SHOWN])
    return [f"lacks sentences: {named}{more}; copy them from client_sdk/protocol/sentences/en.toml and translate them"]
