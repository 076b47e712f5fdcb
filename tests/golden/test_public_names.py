"""The names that apps and jobs import, and how they are called, are those that were reviewed.

``make golden`` writes the file again. A change of it is a change of what stays compatible.
"""

from __future__ import annotations

import inspect
from importlib import import_module

import pytest

from tests.golden.outputs import NAMES, public_names


def test_public_names_and_their_arguments_are_those_that_were_reviewed() -> None:
    assert public_names() == NAMES.read_text(encoding="utf-8")


def test_an_argument_that_goes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    telemetry = import_module("client_sdk.telemetry").Telemetry
    signature = inspect.signature(telemetry)
    fewer = signature.replace(parameters=[each for each in signature.parameters.values() if each.name != "consent"])
    monkeypatch.setattr(telemetry, "__signature__", fewer, raising=False)
    assert public_names() != NAMES.read_text(encoding="utf-8")
