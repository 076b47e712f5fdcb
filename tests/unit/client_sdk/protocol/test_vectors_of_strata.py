"""This implementation agrees with the language-neutral vectors of public strata."""

from __future__ import annotations

import hashlib

from client_sdk.protocol import Registry
from tests.support.vectors import vectors

STRATA = vectors("strata")
REGISTRY = Registry.parse(STRATA["definition"])


def test_the_strata_of_a_metric_are_every_combination_in_the_order_of_the_vector() -> None:
    assert list(REGISTRY.metric(STRATA["metric"]).strata) == STRATA["strata"]


def test_a_device_reports_in_the_stratum_and_with_the_edition_of_the_vector() -> None:
    for device in STRATA["devices"]:
        metric = REGISTRY.for_strata(device["values"]).metric(STRATA["metric"])
        assert (metric.stratum, metric.edition) == (device["stratum"], device["edition"])


def test_the_vector_holds_every_stratum_and_the_others_and_what_one_of_them_means() -> None:
    editions = {device["stratum"]: device["edition"] for device in STRATA["devices"]}
    assert set(editions) == {"", *STRATA["strata"]}
    assert len(set(editions.values())) == len(editions)
    assert hashlib.sha256(STRATA["meaning"].encode()).hexdigest()[:12] in editions.values()
