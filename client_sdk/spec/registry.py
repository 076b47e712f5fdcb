"""The registry: one TOML file with every question, shipped inside the app and given to collector and estimator.

It is the only source of definitions: no server can change what a device does. Reading it is strict, and every mistake
is named with its metric and key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from client_sdk.spec.budget import Budget
from client_sdk.spec.domain import MAX_CATEGORIES, Boolean, Category, Domain, Number
from client_sdk.spec.epsilon import GREATEST, NANOS, RequestedEpsilon
from client_sdk.spec.errors import RegistryError, UnknownMetricError
from client_sdk.spec.mechanisms import AUTO, channel_for
from client_sdk.spec.metric import Metric
from client_sdk.spec.report import METRIC_NAME
from client_sdk.spec.table import MAX_TEXT, Table, is_text
from client_sdk.spec.window import WindowKind

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Registry:
    """Every question of one app.

    Attributes:
        app: the app's name.
        owner: whom to ask about it.
        budget: the ceilings that devices keep.
        metrics: the questions by name, in the file's order.

    """

    app: str
    owner: str
    budget: Budget
    metrics: Mapping[str, Metric]

    def __post_init__(self) -> None:
        """Make the metrics unchangeable."""
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def __reduce__(self) -> tuple[type[Registry], tuple[object, ...]]:
        """Travel between processes: a read-only view of a mapping cannot, a copy can."""
        return Registry, (self.app, self.owner, self.budget, dict(self.metrics))

    def metric(self, name: str) -> Metric:
        """Return the metric of a name.

        Raises:
            UnknownMetricError: if there is none.

        """
        if name not in self.metrics:
            raise UnknownMetricError(name, tuple(self.metrics))
        return self.metrics[name]

    @classmethod
    def load(cls, path: str | Path) -> Registry:
        """Read a registry from its file.

        Raises:
            RegistryError: naming every mistake by metric and key, or saying why the file cannot be read.

        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise RegistryError(str(path), f"cannot be read: {error.strerror}; name a readable file") from error
        except UnicodeDecodeError as error:
            raise RegistryError(str(path), "is not UTF-8 text; save it as UTF-8") from error
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Registry:
        """Read a registry from its TOML text.

        Raises:
            RegistryError: naming every mistake by metric and key.

        """
        import tomllib  # noqa: PLC0415 importing the SDK must stay quick

        try:
            document = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError) as error:  # numbers and nesting beyond any use, too
            raise RegistryError("registry", f"is not TOML: {error}") from error
        return _read_registry(document)


def _read_registry(document: dict[str, Any]) -> Registry:
    mistakes: list[tuple[str, str]] = []
    top = Table(document, "", mistakes)
    schema = top.take("schema", required=True)
    if schema is not None and (type(schema) is not int or schema != SCHEMA):
        top.mistake("schema", f"must be {SCHEMA}, the schema that this version reads")
    app = Table(top.take("app", required=True) or {}, "app", mistakes)
    name, owner = app.text("name", required=True), app.text("owner")
    app.nothing_else()
    budget = _read_budget(Table(top.take("budget", required=True) or {}, "budget", mistakes))
    metrics = _read_metrics(top.take("metric", required=True), owner, budget, mistakes)
    top.nothing_else()
    if mistakes:
        raise RegistryError.of(mistakes)
    return Registry(name, owner, budget, metrics)


def _read_budget(table: Table) -> Budget:
    window = table.window("window", WindowKind.DAY)
    ceilings = {}
    for key in ("per_window", "lifetime"):
        ceiling = table.number(key)
        if ceiling is not None and ceiling <= 0:
            table.mistake(key, "must be above 0")
            ceiling = None
        ceilings[key] = int((Fraction(GREATEST) if ceiling is None else ceiling) * NANOS)
    table.nothing_else()
    return Budget(window, ceilings["per_window"], ceilings["lifetime"])


def _read_metrics(raw: object, owner: str, budget: Budget, mistakes: list[tuple[str, str]]) -> dict[str, Metric]:
    metrics: dict[str, Metric] = {}
    if raw is None:
        return metrics
    if not isinstance(raw, dict) or not raw:
        mistakes.append(("metric", "must hold at least one metric: [metric.dark_mode]"))
        return metrics
    for name, fields in raw.items():
        table = Table(fields, f"metric.{name}", mistakes)
        metric = _read_metric(name, table, owner, budget)
        if metric is not None:
            metrics[name] = metric
    return metrics


def _read_metric(name: str, table: Table, owner: str, budget: Budget) -> Metric | None:
    if not METRIC_NAME.fullmatch(name):
        table.mistake("", "must be named by 1 to 64 of a-z, 0-9 and _, a letter first")
    purpose = table.text("purpose", required=True)
    owner = table.text("owner", default=owner)
    window = table.window("window", budget.window)
    expires = table.take("expires")
    if expires is not None and (not isinstance(expires, date) or isinstance(expires, datetime)):
        table.mistake("expires", "must be a date such as 2027-12-31, without quotes")
    domain = _read_domain(table)
    epsilon = _read_epsilon(table)
    mechanism = table.text("mechanism", default=AUTO)
    table.nothing_else()
    if domain is None or epsilon is None or not mechanism:
        return None
    try:
        channel = channel_for(domain, epsilon, mechanism)
    except ValueError as error:
        table.mistake("mechanism", str(error))
        return None
    metric = Metric(name, purpose, domain, channel, window, owner, expires)
    if metric.epsilon_nanos > min(budget.per_window_nanos, budget.lifetime_nanos):
        table.mistake("epsilon", "is above a ceiling of [budget], so that it could never be reported; lower it")
    return metric


def _read_epsilon(table: Table) -> RequestedEpsilon | None:
    raw = table.take("epsilon", required=True)
    if raw is None:
        return None
    try:
        return RequestedEpsilon.parse(raw)
    except ValueError as error:
        table.mistake("epsilon", str(error))
        return None


def _read_domain(table: Table) -> Domain | None:
    kind = table.text("kind", required=True)
    readers = {"boolean": lambda _: Boolean(), "category": _read_category, "number": _read_number}
    if kind in readers:
        return readers[kind](table)
    if kind:
        table.mistake("kind", f"must be one of: {', '.join(readers)}")
    for key in ("values", "low", "high", "statistic"):
        table.take(key)
    return None


def _read_category(table: Table) -> Category | None:
    values = table.take("values", required=True)
    if values is None:
        return None
    if not isinstance(values, list) or not 2 <= len(values) <= MAX_CATEGORIES:  # noqa: PLR2004 one value asks nothing
        table.mistake("values", f"must be a list of 2 to {MAX_CATEGORIES} texts")
        return None
    for value in values:
        if not is_text(value):
            table.mistake("values", f"must hold texts of 1 to {MAX_TEXT} printable characters")
            return None
    if len(set(values)) < len(values):
        table.mistake("values", "must not hold a value twice")
        return None
    return Category(tuple(values))


def _read_number(table: Table) -> Number | None:
    low, high = table.number("low"), table.number("high")
    statistic = table.text("statistic", required=True)
    if statistic and statistic not in ("mean", "distribution"):
        table.mistake("statistic", 'must be "mean" or "distribution"')
        statistic = ""
    if low is not None and high is not None and low >= high:
        table.mistake("high", "must be above low")
        return None
    if not statistic or low is None or high is None:
        return None
    return Number(low, high, statistic)
