"""The registry: a TOML file that defines all metrics for the app, collector and estimator.

The registry is the only source of definitions. No server can change the definitions that a device
uses. The parser is strict. For every mistake, the parser reports the metric and the key.
"""

import logging
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from client_sdk.protocol.budget import ATTOS, Budget, Strategy
from client_sdk.protocol.epsilon import NANOS
from client_sdk.protocol.errors import RegistryError, UnknownMetricError
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.metric_table import MAX_TITLE, Variables, read_metric, read_variables
from client_sdk.protocol.requested_epsilon import GREATEST_EPSILON
from client_sdk.protocol.sentences import (
    LANGUAGE,
    PURPOSE,
    SHIPPED,
    TITLE,
    Sentences,
    flattened,
    placeholders,
    sentences_in,
    shipped,
)
from client_sdk.protocol.toml_table import MAX_TEXT, MOST_DEVICES, TomlTable, is_text, suggestion
from client_sdk.protocol.window import Window, WindowKind

_log = logging.getLogger(__name__)

SCHEMA = 1
"""The schema number that this version reads."""

MOST_ANSWERS = 1000
"""The maximum of ``answers``, the number of metrics drawn per window. A device should answer far
fewer metrics."""

WHOLE = "registry"
"""The place that an error names if it concerns the whole registry, for example if the text is not
TOML. If the registry is read from a file, the error names the file instead."""

MOST_SHOWN: Final = 3
"""The maximum number of missing sentences that an error lists, because hundreds may be missing."""


class Former(NamedTuple):
    """A former metric, which only older versions of the app still answer.

    Attributes:
        metric: the former definition.
        since: the day of the first release that contains the metric.
        until: the day of the release that replaced or removed the metric; None if the history lacks
            that release.
        then: the new definition; None if the metric was removed.
    """

    metric: Metric
    since: date
    until: date | None
    then: Metric | None


class DatedEvent(NamedTuple):
    """A dated event that is shown to readers of the estimates."""

    day: date
    title: str


