"""Asks the user once for consent, stores the choice, and applies the rules that override it.

`decide` is a pure function that applies one table of rules. `current` and `ask` read the
environment and the stored choice. `client_sdk.Telemetry` reads neither the environment nor the
stored choice.

```python
url = "https://telemetry.example.com"
settings = {"registry": "metrics.toml", "collector": url, "data_dir": "app"}
decision = consent.ask(**settings, variable="NOTES_TELEMETRY")
telemetry = Telemetry(**settings, consent=decision)
```
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO
from urllib.parse import urlsplit

from client_sdk.answers.consent import consent_of, covers
from client_sdk.host.files import app_folder
from client_sdk.protocol.metric import Metric, definition
from client_sdk.protocol.registry.registry import Registry, registry_of
from client_sdk.protocol.sentences import ENGLISH, PURPOSE, Sentences, require_language
from client_sdk.results import SUPPRESSED, Consent, Decision, Rule, warn

FILE_NAME: Final = "consent.json"
"""The file in the app's folder that stores the choice. Opting out does not delete the file."""

OFF: Final = ("", "0", "false")
"""The values that count as unset, in ``DO_NOT_TRACK`` and in the variables of `CI_VARIABLES`."""

CI_VARIABLES: Final = (
    "CI",
    "CONTINUOUS_INTEGRATION",
    "BUILD_NUMBER",
    "APPVEYOR",
    "BITBUCKET_BUILD_NUMBER",
    "BUILDKITE",
    "CIRCLECI",
    "CODEBUILD_BUILD_ID",
    "DRONE",
    "GITHUB_ACTIONS",
    "GITLAB_CI",
    "JENKINS_URL",
    "TEAMCITY_VERSION",
    "TF_BUILD",
    "TRAVIS",
)
"""The environment variables that identify continuous integration services."""

Prompt = Callable[[tuple[str, ...], tuple[str, ...]], bool | AbstractSet[str] | None]
"""A function that asks the user. The function gets the names of the metrics and the lines to show.
"""


class Choice(NamedTuple):
    """The user's choice, and the terms that the user saw.

    Attributes:
        consent: True, False or a set of purposes.
        day: the day of the choice, such as 2026-12-01.
        host: the collector's host.
        ceilings: a mapping from name to ceiling, in billionths of epsilon or, for delta, in units
            of 10**-18.
        agreed: a mapping from metric name to the terms that the user agreed to.
        declined: a mapping from metric name to the terms that the user refused.
    """

    consent: Consent
    day: str
    host: str
    ceilings: Mapping[str, int]
    agreed: Mapping[str, Terms]
    declined: Mapping[str, Terms]


class Terms(NamedTuple):
    """The terms of a user's agreement to a metric. The agreement also covers a lower cost.

    Attributes:
        meaning: a digest of the metric, its reason, its window and its purposes.
        nanos: the epsilon of a report, in billionths.
        attos: the delta of a report, in units of 10**-18.
    """

    meaning: str
    nanos: int
    attos: int

    def covers(self, now: Terms) -> bool:
        """Whether an agreement to these terms also covers the current terms, ``now``."""
        return self.meaning == now.meaning and now.nanos <= self.nanos and now.attos <= self.attos


def terms(metric: Metric) -> Terms:
    """Return the terms of an agreement to a metric.

    The terms include the cost of a report. The terms include neither the mechanism nor the metric's
    owner, expiry, unit or translations.
    """
    meaning = {
        "kind": metric.kind.name,
        "domain": definition(metric),
        "window": metric.window.value,
        "purpose": metric.purpose,
        "consent": sorted(metric.consent),
        "strata": sorted(metric.strata),
        "is filled in": metric.fill is not None,
        "on disk": [metric.persist, metric.kind.always_persists, bool(metric.channel.permanent_nanos)],
    }
    canonical = json.dumps(meaning, sort_keys=True, separators=(",", ":"))
    return Terms(hashlib.sha256(canonical.encode()).hexdigest()[:16], *metric.cost)


