"""This implementation agrees with the language-neutral vectors, which cover it."""

from __future__ import annotations

from typing import Any

import pytest

from client_sdk.protocol import (
    MalformedError,
    Refusal,
    Registry,
    RegistryError,
    Report,
    Upload,
    Verdict,
    Window,
    WindowError,
    WindowKind,
)
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.strict_json import Malformed
from client_sdk.results import FlushOutcome, Recorded, ReportOutcome
from tests.support.core.tables import for_each
from tests.support.vectors import vectors

OUTCOMES = vectors("outcomes")
REGISTRIES_INVALID = vectors("registries_invalid")
UPLOADS = vectors("uploads")
VERDICTS = vectors("verdicts")
WINDOWS = vectors("windows")


def body_of(case: dict[str, Any]) -> bytes:
    return bytes.fromhex(case["body_hex"]) if "body_hex" in case else case["body"].encode()


@pytest.mark.slow
@for_each("vector", REGISTRIES_INVALID)
def test_every_mistake_of_an_invalid_registry_is_named_by_its_place(vector: dict[str, Any]) -> None:
    with pytest.raises(RegistryError) as caught:
        Registry.parse(vector["definition"])
    assert sorted(place for place, _ in caught.value.mistakes) == sorted(vector["places"])
    for place, problem in caught.value.mistakes:
        assert f"{place}: {problem}" in str(caught.value)


@for_each("vector", [case for case in UPLOADS if "upload" in case])
def test_a_valid_upload_is_read_and_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    upload = read_upload(body_of(vector))
    reports = tuple(Report(**fields) for fields in vector["upload"]["reports"])
    assert upload == Upload(vector["upload"]["upload"], reports)
    assert (upload.encode() == body_of(vector)) is vector["canonical"]
    assert read_upload(upload.encode()) == upload


@for_each("vector", [case for case in UPLOADS if "malformed" in case])
def test_a_malformed_upload_is_refused_by_the_code_and_place_of_the_vector(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedError) as caught:
        read_upload(body_of(vector))
    assert {"code": caught.value.code, "place": caught.value.place} == vector["malformed"]


@for_each("vector", VERDICTS["valid"])
def test_a_valid_verdict_is_read_and_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    verdict = Verdict.decode(vector["body"].encode(), vector["reports"])
    assert verdict.refused == tuple((refused["index"], Refusal(refused["code"])) for refused in vector["refused"])
    assert verdict.accepted == vector["reports"] - len(vector["refused"])
    assert verdict.encode() == vector["body"].encode()


@for_each("vector", VERDICTS["malformed"])
def test_a_malformed_verdict_is_refused_by_the_code_and_place_of_the_vector(vector: dict[str, Any]) -> None:
    with pytest.raises(MalformedError) as caught:
        Verdict.decode(vector["body"].encode(), vector["reports"])
    assert (caught.value.code, caught.value.place) == (vector["code"], vector["place"])


def test_the_refusals_of_the_vectors_are_the_enumeration() -> None:
    assert {row["code"]: row["retryable"] for row in VERDICTS["codes"]} == {
        refusal.value: refusal.retryable for refusal in Refusal
    }
    used = {refused["code"] for vector in VERDICTS["valid"] for refused in vector["refused"]}
    assert used == {refusal.value for refusal in Refusal}


def test_every_code_by_which_a_body_is_malformed_has_a_vector() -> None:
    covered = {case["malformed"]["code"] for case in UPLOADS if "malformed" in case}
    covered |= {case["code"] for case in VERDICTS["malformed"]}
    # the content type of a batch, which is for relays
    assert covered == set(Malformed) - {Malformed.INVALID_ANSWERS}


@for_each("vector", WINDOWS["of"])
def test_an_instant_lies_in_the_windows_of_the_vector(vector: dict[str, Any]) -> None:
    for kind in WindowKind:
        window = Window.at(kind, vector["instant_s"])
        assert window.text == vector[kind.value]
        assert window.starts_at <= vector["instant_s"] < window.ends_at


@for_each("vector", WINDOWS["parse"])
def test_a_text_names_the_window_of_the_vector(vector: dict[str, Any]) -> None:
    window = Window.parse(vector["text"])
    assert window.kind.value == vector["kind"]
    assert (window.starts_at, window.ends_at) == (vector["starts_at"], vector["ends_at"])
    assert str(window) == vector["text"]


@for_each("text", WINDOWS["invalid"])
def test_an_invalid_text_names_no_window(text: str) -> None:
    with pytest.raises(WindowError):
        Window.parse(text)


def test_the_outcomes_are_those_of_the_vectors() -> None:
    ours = {"recorded": Recorded, "flushed": FlushOutcome, "history": ReportOutcome}
    named = {
        kind: {name for name, outcome in outcomes.items() if "python" in outcome["sdks"]}
        for kind, outcomes in OUTCOMES.items()
    }
    assert named == {kind: {each.value for each in outcomes} for kind, outcomes in ours.items()}