@dataclass(frozen=True, slots=True)
class Registry:
    """All metrics of one app.

    Attributes:
        app: the app's name.
        owner: the person or team to contact about the registry.
        budget: the ceilings that devices enforce.
        metrics: a mapping from name to metric, in the file's order.
        source: the TOML text that defines the registry; empty if the registry was not parsed from
            TOML.
        stopped: the metrics that devices must no longer answer, even if a device has an older
            registry.
        strata: the public variables, such as the platform, with their values. The reports about a
            metric may be counted separately for each combination of values.
        own_sentences: the app's own sentences for users, keyed by language, then sentence key.
        former: the former metrics, from the history (`registry.history`); unused on devices.
        newcomers: the names of the present metrics that at least one release in the history lacks
            or defines with another meaning.
        population: the expected number of devices; None if unknown. The population does not affect
            `Metric.edition`.
        events: the events, sorted by day. Events do not affect `Metric.edition`.
    """

    app: str
    owner: str
    budget: Budget
    metrics: Mapping[str, Metric]
    source: str = field(default="", repr=False, compare=False)
    stopped: tuple[tuple[str, str], ...] = ()
    strata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own_sentences: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    former: tuple[Former, ...] = ()
    newcomers: frozenset[str] = frozenset()
    population: int | None = None
    events: tuple[DatedEvent, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "metrics", MappingProxyType(dict(self.metrics)))

    def __reduce__(self) -> tuple[type["Registry"], tuple[object, ...]]:
        """Pickle a copy of the metrics, because a read-only mapping cannot be pickled."""
        fields = self.app, self.owner, self.budget, dict(self.metrics), self.source, self.stopped
        named = dict(self.strata), dict(self.own_sentences)
        return Registry, (*fields, *named, self.former, self.newcomers, self.population, self.events)

    def metric(self, name: str) -> Metric:
        """Return the metric that has a given name.

        Raises:
            UnknownMetricError: if there is no such metric.

        """
        if not isinstance(name, str) or name not in self.metrics:
            raise UnknownMetricError(name, tuple(self.metrics))
        return self.metrics[name]

    def asked_as(self, name: str, edition: str) -> Metric | None:
        """Return the present or former metric of this name and edition.

        Returns None if there is no such metric.
        """
        metric = self.metrics.get(name)
        if metric is not None and edition in metric.editions:
            return metric
        former = (each.metric for each in self.former if each.metric.name == name and edition in each.metric.editions)
        return next(former, None)

    @property
    def counted(self) -> tuple[Metric, ...]:
        """The metrics whose reports a collector counts. Former metrics come first."""
        return (*(each.metric for each in self.former), *self.metrics.values())

    def for_strata(self, strata: Mapping[str, str]) -> "Registry":
        """Return the registry for devices in a stratum.

        ``strata`` contains the value of each public variable on the device.

        Raises:
            ValueError: if the registry does not define one of the variables.

        """
        for variable in strata:
            if variable not in self.strata:
                raise ValueError(f"the registry has no public variable {variable!r} in [strata]")
        return replace(self, metrics={name: metric.for_strata(strata) for name, metric in self.metrics.items()})

    def sentences(self, language: str) -> Sentences:
        """Return the sentences for users in a language. The app's sentences replace the SDK's.

        The sentences include the purposes and titles of metrics. The app itself must translate the
        purposes and titles.

        Raises:
            LanguageError: if the language is not available; the message names available languages.
        """
        purposes = {f"{PURPOSE}{name}": metric.purpose for name, metric in self.metrics.items()}
        titles = {f"{TITLE}{name}": metric.title for name, metric in self.metrics.items()}
        return Sentences(purposes | titles | dict(sentences_in(language, self.own_sentences).texts))

    def neglected(self, today: date) -> list[str]:
        """Return a sentence for each metric that has expired, or that has no owner."""
        sentences = []
        for name, metric in self.metrics.items():
            if metric.has_expired(Window.on(metric.window, today)):
                sentences.append(f"metric.{name} expired on {metric.expires}: remove it, or set a later date")
            if not metric.owner:
                sentences.append(f"metric.{name} has no owner: set owner in its table, or in [app]")
        return sentences

    def objections(self, today: date) -> list[str]:
        """Return a sentence for each reason not to release the registry; empty if there is none.

        One possible reason is that a ceiling may prevent the first answer to a present metric. The
        other reason is that a limit in `registry.limits` is exceeded, and ``[budget] accept`` gives
        no explanation.
        """
        from client_sdk.protocol.registry.limits import excesses  # noqa: PLC0415 takes 1 ms, and only developers need it

        return [*self.shortages(today), *([] if self.budget.accept else excesses(self, today))]

    def shortages(self, today: date) -> list[str]:
        """Return a sentence for each ceiling that may prevent a present metric's first answer."""
        from client_sdk.protocol.registry.feasibility import shortages  # noqa: PLC0415 takes 1 ms, and only developers need it

        return shortages(self.budget, self.metrics, today)

    @classmethod
    def load(cls, path: str | Path, *, today: date | None = None) -> "Registry":
        """Read a registry from its file.

        Log the sentences that `objections` returns, but log each sentence only once per process.
        If the app sets no log handler, nothing is logged, because users of command-line apps are
        not developers.

        >>> sorted(Registry.load("metrics.toml").metrics)
        ['dark_mode', 'days_of_use', 'taps']

        Args:
            path: the file.
            today: the day for which the checks are made; by default, the current UTC day. The
                checks ignore metrics that have expired by this day.

        Raises:
            RegistryError: if the file is unreadable or has mistakes. The error names the line,
                metric and key of each mistake.
            TypeError: if ``path`` is not a path, for example if it is None.
        """
        registry = cls.read(path)
        if _log.hasHandlers():
            for sentence in registry.objections(today or datetime.now(UTC).date()):
                _log_once(f"{path}: {sentence}")
        return registry

    @classmethod
    def read(cls, path: str | Path) -> "Registry":
        """Read a registry from its file as `load` does, but log nothing."""
        name = str(path) or "an empty path"
        try:
            file = Path(path)
        except TypeError:
            message = f"registry must be the path of a file, such as 'metrics.toml', not {type(path).__name__}"
            raise TypeError(message) from None
        try:
            text = file.read_text(encoding="utf-8")
        except OSError as error:
            raise RegistryError(name, f"cannot be read: {error.strerror}; name a readable file") from error
        except UnicodeDecodeError as error:
            raise RegistryError(name, "is not UTF-8 text; save it as UTF-8") from error
        return _parsed_once(text, name)

    @classmethod
    def parse_file(cls, text: str, name: str) -> "Registry":
        """Read a registry from a file's text. Errors contain the file's ``name``."""
        try:
            return cls.parse(text)
        except RegistryError as error:
            raise _located(error, name, text) from None

    @classmethod
    def parse(cls, text: str) -> "Registry":
        """Read a registry from its TOML text.

        Raises:
            RegistryError: if there are mistakes. The error names the metric and the key of each
                mistake.

        """
        import tomllib  # noqa: PLC0415 importing the SDK must stay quick

        if text.startswith("\ufeff"):
            raise RegistryError(WHOLE, "starts with a byte order mark; save it as UTF-8 without one")
        try:
            document = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, ArithmeticError, RecursionError) as error:
            # huge numbers and deep nesting also raise these errors
            raise RegistryError(WHOLE, f"is not TOML: {error}") from error
        return replace(_read_registry(document), source=text)


