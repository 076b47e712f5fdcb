"""The language-neutral vectors of texts hold here: from letters to bits, cells and symbols."""

from __future__ import annotations

from typing import Any

from client_sdk.protocol import Registry
from client_sdk.protocol.text import BYTES, CUT, Text
from tests.support.core.tables import for_each
from tests.support.vectors import vectors

METRICS = vectors("text")["metrics"]


def domain_of(vector: dict[str, Any]) -> Text:
    domain = Registry.parse(vector["definition"]).metric(vector["metric"]).kind
    assert isinstance(domain, Text)
    return domain


@for_each("vector", METRICS)
def test_a_metric_has_the_groups_of_the_vector(vector: dict[str, Any]) -> None:
    groups = domain_of(vector).groups(vector["cells"])
    shown = [{"bits": each.bits, "weight": each.weight, "multipliers": list(each.multipliers)} for each in groups]
    assert shown == vector["groups"]


@for_each("vector", METRICS)
def test_a_text_has_the_bits_and_cells_of_the_vector(vector: dict[str, Any]) -> None:
    domain = domain_of(vector)
    for case in vector["texts"]:
        number = domain.number_of(case["text"])
        assert format(number, f"0{domain.bits}b") == case["bits"]
        assert list(domain.cells_of(number, vector["cells"])) == case["cells"]
        assert domain.label_of(number) == case.get("shown", shown(domain, case["text"]))


def shown(domain: Text, text: str) -> str:
    """Return how a text is shown whose letters are characters."""
    letters = "".join(letter if letter in domain.letters else domain.other or "" for letter in text)
    return letters[: domain.max_length] + (CUT if len(letters) >= domain.max_length else "")


def test_the_vectors_hold_cut_texts_sets_letters_for_others_and_bytes() -> None:
    domains = [domain_of(vector) for vector in METRICS]
    assert {domain.discover for domain in domains} == {True, False}
    assert any(domain.max_items > 1 for domain in domains)
    assert any(domain.other for domain in domains)
    assert any(domain.letters == BYTES for domain in domains)
    assert any(
        len(case["text"]) > domain.max_length
        for vector, domain in zip(METRICS, domains, strict=True)
        for case in vector["texts"]
    )
