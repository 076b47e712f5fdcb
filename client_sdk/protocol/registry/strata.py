"""Public strata: variables that a device sends in the clear, to count questions apart by them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from typing import Final

from client_sdk.protocol.toml_table import TomlTable
from client_sdk.protocol.wire.report import METRIC_NAME

Variables = Mapping[str, tuple[str, ...]]
"""Public variables, each with its values."""

VALUE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
"""A value of a public variable: a word or a version, which needs no quoting anywhere."""

MOST_STRATA: Final = 32
"""The most strata of a question: a device in a rarer one would stand out among few."""


def read_variables(raw: object, mistakes: list[tuple[str, str]]) -> Variables:
    """Return the variables of the table [strata], and note its mistakes."""
    if raw is None:
        return {}
    table, read = TomlTable(raw, "strata", mistakes), {}
    for name in list(raw) if isinstance(raw, dict) else []:
        values = table.take(name)
        if not METRIC_NAME.fullmatch(name) or not _are_values(values):
            what = f"must be a name with a list of 1 to {MOST_STRATA} different values of letters, digits, . _ and -"
            table.mistake(name, f'{what}: platform = ["ios", "android"]')
        else:
            read[name] = tuple(values)
    return read


def _are_values(values: object) -> bool:
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_STRATA:
        return False
    return all(isinstance(value, str) and VALUE.fullmatch(value) for value in values) and len(set(values)) == len(
        values
    )


def read_strata(table: TomlTable, variables: Variables) -> tuple[str, ...]:
    """Return the names of a metric's strata: every combination of the values of its variables."""
    names = table.take("strata")
    if names is None:
        return ()
    known = isinstance(names, list) and names and all(isinstance(name, str) and name in variables for name in names)
    if not known or len(set(names)) < len(names):
        table.mistake("strata", 'must list variables of [strata], each once: ["platform"]')
        return ()
    if math.prod(len(variables[name]) for name in names) > MOST_STRATA:
        table.mistake("strata", f"has more than {MOST_STRATA} combinations of values; leave a variable or values out")
        return ()
    if table.has("permanent_epsilon"):
        table.mistake(
            "strata", "is not for permanent answers, which a device that changes its stratum would draw again"
        )
    combinations = itertools.product(*(variables[name] for name in names))
    return tuple(", ".join(map("{}={}".format, names, values)) for values in combinations)