def registry_of(given: Registry | str | Path) -> Registry:
    """Return ``given`` if it is a registry; otherwise, read it with `Registry.load`."""
    return given if isinstance(given, Registry) else Registry.load(given)


@lru_cache(maxsize=1)
def _parsed_once(text: str, name: str) -> Registry:
    """Return the registry in a file's text.

    The result is cached for commands that read the file twice.
    """
    return Registry.parse_file(text, name)


@cache
def _log_once(sentence: str) -> None:
    _log.warning("%s", sentence)


def _located(error: RegistryError, path: str, text: str) -> RegistryError:
    ((place, problem), *_) = error.mistakes
    if place == WHOLE:
        return RegistryError(path, problem)
    from client_sdk.protocol.registry.lines import line_of, lines_of  # noqa: PLC0415 takes 0.3 ms, and only mistakes need it

    lines = lines_of(text)
    return RegistryError.from_mistakes(
        error.mistakes, [f"{path}:{line_of(place, lines)}" for place, _ in error.mistakes]
    )


def _read_registry(document: dict[str, Any]) -> Registry:
    mistakes: list[tuple[str, str]] = []
    top = TomlTable(document, "", mistakes)
    schema = top.take("schema", required=True)
    if schema is not None and (type(schema) is not int or schema != SCHEMA):
        top.mistake("schema", f"must be {SCHEMA}, the only schema that this version reads")
    app = TomlTable(top.take("app", required=True) or {}, "app", mistakes)
    name, owner = app.text("name", required=True), app.text("owner")
    population = app.whole("population", MOST_DEVICES, required=False)
    app.nothing_else()
    budget = _read_budget(TomlTable(top.take("budget", required=True) or {}, "budget", mistakes))
    strata = read_variables(top.take("strata"), mistakes)
    metrics = _read_metrics(top.take("metric", required=True), owner, budget, strata, mistakes)
    stopped = _read_stopped(top)
    events = _read_events(top.take("event"), mistakes)
    sentences = read_sentences(top.take("sentences"), metrics, mistakes)
    top.nothing_else()
    mistakes += _without_a_secret(budget, metrics)
    if mistakes:
        raise RegistryError.from_mistakes(mistakes)
    return Registry(
        app=name,
        owner=owner,
        budget=budget,
        metrics=metrics,
        stopped=stopped,
        strata=strata,
        own_sentences=sentences,
        population=population,
        events=events,
    )


def _without_a_secret(budget: Budget, metrics: Mapping[str, Metric]) -> list[tuple[str, str]]:
    """Return a mistake for each metric that has permanent answers, if the registry is for browsers.

    A browser may delete its storage, including the secret that determines the permanent answers.
    """
    problem = "needs a secret, which browsers may delete; remove permanent_epsilon, or remove web_year from [budget]"
    permanent = [name for name, metric in metrics.items() if metric.channel.permanent_nanos]
    return [(f"metric.{name}.permanent_epsilon", problem) for name in permanent if budget.may_be_wiped]


def _read_stopped(top: TomlTable) -> tuple[tuple[str, str], ...]:
    raw = top.take("stopped")
    if raw is None:
        return ()
    from client_sdk.protocol.wire.verdict import (  # noqa: PLC0415 2 ms, for a collector's registry
        MAX_STOPPED,
        MAX_STOPPED_CHARS,
        encode_stopped,
        stopped_metric,
    )

    entries: list[object] = raw if isinstance(raw, list) else []
    metrics = tuple(named for named in map(stopped_metric, entries) if named is not None)
    if not entries or len(metrics) < len(entries) or len(set(metrics)) < len(metrics):
        top.mistake(
            "stopped", 'must list metrics with their editions, without repetition, such as ["dark_mode:0123456789ab"]'
        )
    if len(metrics) > MAX_STOPPED or len(encode_stopped(metrics)) > MAX_STOPPED_CHARS:
        top.mistake(
            "stopped", f"must have at most {MAX_STOPPED} entries and {MAX_STOPPED_CHARS} characters, commas included"
        )
    return metrics


