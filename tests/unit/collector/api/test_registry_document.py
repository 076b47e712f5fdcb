"""The registry as the collector shows it: exact integers for every kind and mechanism."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from client_sdk.protocol import Registry
from collector import create_app
from collector.access import Access
from collector.live_config import Served
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    GAUSSIAN,
    NUMBER,
    ORDINAL,
    SET,
    USEFUL,
    registry_text,
)
from tests.support.services.collecting import NOON
from tests.support.services.memory_store import MemoryStore

EVERY_KIND = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY,
        speed=NUMBER,
        visits=COUNT | {"retention": 400},
        often=ORDINAL,
        tags=SET,
        both=CROSS,
        slow=GAUSSIAN,
        near=USEFUL,
        cut=COUNT | {"mechanism": "laplace"},
    )
)


def document_of(registry: Registry) -> dict[str, Any]:
    client = create_app(
        lambda: Served(registry, Access((), uploads_are_open=True)), MemoryStore(), clock=lambda: NOON
    ).test_client()
    document: dict[str, Any] = json.loads(client.get("/v1/registry").text)
    return document


def shown() -> list[dict[str, Any]]:
    metrics: list[dict[str, Any]] = document_of(EVERY_KIND)["metrics"]
    return metrics


def number(text: str | list[str]) -> int | list[int]:
    return [int(part) for part in text] if isinstance(text, list) else int(text)


def test_every_integer_is_shown_as_a_text_and_a_table_as_a_list_of_texts() -> None:
    for document in shown():
        integers = EVERY_KIND.metric(document["metric"]).channel.integers
        assert {name: number(text) for name, text in document["integers"].items()} == {
            name: list(value) if isinstance(value, tuple) else value for name, value in integers.items()
        }
        texts = [
            part for text in document["integers"].values() for part in (text if isinstance(text, list) else [text])
        ]
        assert all(type(text) is str for text in texts)


def test_the_edition_of_every_metric_can_be_derived_from_what_is_shown() -> None:
    documents = shown()
    assert [document["metric"] for document in documents] == list(EVERY_KIND.metrics)
    for document in documents:
        meaning = {name: document[name] for name in ("kind", "domain", "window", "mechanism")}
        meaning |= {"schema": 1, "integers": {name: number(text) for name, text in document["integers"].items()}}
        canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
        assert hashlib.sha256(canonical.encode()).hexdigest()[:12] == document["edition"]


def test_how_long_tallies_are_kept_is_shown_where_the_registry_says_it() -> None:
    shown_by_name = {document["metric"]: document["retention"] for document in shown()}
    assert shown_by_name == {name: 400 if name == "visits" else None for name in EVERY_KIND.metrics}


def test_stopped_questions_are_listed_and_the_editions_of_all_strata_by_which_they_are_stopped() -> None:
    text = registry_text(dark_mode=BOOLEAN | {"strata": ["platform"]}) + '[strata]\nplatform = ["ios", "android"]\n'
    editions = Registry.parse(text).metric("dark_mode").editions
    stopped = [f"dark_mode:{edition}" for edition in editions]
    document = document_of(Registry.parse(f"stopped = {json.dumps(stopped)}\n{text}"))
    assert document["stopped"] == stopped
    assert [metric["editions"] for metric in document["metrics"]] == [list(editions)]
    assert document_of(EVERY_KIND)["stopped"] == []
    assert [[metric["edition"]] for metric in shown()] == [metric["editions"] for metric in shown()]
