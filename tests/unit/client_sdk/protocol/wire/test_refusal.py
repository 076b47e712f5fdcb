"""Refusals are a closed enumeration; the codes are in tests/vectors/verdicts.json."""

from __future__ import annotations

import re

from client_sdk.protocol import Refusal
from tests.support.core.tables import for_each


@for_each("refusal", Refusal)
def test_every_refusal_has_a_sentence_for_people(refusal: Refusal) -> None:
    assert re.fullmatch(r"[A-Z].+[.]", refusal.sentence)


@for_each("refusal", Refusal)
def test_every_code_is_its_name_in_lower_case(refusal: Refusal) -> None:
    assert refusal.value == refusal.name.lower()
    assert Refusal(refusal.value) is refusal


def test_sentences_tell_refusals_apart() -> None:
    assert len({refusal.sentence for refusal in Refusal}) == len(Refusal)


def test_only_what_another_registry_of_the_collector_would_cure_may_be_retried() -> None:
    cured = {Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION}
    assert {refusal for refusal in Refusal if refusal.retryable} == cured