def decide(
    environment: Mapping[str, str],
    files: Collection[str],
    stored: Decision,
    variable: str | None = None,
) -> Decision:
    """Return the decision of the first rule that applies.

    >>> nothing = Decision(False, Rule.UNDECIDED)
    >>> decide({"DO_NOT_TRACK": "1", "NOTES_TELEMETRY": "1"}, (), nothing, "NOTES_TELEMETRY").rule
    <Rule.DO_NOT_TRACK: 'do_not_track'>
    >>> decide({"NOTES_TELEMETRY": "1"}, (), nothing, "NOTES_TELEMETRY").consent
    True

    Args:
        environment: the variables of the environment.
        files: those files of `machine_files` that exist.
        stored: the result of `standing` for the stored choice.
        variable: the app's own variable; None if the app has no variable.
    """
    own = "" if variable is None else environment.get(variable, "").strip()
    rules: tuple[tuple[Rule, Consent, str], ...] = (
        (Rule.DO_NOT_TRACK, SUPPRESSED, _first_set(environment, ["DO_NOT_TRACK"])),
        (Rule.CI, SUPPRESSED, _first_set(environment, CI_VARIABLES)),
        (Rule.MACHINE, SUPPRESSED, next(iter(sorted(files)), "")),
        (Rule.VARIABLE, True if own == "1" else SUPPRESSED, variable or "" if own else ""),
    )
    return next((Decision(consent, rule, by) for rule, consent, by in rules if by), stored)


def _first_set(environment: Mapping[str, str], names: Iterable[str]) -> str:
    return next((name for name in names if environment.get(name, "").strip().lower() not in OFF), "")


