"""A record of a deployment for the public registry of OpenDP and NIST.

This registry lists systems that use differential privacy. The facts in the record come from
`metrics.toml`, except the date and the number of devices. Entries that only the team can write are
placeholders that begin with `FILL_IN`.

The record follows the schema of this public registry, the Differential Privacy Deployments
Registry, as of 2026 (Ghazi, Nanayakkara & Vadhan; opendp/deployments-registry-data on GitHub).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from typing import Any, Final

from client_sdk.protocol.budget import Strategy
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.horizon import Horizon, most_nanos
from client_sdk.protocol.kinds.kind import AskedMetric
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import ENGLISH, Sentences
from estimator.plan.exposure import own_delta

FILL_IN: Final = "FILL IN"

GUESSES: Final = {"data_curator_type": f"{FILL_IN}: Government, Industry or Nonprofit"}
"""The fields with a guessed value. For each field, a note states the accepted values."""

_CHOSEN: Final = {
    Strategy.SPLIT: "a device answers every question in every window",
    Strategy.SAMPLE: "a device answers a few questions in each window, chosen pseudo-randomly from its secret and the "
    "calendar",
    Strategy.PACE: "a device answers every question, but only in some windows, which are chosen pseudo-randomly from "
    "its secret and the calendar",
}


def deployment_record(registry: Registry, today: date, population: int | None) -> dict[str, Any]:
    """Return the record of a deployment that begins today.

    ``today`` is the day of the first publication. ``population`` is None if unknown.
    """
    say = registry.sentences(ENGLISH)
    has_delta = any(metric.delta for metric in registry.metrics.values())
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", registry.app.lower()).strip("-") + "-telemetry",
        "deployment": {
            "basic": _basic(registry, today),
            "dp_variant": {
                "variant_name": "Approximate DP" if has_delta else "Pure DP",
                "data_domain": _by_metric(registry, lambda metric: _answers(metric, say)),
                "unprotected_quantities": _listed(_unprotected(registry)),
            },
            "privacy_loss": _privacy_loss(registry, today, population),
            "deployment_model": _model(registry),
            "implementation": _implementation(registry),
            "administrative": {
                "status": "Draft",
                "registry_authors": [f"{FILL_IN}: who wrote this record"],
                "tier": 3,
            },
        },
    }


def left_out(population: int | None) -> str:
    """Return a message that names the missing fields of a record and explains how to add them."""
    sector = "data_product_sector is missing: add Technology, Healthcare, Education, Government, Energy or Finance"
    units = "number_of_privacy_units is missing: pass the number of devices as --population"
    return sector if population is not None else f"{sector}\n{units}"


def as_yaml(record: Mapping[str, Any]) -> str:
    """Return a record as YAML. Comments mark guessed values, which the team must check."""
    return "".join(f"{line}\n" for line in _lines(record))


def _lines(table: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Yield the lines of a mapping as YAML. Strings are written as in JSON, which is valid YAML."""
    for key, value in table.items():
        match value:
            case Mapping():
                yield f"{indent}{key}:"
                yield from _lines(value, f"{indent}  ")
            case [Mapping() as only]:
                yield f"{indent}{key}:"
                first, *others = _lines(only, f"{indent}    ")
                yield from (f"{indent}  - {first.strip()}", *others)
            case str() if value.startswith("* "):
                yield f"{indent}{key}: |-"
                yield from (f"{indent}  {line}" for line in value.split("\n"))
            case _:
                comment = f"  # {GUESSES[key]}" if key in GUESSES else ""
                yield f"{indent}{key}: {json.dumps(value, ensure_ascii=False)}{comment}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"* {line}" for line in lines)


def _by_metric(registry: Registry, words: Callable[[Metric], str]) -> str:
    return _listed(f"`{name}`: {words(metric)}" for name, metric in registry.metrics.items())


def _basic(registry: Registry, today: date) -> dict[str, Any]:
    number = len(registry.metrics)
    return {
        "name": f"Telemetry of {registry.app}",
        "data_curators": [
            {"data_curator_name": registry.owner or f"{FILL_IN}: who publishes", "data_curator_type": "Industry"}
        ],
        "description": (
            f"Statistics on the answers to {number} question{'s' * (number != 1)} about {registry.app}. Each answer is "
            "randomized on the device before it is sent."
        ),
        "intended_use": _by_metric(registry, lambda metric: metric.purpose),
        "data_product_type": "Summary statistics",
        "data_product_region": f"{FILL_IN}: where the devices are, and which country's laws apply",
        "publication_date": today.isoformat(),
    }


def _answers(metric: Metric, say: Sentences) -> str:
    first, *_ = metric.kind.statement(AskedMetric(metric.unit, metric.window, metric.channel.inputs), say)
    return f"{first.partition(': ')[2]}; at most one report a {metric.window}"


