"""The true answers of a rehearsal, read from a table or drawn at random from given shares."""

from __future__ import annotations

import csv
import json
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from estimator.analyses.metric import analysis_of
from estimator.errors import AnswersError
from estimator.rehearsal.population import Population, TrueAnswer, distinct, encode, read_answer

MAX_DEVICES = 10**15
"""The maximum number of devices. Up to this number, numpy's floats represent counts exactly."""

SHOWN_MISTAKES = 20

_Cells = dict[tuple[str, ...], list[int]]
"""A mapping from the content of a metric's cells to two integers.

The integers are the number of rows with this content, and the number of the first such row.
"""

SHARES_TOLERANCE = Fraction(1, 10**6)
"""The maximum difference between 1 and the sum of a metric's shares, which may be rounded."""


OF_MODELS: Final = "a model is not rehearsed here; use rehearse-model"

NO_COLUMN: Final = "there is no column with this name"

NO_SHARES: Final = "its answers cannot be drawn uniformly; pass their shares as --shares, or a table as --csv"


class Missing(NamedTuple):
    """A metric that a rehearsal leaves out, and the reason."""

    metric: Metric
    reason: str


@dataclass(frozen=True, slots=True)
class GroundTruth:
    """The devices of each metric, in the registry's order, and the unused columns and metrics.

    ``missing`` always contains the models. If answers are read from a table, ``missing`` also
    contains the metrics without a column. If answers are drawn at random, ``missing`` also contains
    the metrics of vectors and of texts, except metrics with given shares.
    """

    populations: tuple[Population, ...]
    ignored: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()


def read_csv(path: Path, registry: Registry, repeat: int = 1) -> GroundTruth:
    """Read a table of true answers, with one column per metric and one row per device.

    The file is CSV (RFC 4180) in UTF-8, and begins with a heading. If a cell is empty, the device
    does not answer the metric. Each row represents ``repeat`` devices. Raise `AnswersError` if the
    table is invalid. The message lists every mistake with its row and column, but never contains
    the content of a cell.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _source(_rows(file), registry, repeat)
    except OSError as error:
        raise AnswersError(f"{path} cannot be read: {error.strerror}; name a readable CSV file") from None
    except UnicodeDecodeError:
        raise AnswersError(f"{path} is not UTF-8 text; save it as UTF-8") from None


def from_shares(registry: Registry, devices: int, shares: Path | None = None) -> GroundTruth:
    """Return a population of devices with random answers. Every device answers all metrics.

    ``shares`` is a TOML or JSON file. The file may contain, for each metric, a table that maps
    answers to shares. If the file contains no table for a metric, all answers to this metric are
    equally likely. Raise `AnswersError` if the file is invalid. The message lists every mistake
    with its metric and, if possible, its entry.
    """
    given = {} if shares is None else _read_shares(shares)
    if unknown := [name for name in given if name not in registry.metrics]:
        raise AnswersError(f"{shares}: the registry has no metric {', '.join(map(repr, unknown))}")
    mistakes: list[str] = []
    populations = []
    drawn = {
        name: metric
        for name, metric in registry.metrics.items()
        if not _is_model(metric) and (name in given or metric.kind.has_samples)
    }
    for name, metric in drawn.items():
        weights = _weights(metric, given[name], mistakes) if name in given else _uniform(metric)
        floats = np.array([float(weight) for weight in weights.values()])
        shares_of_each = floats / floats.sum() if floats.any() else floats
        populations.append(Population(metric, tuple(weights), shares_of_each, devices, is_known=name in given))
    _refuse(mistakes)
    return GroundTruth(tuple(populations), missing=_missing(registry, drawn, NO_SHARES))


def _rows(lines: Iterable[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of every row that is not blank. The heading is row 1."""
    reader = csv.reader(lines, strict=True)
    number = 0
    while True:
        number += 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise AnswersError(f"row {number} is not CSV: {error}") from None
        if row:
            yield number, row