def _read_events(raw: object, mistakes: list[tuple[str, str]]) -> tuple[DatedEvent, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, dict):
        mistakes.append(
            ("event", 'must contain a table for each day, such as [event.2027-03-02] with title = "2.3 released"')
        )
        return ()
    events = []
    for name, fields in raw.items():
        table = TomlTable(fields, f"event.{name}", mistakes)
        day, title = _day(name), table.text("title", required=True, most=MAX_TITLE)
        table.nothing_else()
        if day is None:
            table.mistake("", "must be a date, such as event.2027-03-02")
        else:
            events.append(DatedEvent(day, title))
    return tuple(sorted(events))


def _day(name: str) -> date | None:
    with suppress(ValueError):
        day = date.fromisoformat(name)
        return day if day.isoformat() == name else None
    return None


def _read_budget(table: TomlTable) -> Budget:
    window = table.window("window", WindowKind.DAY)
    ceilings = {}
    for key in ("per_window", "lifetime", "per_month", "web_year"):
        ceiling = table.number(key, required=key in ("per_window", "lifetime"))
        if ceiling is not None and ceiling <= 0:
            table.mistake(key, "must be above 0")
            ceiling = None
        ceilings[key] = None if ceiling is None else int(ceiling * NANOS)
    delta = table.number("delta", required=False) or Fraction(0)
    if not 0 <= delta < 1:
        table.mistake("delta", "must be at least 0 and below 1")
    strategy = table.choice("strategy", Strategy, required=False) or Strategy.SPLIT
    answers = table.whole("answers", MOST_ANSWERS) if strategy is Strategy.SAMPLE else None
    accept = table.text("accept")
    table.nothing_else()
    placeholder = int(GREATEST_EPSILON * NANOS)  # replaces an invalid ceiling, so that reading can continue
    per_window, lifetime = ceilings["per_window"], ceilings["lifetime"]
    return Budget(
        window=window,
        per_window_nanos=placeholder if per_window is None else per_window,
        lifetime_nanos=placeholder if lifetime is None else lifetime,
        per_month_nanos=ceilings["per_month"],
        lifetime_attos=int(delta * ATTOS),
        strategy=strategy,
        answers=answers,
        web_year_nanos=ceilings["web_year"],
        accept=accept,
    )


def _with_consents(metric: Metric, read: Mapping[str, Metric]) -> Metric:
    """Return a metric that requires consent to all purposes of the metrics that it combines.

    A metric without purposes requires consent to the collection of all metrics. If one of the
    combined metrics has no purposes, the result has no purposes either.
    """
    if not metric.kind.crossed:
        return metric
    parts = [read[name].consent for name in metric.kind.crossed]
    return replace(metric, consent=metric.consent.union(*parts) if all(parts) else frozenset())


def _read_metrics(
    raw: object, owner: str, budget: Budget, strata: Variables, mistakes: list[tuple[str, str]]
) -> dict[str, Metric]:
    """Return all metrics in the file's order.

    A metric that combines two metrics is read after these two metrics.
    """
    if raw is None:
        return {}
    if not isinstance(raw, dict) or not raw:
        mistakes.append(("metric", "must contain at least one metric, such as [metric.dark_mode]"))
        return {}
    read: dict[str, Metric] = {}
    kinds: dict[str, Kind | None] = {}
    plain = [name for name, fields in raw.items() if not (isinstance(fields, dict) and "cross" in fields)]
    for name in [*plain, *(name for name in raw if name not in plain)]:
        table = TomlTable(raw[name], f"metric.{name}", mistakes)
        metric = read_metric(name, table, owner, budget, strata, kinds)
        kinds[name] = None if metric is None else metric.kind
        if metric is not None:
            read[name] = _with_consents(metric, read)
    mistakes += _confusing_titles(read.values()) + _published_parts(read)
    return {name: read[name] for name in raw if name in read}


