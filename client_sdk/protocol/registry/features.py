"""The features and the label of a model, read strictly from the metric's table."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from client_sdk.protocol.domain import LABEL, MAX_INPUTS, Boolean, Category, Model, ModelFeature, Number, Observation
from client_sdk.protocol.domain.vector import GREATEST_NORM, LEAST_NORM
from client_sdk.protocol.registry.table import MAX_TEXT, TomlTable, is_moderate, is_number, is_text
from client_sdk.protocol.wire.report import METRIC_NAME

RANGE: Final = "mean"
"""The statistic of a feature that is a number, as `Number` needs one."""

_FEATURES: Final = 'must list features, such as { name = "age", low = 18, high = 90 } or { name = "sex", values = […] }'
_LABEL: Final = 'must be "boolean", or the ends of a number: { low = 0, high = 10 }'


def read_norm(table: TomlTable, *, required: bool) -> Fraction | None:
    """Return the greatest length of a vector; None if it is missing or mistaken."""
    norm = table.number("norm", required=required)
    if norm is not None and not LEAST_NORM <= norm <= GREATEST_NORM:
        table.mistake("norm", f"must be from {float(LEAST_NORM):g} to {float(GREATEST_NORM):g}: longer are shortened")
        return None
    return norm


def read_model(table: TomlTable) -> Model | None:
    """Return the domain of a table; None if it has mistakes, which the table collects."""
    features, label = _read_features(table), _read_label(table)
    norm = read_norm(table, required=False)
    if features is None or label is None:
        return None
    observation = Observation(features, label)
    if len(observation.coordinates) > MAX_INPUTS:
        have = f"have {len(observation.coordinates)} coordinates, one for a number and for each value but the first"
        table.mistake("features", f"{have}; at most {MAX_INPUTS} can be learned from")
        return None
    return Model.of(observation, norm)


def _read_features(table: TomlTable) -> tuple[ModelFeature, ...] | None:
    raw = table.take("features", required=True)
    if raw is None:
        return None
    read = [_feature(each) for each in raw] if isinstance(raw, list) else []
    features = tuple(feature for feature in read if feature is not None)
    if not features or len(features) < len(read):
        place = "" if not read or read[0] is None else f"; number {read.index(None) + 1} is none"
        table.mistake("features", f"{_FEATURES}{place}")
        return None
    names = [feature.name for feature in features]
    if len(set(names)) < len(names) or LABEL in names:
        table.mistake("features", f"must have different names, none of which is {LABEL}")
        return None
    return features


def _feature(raw: Any) -> ModelFeature | None:  # noqa: ANN401 what TOML holds
    if not isinstance(raw, dict) or not isinstance(raw.get("name"), str) or not METRIC_NAME.fullmatch(raw["name"]):
        return None
    domain = _values(raw["values"]) if raw.keys() == {"name", "values"} else _range(raw, {"name", "low", "high"})
    return None if domain is None else ModelFeature(raw["name"], domain)


def _values(raw: Any) -> Category | None:  # noqa: ANN401 what TOML holds
    if not isinstance(raw, list) or not 2 <= len(raw) <= MAX_INPUTS + 1:  # noqa: PLR2004 one value tells nothing
        return None
    if not all(is_text(value, MAX_TEXT) for value in raw) or len(set(raw)) < len(raw):
        return None
    return Category(tuple(raw))


def _range(raw: dict[str, Any], keys: set[str]) -> Number | None:
    if raw.keys() != keys or not all(is_number(raw[end]) and is_moderate(raw[end]) for end in ("low", "high")):
        return None
    low, high = Fraction(raw["low"]), Fraction(raw["high"])
    return Number(low, high, RANGE) if low < high else None


def _read_label(table: TomlTable) -> Boolean | Number | None:
    raw = table.take(LABEL, required=True)
    if raw is None:
        return None
    label = Boolean() if raw == "boolean" else _range(raw, {"low", "high"}) if isinstance(raw, dict) else None
    if label is None:
        table.mistake(LABEL, _LABEL)
    return label