def _source(rows: Iterator[tuple[int, list[str]]], registry: Registry, repeat: int) -> GroundTruth:
    heading_row, heading = next(rows, (1, []))
    columns = _columns(heading, registry)
    mistakes = [
        f"row {heading_row}, column {name}: occurs more than once; name each column once"
        for name in registry.metrics
        if heading.count(name) > 1
    ]
    if not heading:
        raise AnswersError("row 1: is missing; write a first row that names the columns")
    if not columns:
        raise AnswersError(
            f"row {heading_row}: no column names a metric; the metrics are {', '.join(registry.metrics)}"
        )
    _refuse(mistakes)
    cells: dict[str, _Cells] = {name: {} for name in columns}
    devices = 0
    for number, row in rows:
        if len(row) != len(heading):
            mistakes.append(f"row {number}: has {len(row)} cells, but the heading has {len(heading)}")
            continue
        devices += 1
        for name, positions in columns.items():
            stated = tuple(row[position] for position in positions)
            if all(stated):
                cells[name].setdefault(stated, [0, number])[0] += 1
    if devices == 0 and not mistakes:
        raise AnswersError(f"row {heading_row + 1}: is missing; write a row for each device")
    if devices * repeat > MAX_DEVICES:
        raise AnswersError(f"{devices * repeat} devices are too many; at most {MAX_DEVICES} can be rehearsed")
    populations = tuple(
        Population.counted(registry.metric(name), _counts(registry.metric(name), texts, repeat, mistakes))
        for name, texts in cells.items()
    )
    _refuse(mistakes)
    used = set(chain.from_iterable(columns.values()))
    ignored = tuple(name for place, name in enumerate(heading) if name not in registry.metrics and place not in used)
    return GroundTruth(populations, ignored, _missing(registry, columns, NO_COLUMN))


def _missing(registry: Registry, rehearsed: Container[str], reason: str) -> tuple[Missing, ...]:
    return tuple(
        Missing(metric, OF_MODELS if _is_model(metric) else reason)
        for name, metric in registry.metrics.items()
        if name not in rehearsed
    )


def _is_model(metric: Metric) -> bool:
    return analysis_of(metric).observation is not None


def _columns(heading: list[str], registry: Registry) -> dict[str, tuple[int, ...]]:
    """Return the positions of each metric's columns.

    The parts of an answer may have separate columns. For instance, a pair of answers may have two
    columns.
    """
    columns: dict[str, tuple[int, ...]] = {}
    for name, metric in registry.metrics.items():
        parts = metric.kind.columns(name)
        if _is_model(metric):  # `model_rehearsal` handles these
            continue
        if name in heading:
            columns[name] = (heading.index(name),)
        elif parts and all(part in heading for part in parts):
            columns[name] = tuple(map(heading.index, parts))
    return columns


def _counts(metric: Metric, cells: _Cells, repeat: int, mistakes: list[str]) -> dict[TrueAnswer, int]:
    answers = []
    for stated, (count, row) in cells.items():
        try:
            answers.append((read_answer(metric, stated if len(stated) > 1 else stated[0]), count * repeat))
        except ValueError as error:
            more = f" ({count} rows have this mistake)" if count > 1 else ""
            mistakes.append(f"row {row}, column {metric.name}: {error}{more}")
    return distinct(answers)


def _read_shares(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".json":
            document = json.loads(text, parse_float=Decimal)
        else:
            document = tomllib.loads(text, parse_float=Decimal)
    except OSError as error:
        raise AnswersError(f"{path} cannot be read: {error.strerror}; name a readable file of shares") from None
    except (ValueError, ArithmeticError, RecursionError):
        form = "JSON" if path.suffix == ".json" else "TOML"
        raise AnswersError(f"{path} is not {form} in UTF-8; name a .toml or .json file of shares") from None
    if type(document) is not dict:
        raise AnswersError(f"{path}: must be an object that maps each metric to an object with the shares of answers")
    if not document:
        raise AnswersError(f"{path} contains no metric; add a table of shares for a metric, or omit --shares")
    return document


def _weights(metric: Metric, given: object, mistakes: list[str]) -> dict[TrueAnswer, Fraction]:
    weights: dict[TrueAnswer, Fraction] = {}
    if type(given) is not dict or not given:
        mistakes.append(f"{metric.name}: must be a table that maps each answer to its share")
        return weights
    before = len(mistakes)
    for position, (cell, share) in enumerate(given.items(), start=1):
        place = f"{metric.name}, entry {position}"
        if type(share) not in (int, Decimal) or not (Decimal(share).is_finite() and 0 <= share <= 1):
            mistakes.append(f"{place}: a share must be a number from 0 to 1")
            continue
        try:
            answer = read_answer(metric, cell)
        except ValueError as error:
            mistakes.append(f"{place}: the answer {error}")
            continue
        weights[answer] = weights.get(answer, Fraction(0)) + Fraction(share)
    total = sum(weights.values(), start=Fraction(0))
    if len(mistakes) == before and abs(total - 1) > SHARES_TOLERANCE:
        mistakes.append(f"{metric.name}: its shares must add up to 1, not {float(total):g}")
    return weights


def _uniform(metric: Metric) -> dict[TrueAnswer, Fraction]:
    values = metric.labels if metric.has_no_answer else metric.kind.samples()
    return {encode(metric, value): Fraction(1) for value in values}


def _refuse(mistakes: list[str]) -> None:
    if mistakes:
        more = [f"and {len(mistakes) - SHOWN_MISTAKES} more"] if len(mistakes) > SHOWN_MISTAKES else []
        raise AnswersError("\n".join([*mistakes[:SHOWN_MISTAKES], *more]))