def _confusing_titles(metrics: Iterable[Metric]) -> list[tuple[str, str]]:
    """Return a mistake for each title that equals another metric's title or name."""
    known: dict[str, str] = {}
    problem = "is also the title of metric.{}; choose another"
    return [
        (f"metric.{metric.name}.title", problem.format(first))
        for metric in sorted(metrics, key=lambda metric: metric.title != metric.name)
        if (first := known.setdefault(metric.title, metric.name)) != metric.name
    ]


def _published_parts(read: Mapping[str, Metric]) -> list[tuple[str, str]]:
    """Return a mistake for each public metric that combines a sensitive metric with another one."""
    return [
        (f"metric.{name}.public", f"is not allowed: its answers contain those of metric.{part}, which is sensitive")
        for name, metric in read.items()
        for part in metric.kind.crossed
        if metric.is_public and read[part].is_sensitive
    ]


def read_sentences(raw: object, metrics: Collection[str], mistakes: list[tuple[str, str]]) -> dict[str, dict[str, str]]:
    """Return an app's sentences, keyed by language, then key; add any mistakes to ``mistakes``."""
    if raw is None:
        return {}
    if not isinstance(raw, dict) or not all(isinstance(table, dict) for table in raw.values()):
        mistakes.append(("sentences", "must contain a table for each language, such as [sentences.de]"))
        return {}
    read = {}
    for language, table in raw.items():
        place = f"sentences.{language}"
        if re.fullmatch(LANGUAGE, language) is None:
            mistakes.append((place, "is not a language tag; write one, such as de or pt-BR"))
            continue
        own = dict(flattened(table))
        mistakes += [(f"{place}.{key}", problem) for key, problem in _problems(own, metrics)]
        mistakes += [(place, problem) for problem in _missing(language, own)]
        read[language] = own
    return read


def _problems(own: Mapping[str, object], metrics: Collection[str]) -> list[tuple[str, str]]:
    catalog, own_to_app = shipped().texts, [f"{each}{name}" for each in (PURPOSE, TITLE) for name in metrics]
    problems = []
    for key, text in own.items():
        if key not in catalog and key not in own_to_app:
            meant = suggestion(key, [*catalog, *own_to_app]) or "; remove it or correct its spelling"
            problems.append((key, f"is an unknown sentence{meant}"))
        elif not is_text(text):
            problems.append((key, f"must be a string of 1 to {MAX_TEXT} printable characters"))
        elif key in catalog and placeholders(text) != placeholders(catalog[key]):
            names = ", ".join(f"{{{name}}}" for name in sorted(placeholders(catalog[key]))) or "none"
            problems.append((key, f"must have these placeholders: {names}"))
    return problems


def _missing(language: str, own: Mapping[str, object]) -> list[str]:
    """Return a mistake if an app adds a language, but does not define every sentence in it."""
    missing = [] if language in SHIPPED else [key for key in shipped().texts if key not in own]
    if not missing:
        return []
    more = f", and {len(missing) - MOST_SHOWN:,} more" if len(missing) > MOST_SHOWN else ""
    named = ", ".join(missing[:MOST_SHOWN])
    return [f"lacks sentences: {named}{more}; copy them from client_sdk/protocol/sentences/en.toml and translate them"]


FOLDER = "trial"
"""The name of two folders: the folder for a trial's ledger within an app's data folder, and the
folder for a trial's store within a collector's data folder."""

UNREACHED = 10**9
"""A trial's ceilings on epsilon and on delta, which the trial never reaches."""


def in_trial(registry: Registry) -> Registry:
    """Return the registry of a trial.

    A trial is separate from real reports: collectors of real reports refuse the trial's editions.
    The app has another name, so that trial and real reports share neither a device's ledger nor a
    collector's store.

    Devices answer every metric from the first window on. The trial has no random selection of
    metrics, no ceiling, no report of "no answer", and no stopped metric.
    """
    if any(metric.is_trial for metric in registry.metrics.values()):
        return registry
    metrics = {name: replace(metric, is_trial=True, fill=None) for name, metric in registry.metrics.items()}
    budget = Budget(registry.budget.window, UNREACHED * NANOS, UNREACHED * NANOS, lifetime_attos=UNREACHED * ATTOS)
    app = f"{registry.app} (trial)"
    return replace(registry, app=app, budget=budget, metrics=metrics, stopped=(), former=(), newcomers=frozenset())