def machine_files(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> tuple[Path, ...]:
    """Return the paths of the files that turn telemetry off for everyone on a machine."""
    match platform:
        case "win32":
            return (Path(environment.get("PROGRAMDATA", r"C:\ProgramData")) / "Hearsay" / "disabled",)
        case "darwin":
            return (Path("/Library/Application Support/Hearsay/disabled"), Path("/etc/hearsay/disabled"))
        case _:
            return (Path("/etc/hearsay/disabled"),)


def standing(choice: Choice | None, registry: Registry, host: str) -> Decision:
    """Return the decision that follows from a stored choice, for the app's current metrics.

    After the user has agreed, a metric is withheld if the metric's name or meaning is new, or if
    the cost has risen. Such a metric is withheld until the user has been asked about it. If a
    ceiling was raised or the collector moved to another host, every metric is withheld, and nothing
    is deleted. A user who has declined is not asked again.
    """
    everything = tuple(registry.metrics)
    if choice is None:
        return Decision(consent=False, rule=Rule.UNDECIDED, undecided=everything)
    if choice.consent is False:
        return Decision(consent=False, rule=Rule.CHOICE, by=choice.day)
    if choice.host != host or _is_raised(choice.ceilings, ceilings_of(registry)):
        return Decision(SUPPRESSED, Rule.CHANGED, choice.day, frozenset(everything), everything)
    now = {name: terms(metric) for name, metric in registry.metrics.items() if covers(choice.consent, metric)}
    withheld = [name for name in now if not _is_among(choice.agreed, name, now[name])]
    undecided = tuple(name for name in withheld if not _is_among(choice.declined, name, now[name]))
    return Decision(choice.consent, Rule.CHOICE, choice.day, frozenset(withheld), undecided)


def _is_among(known: Mapping[str, Terms], name: str, now: Terms) -> bool:
    return name in known and known[name].covers(now)


def ceilings_of(registry: Registry) -> dict[str, int]:
    """Return a mapping from name to ceiling, for all ceilings of the app.

    A name may contain the length of a window, as in ``per_week``.
    """
    budget = registry.budget
    return {
        f"per_{budget.window}" if ceiling == "per_window" else str(ceiling): most
        for ceiling, most in budget.ceilings.items()
    }


def _is_raised(before: Mapping[str, int], now: Mapping[str, int]) -> bool:
    return any(name not in now or now[name] > most for name, most in before.items())


def current(
    registry: Registry | str | Path,
    *,
    collector: str,
    data_dir: str | Path | None,
    variable: str | None = None,
) -> Decision:
    """Return the current decision, without asking the user.

    Args:
        registry: the app's registry, or the path of its file.
        collector: the collector's URL.
        data_dir: the app's folder, as for `client_sdk.Telemetry`. If None, there is no stored
            choice.
        variable: the app's own environment variable, such as ``NOTES_TELEMETRY``. The value 1 means
            consent to all metrics for this run; any other nonempty value suppresses telemetry.

    Raises:
        RegistryError: if ``registry`` is a path, and the file is missing or contains mistakes.
        ValueError: if ``collector`` is not a URL, or ``data_dir`` is not a valid path.
        TypeError: if ``data_dir`` is neither None nor a path.
    """
    registry = registry_of(registry)
    stored = standing(_read(app_folder(data_dir)), registry, _host(collector))
    return decide(os.environ, [str(file) for file in machine_files() if _may_exist(file)], stored, variable)


def _may_exist(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # this user may not read the folder
        return True


def choose(
    registry: Registry | str | Path,
    *,
    consent: bool | AbstractSet[str],
    collector: str,
    data_dir: str | Path,
    about: Collection[str] | None = None,
) -> None:
    """Store the user's choice about all metrics or, after an earlier choice, about some metrics.

    The choice takes effect at the next start. To apply the choice now, also set
    ``telemetry.consent``.

    Args:
        registry: the same as for `current`.
        consent: True, False or a set of purposes.
        collector: the same as for `current`.
        data_dir: the same as for `current`.
        about: the names of the metrics that the user was asked about; None means all. The earlier
            choice remains for all other metrics.

    Raises:
        OSError: if the choice cannot be stored.
        RegistryError, ValueError, TypeError: for the same reasons as `current`, or if the consent
            is invalid.
    """
    registry = registry_of(registry)
    folder, agreed = app_folder(data_dir), consent_of(consent)
    if folder is None or agreed is SUPPRESSED:
        raise ValueError("a choice must be True, False or a set of purposes, and needs a data_dir that stores it")
    host, before = _host(collector), _read(folder)
    metrics = {name: metric for name, metric in registry.metrics.items() if about is None or name in about}
    yes = {name: terms(metric) for name, metric in metrics.items() if covers(agreed, metric)}
    no = {name: terms(metric) for name, metric in metrics.items() if name not in yes}
    choice = Choice(agreed, f"{datetime.now(UTC):%Y-%m-%d}", host, ceilings_of(registry), yes, no)
    if about is not None and before is not None:
        choice = before._replace(agreed={**before.agreed, **yes}, declined={**before.declined, **no})
    _write(folder, choice)


def _host(collector: str) -> str:
    host = urlsplit(collector).hostname
    if not host:
        raise ValueError("collector must be a URL such as https://telemetry.example.com")
    return host


def _read(folder: Path | None) -> Choice | None:
    try:
        text = (folder / FILE_NAME).read_text(encoding="utf-8") if folder and (folder / FILE_NAME).is_file() else "{}"
        document: dict[str, Any] = json.loads(text)
        consent, day, host, ceilings, agreed, declined = (document[name] for name in Choice._fields)
        choice = consent_of(consent if isinstance(consent, bool) else {*_texts(consent)})
        date.fromisoformat(day)
        return Choice(choice, day, host, _whole(ceilings), _read_terms(agreed), _read_terms(declined))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _texts(listed: list[Any]) -> list[str]:
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        raise TypeError("not a list of texts")
    return listed


def _whole(numbers: dict[str, Any]) -> dict[str, int]:
    if not all(type(number) is int for number in numbers.values()):
        raise TypeError("not whole numbers")
    return numbers


def _read_terms(known: dict[str, Any]) -> dict[str, Terms]:
    read = {name: Terms(*each) for name, each in known.items()}
    _whole({f"{name} {place}": cost for name, each in read.items() for place, cost in enumerate(each[1:])})
    return read


def _write(folder: Path, choice: Choice) -> None:
    import tempfile  # noqa: PLC0415 takes 5 ms

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    consent = sorted(choice.consent) if isinstance(choice.consent, frozenset) else choice.consent
    descriptor, draft = tempfile.mkstemp(prefix=f"{FILE_NAME}.", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(choice._replace(consent=consent)._asdict(), file, indent=1)  # type: ignore[arg-type] # for JSON
            file.flush()
            os.fsync(descriptor)
        Path(draft).replace(folder / FILE_NAME)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise


def ask(  # noqa: PLR0913 the arguments of Telemetry, and how to ask
    registry: Registry | str | Path,
    *,
    collector: str,
    data_dir: str | Path,
    variable: str | None = None,
    language: str = ENGLISH,
    prompt: Prompt | None = None,
) -> Decision:
    """Ask the user about all undecided metrics, store the choice, and return the decision.

    The user is asked once. If ``prompt`` is None, the user is asked only on a terminal, and types
    "yes" or "no", or the first letter of either word. There is no default answer.

    Args:
        registry: the same as for `current`.
        collector: the same as for `current`.
        data_dir: the same as for `current`.
        variable: the same as for `current`.
        language: a language in which the SDK or the registry has sentences.
        prompt: a function that asks in the app's own way, for example in a dialog. The function
            gets the names of the metrics and the lines to show, and returns the consent, or None if
            the user makes no choice. The user is then asked again at the next start.

    Raises:
        LanguageError: if neither the SDK nor the registry has sentences in the language.
        RegistryError, ValueError, TypeError: for the same reasons as `current`.
    """
    registry = registry_of(registry)
    require_language(language, registry.own_sentences)
    decision = current(registry, collector=collector, data_dir=data_dir, variable=variable)
    if not decision.undecided:
        return decision
    say = registry.sentences(language)  # not earlier, because reading the catalog takes 5 ms
    if prompt is None:
        if not _is_terminal(sys.stdin, sys.stderr):
            return decision
        prompt = partial(_on_terminal, registry, say, language)
    answer = prompt(decision.undecided, tuple(words(registry, decision, collector, say)))
    if answer is None:
        return decision
    about = decision.undecided if decision.rule is Rule.CHOICE else None
    try:
        choose(registry, consent=answer, collector=collector, data_dir=data_dir, about=about)
    except OSError as error:  # this error must not end the app
        warn("cannot store the user's choice, so the user will be asked again: %s", error.strerror)
    return current(registry, collector=collector, data_dir=data_dir, variable=variable)


def words(registry: Registry, decision: Decision, collector: str, say: Sentences) -> Iterator[str]:
    """Yield the lines that ask for consent: metrics, reasons, collector and privacy loss.

    If the user has agreed before, the first line explains why the user is asked again.
    """
    from client_sdk.protocol.statement import evidence  # noqa: PLC0415 takes 1 ms, and few runs ask the user

    again = {Rule.CHOICE: "again", Rule.CHANGED: "changed"}
    if decision.rule in again:
        yield say(f"consent.{again[decision.rule]}", app=registry.app, by=say.date(date.fromisoformat(decision.by)))
    else:
        yield say("consent.wants", app=registry.app)
    yield from (f"  {say.code('title', name)}: {say(f'{PURPOSE}{name}')}" for name in decision.undecided)
    yield say("consent.sent", host=_host(collector))
    yield say("statement.how")
    yield evidence((registry.metrics[name] for name in decision.undecided), say)
    yield say("consent.change")


def status(registry: Registry, decision: Decision, say: Sentences) -> Iterator[str]:
    """Yield lines about a decision: the rule behind it, and the withheld metrics."""
    consent, rule, by, withheld, _ = decision
    keys = {
        Rule.DO_NOT_TRACK: "suppressed",
        Rule.CI: "suppressed",
        Rule.VARIABLE: "variable_on" if consent else "variable_off",
        Rule.CHANGED: "paused",
        Rule.CHOICE: "on" if consent is True else "some" if consent else "off",
    }
    key = keys.get(rule, str(rule))
    purposes = ", ".join(sorted(consent)) if isinstance(consent, frozenset) else ""
    by = say.date(date.fromisoformat(by)) if rule in (Rule.CHOICE, Rule.CHANGED) else by
    yield say(f"consent.{key}", by=by, purposes=purposes)
    if consent and withheld:
        yield say(
            "consent.withheld",
            metrics=", ".join(say.code("title", name) for name in registry.metrics if name in withheld),
        )


def _on_terminal(
    registry: Registry, say: Sentences, language: str, _: tuple[str, ...], lines: tuple[str, ...]
) -> bool | None:
    """Ask on the terminal until the user types yes or no; return None at the end of the input."""
    text = "\n".join([*lines, f"{say('consent.more')}: {say('consent.reveals')}"])
    sys.stderr.write(f"{text}\n")
    words = {answer: say(f"consent.{answer}") for answer in ("yes", "no", "more")}
    while True:
        sys.stderr.write(f"{say('consent.may')} [{'/'.join(words.values())}] ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        match typed_answer(line, words):
            case "yes":
                return True
            case "no":
                return False
            case "more":
                from client_sdk.protocol.statement import statement  # noqa: PLC0415 3 ms

                sys.stderr.write(f"\n{statement(registry, language)}\n")
            case _ if not line:
                sys.stderr.write("\n")
                return None
            case _:
                sys.stderr.write(f"{say('consent.type')}\n")


def typed_answer(line: str, words: Mapping[str, str]) -> str | None:
    """Return the answer that a user typed, as a whole word or as a unique first letter.

    Return None for any other input. There is no default answer, so that agreeing is not easier than
    declining.

    >>> typed_answer("N", {"yes": "yes", "no": "no"})
    'no'
    """
    typed = line.strip().lower()
    chosen = [answer for answer, word in words.items() if typed in (word, word[0])]
    return chosen[0] if len(chosen) == 1 else None


def _is_terminal(answers: TextIO | None, metrics: TextIO | None) -> bool:
    """Whether a user can answer on a terminal; false for a program in the background."""
    try:
        if not all(stream is not None and stream.isatty() for stream in (answers, metrics)):
            return False
        return sys.platform == "win32" or os.tcgetpgrp(0) == os.getpgrp()
    except (OSError, ValueError):  # the stream is closed
        return False