def _unprotected(registry: Registry) -> Iterator[str]:
    yield "That a device participates, when it uploads, and its network address while it is connected."
    yield "The number of reports on each question in a window, and the approximate number of participating devices."
    silent = [f"`{name}`" for name, metric in registry.metrics.items() if metric.fill is None]
    if silent:
        yield f"Whether anything was recorded in a window, because reports are sent only then: {', '.join(silent)}."
    for name, metric in registry.metrics.items():
        if metric.strata:
            yield f"`{name}`: the device's public stratum, which is sent unchanged. Strata: {'; '.join(metric.strata)}."
        if metric.channel.permanent_nanos:
            yield f"`{name}`: the answers that occurred, which stay on the device's own disk until the user opts out."


def _privacy_loss(registry: Registry, today: date, population: int | None) -> dict[str, Any]:
    is_wiped = registry.budget.may_be_wiped
    within, unit = (Horizon.YEAR, "within a calendar year") if is_wiped else (Horizon.LIFE, "over its life")
    delta = own_delta(registry, within, today)
    loss: dict[str, Any] = {
        "privacy_unit": f"a device, {unit}",
        "privacy_unit_details": (
            f"Two data sets are adjacent if they differ only in answers that one device records {unit}. Unprotected "
            "quantities must be equal. A person with several devices counts as several units."
        ),
    }
    if population is not None:
        loss["number_of_privacy_units"] = population
    loss["privacy_parameters"] = {"epsilon": most_nanos(registry, within, today) / NANOS}
    if delta:
        loss["privacy_parameters"]["delta"] = float(delta)
    loss["privacy_parameters_details"] = _listed(_parameters(registry, today))
    return loss


def _parameters(registry: Registry, today: date) -> Iterator[str]:
    for name, metric in registry.metrics.items():
        yield f"`{name}`: epsilon {metric.epsilon_nanos / NANOS:g} per report, rounded up from the exact value"
    for horizon in Horizon:
        period = {Horizon.WINDOW: str(registry.budget.window), Horizon.LIFE: "life"}.get(horizon, horizon.value)
        yield f"All reports of a device within a {period}: epsilon {most_nanos(registry, horizon, today) / NANOS:g}"


def _model(registry: Registry) -> dict[str, Any]:
    windows = sorted({str(metric.window) for metric in registry.metrics.values()})
    return {
        "model_name": "Local",
        "model_name_details": "The SDK randomizes an answer when it is recorded, before anything is stored or sent.",
        "trust_assumptions": (
            "A user must trust the device, its operating system and the app that contains the SDK. Nobody else has to "
            "be trusted with an answer. Users are better protected against readers of published statistics than "
            "against the curator, but only if the curator publishes nothing else."
        ),
        "actors": _listed(
            (
                "The device sees the answers, randomizes them, and enforces its budget's ceilings.",
                "The collector sees perturbed reports, and may link those of a device. The parameters allow for this.",
                "A relay, if there is one, sees network addresses and perturbed reports for some seconds.",
                "Analysts and the public see statistics of closed windows.",
                "Other devices may send fabricated reports, which change statistics but reveal nothing.",
            )
        ),
        "release_type": "Many releases",
        "release_type_details": (
            f"One release per {' or '.join(windows)}. {_CHOSEN[registry.budget.strategy].capitalize()}. A device stops "
            "permanently when it reaches its lifetime ceiling, which is never renewed."
        ),
        "data_source_type": "Dynamic",
        "access_type": "Non-interactive",
    }


def _implementation(registry: Registry) -> dict[str, Any]:
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Mechanisms are chosen from the definitions alone, before data is collected. Numbers outside their range "
            "are clipped on the device. No parameter depends on an answer."
        ),
        "mechanisms": _by_metric(registry, _mechanism),
        "composition": (
            "Sequential composition. Before a report is queued, the device adds its epsilon to a sum in whole "
            "billionths. Permanent answers, and reports that the device drops, are also charged."
        ),
        "post_processing": (
            "Unbiased estimates and confidence intervals are computed from the tallies and the channels' "
            "probabilities alone. Intervals are clipped to the possible range."
        ),
        "justification": f"{FILL_IN}: why these epsilons" if not registry.budget.accept else registry.budget.accept,
        "additional_information": (
            "Hearsay randomizes with integers, exact fractions and random numbers from the operating system. Its "
            "channels are tested by enumeration. `hearsay-estimator plan --statement` writes the page for users."
        ),
    }


def _mechanism(metric: Metric) -> str:
    permanent = metric.channel.permanent_nanos
    memoized = f", applied to a permanent answer with epsilon {permanent / NANOS:g}" if permanent else ""
    return f"{metric.channel.name}, {metric.channel.inputs:,} inputs, {metric.channel.symbols:,} symbols{memoized}"
