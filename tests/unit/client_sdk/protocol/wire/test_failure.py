"""Each cause has one sentence and one piece of advice, in every language."""

from __future__ import annotations

from client_sdk.protocol.wire.failure import Failure, failure_of, failure_of_status
from tests.support.vectors import vectors

VECTORS = vectors("failures")

OF_PAGES = "hidden"
"""What only a page in a browser meets."""


def test_the_causes_and_their_advice_are_those_of_the_vectors() -> None:
    ours = {each.name.lower(): {"what": each.what, "advice": each.advice} for each in Failure}
    assert {name: words for name, words in VECTORS["failures"].items() if name != OF_PAGES} == ours
    assert len({each.what for each in Failure}) == len(Failure)
    for case in VECTORS["statuses"]:
        assert failure_of_status(case["status"], has_key=case["hasKey"]).name.lower() == case["failure"]


def test_the_most_telling_of_wrapped_errors_is_the_cause() -> None:
    outer = RuntimeError("outer", ConnectionError())
    outer.__cause__ = ConnectionRefusedError()
    assert failure_of(outer) is Failure.REFUSED
    outer.__context__ = outer  # a loop ends
    assert failure_of(outer) is Failure.REFUSED


def test_an_unknown_error_is_of_no_known_cause() -> None:
    assert failure_of(ValueError("sesame")) is Failure.OTHER
    assert "sesame" not in Failure.OTHER.said_of("the collector")
