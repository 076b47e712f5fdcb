"""Rows of a table as answers to a model.

Each feature has a column, and the label has one with the metric's name.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.boolean import TRUTH_VALUES
from client_sdk.protocol.kinds.kind import NO_COINS, Kind
from client_sdk.protocol.kinds.number import decimal_in
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.model import LABEL
from estimator.analyses.metric import analysis_of
from estimator.errors import AnswersError
from estimator.rehearsal.model_rehearsal import People

LEAST_ROWS: Final = 20
"""With fewer, nobody is left to try a model on."""

LEAST_PERSONS: Final = 2
"""Of each label: one to learn from, and one to try a model on."""


def read_people(path: Path, metric: Metric) -> People:
    """Read a table of true answers to a model; a row with an empty cell is left out.

    Args:
        path: a CSV file (RFC 4180) in UTF-8 with a heading. The column ``person``, if there is one,
            says which rows are of one person.
        metric: a model with a label of yes or no.

    Raises:
        AnswersError: naming the column, or the row, without the content of a cell.

    """
    observation = analysis_of(metric).observation
    if observation is None or not observation.is_of_yes_and_no:
        raise AnswersError(f"{metric.name} is no model of yes and no; name one that is")
    features = {feature.name: feature.kind for feature in observation.features}
    answers, persons = [], []
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file, strict=True)
            _check_heading(path, list(rows.fieldnames or ()), (*features, metric.name))
            for row in rows:
                if None in row or None in row.values():  # as csv says of what is too long, or too short
                    raise AnswersError(f"line {rows.line_num}: has more or fewer cells than the heading; correct it")
                if all(row[name] for name in (*features, metric.name)):
                    answer = {name: _read(row[name], kind) for name, kind in features.items()}
                    answers.append(answer | {LABEL: TRUTH_VALUES.get(row[metric.name].strip().lower())})
                    _check(metric, answers[-1], rows.line_num)
                    persons.append(row.get("person") or f"row {rows.line_num}")
    except OSError as error:
        raise AnswersError(f"{path} cannot be read: {error.strerror}; name a readable CSV file") from None
    except (UnicodeDecodeError, csv.Error):
        raise AnswersError(f"{path} is no CSV in UTF-8; save it as that") from None
    if len(answers) < LEAST_ROWS:
        raise AnswersError(f"{path} has {len(answers)} rows without an empty cell; {LEAST_ROWS} are the least")
    people = People(answers, np.unique(persons, return_inverse=True)[1])
    if min(len(np.unique(people.groups[people.labels == is_yes])) for is_yes in (True, False)) < LEAST_PERSONS:
        raise AnswersError(f"{path} must have rows of {LEAST_PERSONS} persons or more with yes, and of as many with no")
    return people


def _check_heading(path: Path, heading: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a heading that does not name each feature and the label once.

    Raises:
        AnswersError: naming the columns.

    """
    if lacking := [name for name in names if name not in heading]:
        raise AnswersError(f"{path} has no column {', '.join(lacking)}; name one for each feature and the label")
    if twice := [name for name in names if heading.count(name) > 1]:
        raise AnswersError(f"{path} has the column {', '.join(twice)} twice; name each column once")


def _read(cell: str, kind: Kind) -> object:
    return cell if kind.labels else decimal_in(cell)


def _check(metric: Metric, answer: dict[str, object], line: int) -> None:
    try:
        metric.kind.encode(answer, metric.channel.inputs, NO_COINS)
    except DomainError as error:
        raise AnswersError(f"line {line}: must have {error}") from None
