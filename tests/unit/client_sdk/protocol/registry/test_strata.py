"""Public strata: each combination of values has an edition of its own, and nothing else changes."""

from __future__ import annotations

import hashlib
import itertools

import pytest

from client_sdk.protocol import Registry, RegistryError
from tests.support.core.tables import for_each
from tests.support.devices.clients import REGISTRY, ask
from tests.support.vectors import vectors

STRATA = '[strata]\nplatform = ["ios", "android"]\nversion = ["1.0", "2.0", "3-beta"]\n'
ASKED = '[metric.m]\npurpose = "p"\nepsilon = 1\nkind = "boolean"\n'
HEAD = 'schema = 1\n[app]\nname = "acme"\n[budget]\nper_window = 9\nlifetime = 99\n'


VECTORS = vectors("strata")
OF_VECTORS = Registry.parse(VECTORS["definition"])
PARTS = (("ios", "android"), ("1.0", "2.0", "3-beta"))


def reading(line: str, strata: str = STRATA) -> Registry:
    return Registry.parse(f"{HEAD}{strata}{ASKED}{line}")


def test_every_combination_of_values_has_an_edition_of_its_own_and_the_others_keep_the_metrics() -> None:
    metric = reading('strata = ["platform", "version"]').metric("m")
    assert metric.strata[:4] == (
        "platform=ios, version=1.0",
        "platform=ios, version=2.0",
        "platform=ios, version=3-beta",
        "platform=android, version=1.0",
    )
    assert len(set(metric.editions)) == 7
    assert metric.edition == metric.editions[0] == ask('[metric.m]\nkind = "boolean"\n').metric("m").edition
    assert [metric.for_strata({"platform": p, "version": v}).edition for p, v in itertools.product(*PARTS)] == [
        *metric.editions[1:]
    ]


@pytest.mark.parametrize("strata", [{}, {"platform": "ios"}, {"platform": "ios", "version": "9"}, {"version": "1.0"}])
def test_a_device_whose_values_are_not_listed_is_one_of_the_others(strata: dict[str, str]) -> None:
    registry = reading('strata = ["platform", "version"]')
    assert registry.for_strata(strata).metric("m").edition == registry.metric("m").edition


def test_only_the_variables_of_a_metric_decide_its_stratum() -> None:
    registry = reading('strata = ["platform"]\n[metric.n]\npurpose = "p"\nepsilon = 1\nkind = "boolean"\n')
    device = registry.for_strata({"platform": "ios", "version": "1.0"})
    assert device.metric("m").stratum == "platform=ios"
    assert device.metric("n") == registry.metric("n")


def test_every_other_edition_is_as_before() -> None:
    with_strata = Registry.parse(f"{REGISTRY}\n{STRATA}")
    assert with_strata.metrics == Registry.parse(REGISTRY).metrics


@pytest.mark.parametrize(
    ("line", "place"),
    [
        *(('strata = "platform"', "metric.m.strata"), ('strata = ["other"]', "metric.m.strata")),
        *(('strata = ["platform", "platform"]', "metric.m.strata"), ("strata = []", "metric.m.strata")),
        ('strata = ["platform"]\npermanent_epsilon = 2', "metric.m.strata"),
    ],
)
def test_a_mistake_in_the_strata_of_a_metric_is_named(line: str, place: str) -> None:
    with pytest.raises(RegistryError, match=place):
        reading(line)


@for_each("values", ["[]", '["a", "a"]', '["a b"]', '["a,b"]', "[1]", '"a"', '["=a"]'])
def test_a_value_that_needs_quoting_is_refused(values: str) -> None:
    with pytest.raises(RegistryError, match=r"strata\.platform"):
        reading("", f"[strata]\nplatform = {values}\n")


def test_a_metric_has_at_most_32_strata() -> None:
    lists = "\n".join(f"{name} = {[f'v{n}' for n in range(size)]}" for name, size in (("a", 4), ("b", 8), ("c", 2)))
    strata = f"[strata]\n{lists}\n"
    assert len(reading('strata = ["a", "b"]', strata).metric("m").strata) == 32
    with pytest.raises(RegistryError, match="more than 32 combinations"):
        reading('strata = ["a", "b", "c"]', strata)


def test_a_variable_that_the_registry_lacks_is_a_mistake_of_the_program() -> None:
    with pytest.raises(ValueError, match="no public variable 'color'"):
        reading('strata = ["platform"]').for_strata({"color": "red"})


def test_the_strata_of_a_metric_are_every_combination_in_the_order_of_the_vector() -> None:
    assert list(OF_VECTORS.metric(VECTORS["metric"]).strata) == VECTORS["strata"]


def test_a_device_reports_in_the_stratum_and_with_the_edition_of_the_vector() -> None:
    for device in VECTORS["devices"]:
        metric = OF_VECTORS.for_strata(device["values"]).metric(VECTORS["metric"])
        assert (metric.stratum, metric.edition) == (device["stratum"], device["edition"])


def test_the_vector_holds_every_stratum_and_the_others_and_what_one_of_them_means() -> None:
    editions = {device["stratum"]: device["edition"] for device in VECTORS["devices"]}
    assert set(editions) == {"", *VECTORS["strata"]}
    assert len(set(editions.values())) == len(editions)
    assert hashlib.sha256(VECTORS["meaning"].encode()).hexdigest()[:12] in editions.values()
