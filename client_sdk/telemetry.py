"""`Telemetry`, the object that an app creates to record answers and send reports."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self

from client_sdk import per_process
from client_sdk.answers.schedule import Schedule
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.consenting import Consenting
from client_sdk.gathering import Gathering
from client_sdk.host.clock import Clock
from client_sdk.host.files import app_folder
from client_sdk.ledger.file import FILE_NAME
from client_sdk.per_process import Processes, helper_of, watch_of
from client_sdk.protocol.channel import Coins
from client_sdk.protocol.errors import OutsideDomainError, UnknownMetricError
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry, registry_of
from client_sdk.recorder import Recorder
from client_sdk.results import WARN_AT, Consent, Decision, LedgerError, OnBudget, Recorded, warn
from client_sdk.sending.timing import HEAD_START_S
from client_sdk.sending.transport import HttpTransport, Transport

_SYSTEM_COINS = SystemCoins()


class Telemetry(Gathering, Consenting):
    """Perturbs answers on this device, records them and sends them.

    A `Telemetry` never crashes the app or blocks it for long. `record` returns within 100 ms, and
    `flush` within its timeout. Both methods return an outcome instead of raising an error. Unless
    the object is ``strict``, a wrong metric name or an invalid answer raises no error. Only methods
    that act for the user, such as `forget`, raise a `LedgerError` if they fail.

    Any thread may use the object. After a fork, both parent and child may use the object, and
    several processes may share a ``data_dir``.

    If the user has not agreed, nothing is recorded, stored or sent. In this case, a helper process
    that an earlier program started (see ``sender``) is ended, but the helper's last request may
    still arrive.

    Used in a ``with`` statement, the object is closed at the end of the block. When a `Telemetry`
    is garbage-collected, it closes without waiting for its threads to end.

    >>> url = "https://telemetry.example.com"
    >>> with Telemetry("metrics.toml", collector=url, data_dir=None, consent=True) as telemetry:
    ...     telemetry.record("dark_mode", True)
    <Recorded.QUEUED: 'queued'>
    """

    def __new__(cls, *_: object, trial: bool = False, **__: object) -> Self:
        """Create the object; in a trial, it is also an instance of `client_sdk.trial.Trial`."""
        if trial:
            from client_sdk.trial import Trial  # noqa: PLC0415 takes 40 ms, and only developers need it

            cls = type("TrialTelemetry", (Trial, cls), {})  # noqa: PLW0642 the class to instantiate
        return object.__new__(cls)

    def __init__(  # noqa: PLR0913 the settings of an app, passed by name
        self,
        registry: Registry | str | Path,
        *,
        collector: str,
        data_dir: str | Path | None,
        consent: Consent | AbstractSet[str] | Decision,
        clock: Callable[[], float] = time.time,
        coins: Coins = _SYSTEM_COINS,
        upload_key: str | None = None,
        allow_plain_http: bool = False,
        transport: Transport | None = None,
        on_budget: OnBudget | None = None,
        warn_at: Sequence[float] = WARN_AT,
        sender: Literal["thread", "process"] = "thread",
        strata: Mapping[str, str] | None = None,
        strict: bool = False,
        trial: bool = False,  # noqa: ARG002 of `__new__`
    ) -> None:
        """Store the settings, and send the reports of earlier runs in the background.

        Args:
            registry: the app's registry, or the path of its file.
            collector: the collector's URL.
            data_dir: a directory that only this app uses, on a local file system. The SDK creates
                the directory and stores the ledger's file in it. If None, everything stays in
                memory: the budget lasts as long as this object, and a child process has no ledger.
            consent: the user's consent. True covers every metric, and False covers none. A set of
                purposes, such as ``{"usage"}``, covers a metric if the set contains all purposes
                that the registry lists under ``consent`` for that metric. Only True covers a metric
                that has no purpose. Waiting reports that a set does not cover are dropped, even if
                ``consent`` is extended later. A decision returned by `client_sdk.consent.ask` or
                ``current`` can be passed instead. Only these two functions read the environment and
                the user's stored choice.
            clock: a function that returns the time in Unix seconds.
            coins: the source of randomness. Only tests pass other coins, and must then also pass a
                ``transport``.
            upload_key: the secret that the collector requires, the same on every device.
            allow_plain_http: whether ``collector`` may be an http URL of another machine. Allow
                this only within your own network, because anyone on the path can read and answer
                the uploads.
            transport: an object that sends uploads in place of the SDK's HTTP client.
                ``upload_key`` is then not used. The object's ``post(body)`` returns a
                `client_sdk.Reply`, or None if there was no response.
            on_budget: a function that is called soon after a fraction of the lifetime budget has
                been spent. The arguments are the fraction and a `BudgetStatus`. The function is
                called once per fraction and process, in the thread that sends uploads. Uploads wait
                until the function returns. Errors of the function are logged.
            warn_at: the fractions at which ``on_budget`` is called.
            sender: the sender of the reports that still wait when the program exits. If
                ``"thread"``, the next run of the program sends the reports at its start. If
                ``"process"``, which suits short commands, a helper process sends the reports by
                HTTP, and ends within minutes.
            strata: this device's public variables, such as ``{"platform": "ios"}``, which are sent
                unperturbed. A value that the registry does not list is reported as "others".
            strict: whether a mistake of the app, such as an answer outside its domain, raises an
                error. Set ``strict`` only in tests, because an error that users see would hint at
                the answer.
            trial: whether this is a trial, in which every metric is answered, reports are sent
                immediately, and each true answer is printed on stderr.

        Raises:
            RegistryError: if ``registry`` is a path, and the file is missing or contains mistakes.
            ValueError: if ``collector`` is not an http or https URL, or has a query, fragment, user
                name or blanks; if ``collector`` is an http URL of another machine, and
                ``allow_plain_http`` is false; if ``data_dir`` is an empty string, begins with ``~``
                or contains a NUL; if ``upload_key`` is not printable ASCII without blanks; if a
                fraction in ``warn_at`` is not above 0, or is above 1; if ``coins`` are passed
                without a ``transport``; if ``sender`` is neither "thread" nor "process", or is
                "process" although ``data_dir`` is None or a ``transport`` is passed; if ``strata``
                names an undefined variable; or if a ``trial`` uses a remote collector without
                HEARSAY_TRIAL=1.
            TypeError: if ``registry`` is neither a registry nor a path; if ``data_dir`` is neither
                None nor a path; if ``consent`` is neither a bool nor a set of strings; if
                ``warn_at`` is not a list of numbers; if ``upload_key`` is neither None nor a
                string; or if ``trial`` is a true value other than True.
        """
        folder = app_folder(data_dir)
        if transport is None and coins is not _SYSTEM_COINS:
            raise ValueError("coins are for tests and need a transport, because predictable coins hide nothing")
        registry = registry_of(registry).for_strata(strata) if strata else registry_of(registry)
        self._registry = registry
        self._path = None if folder is None else folder / FILE_NAME
        self._clock = Clock(clock)
        self._coins = coins
        self._transport = transport or HttpTransport(collector, upload_key, allow_plain_http=allow_plain_http)
        self._strict = strict
        self._closed = False
        self._schedule = Schedule(registry, coins)
        self._schedule.agreement.take(consent)
        where = None if transport else self._path
        helper = helper_of(
            sender, where, registry.app, self._schedule, collector, upload_key, allow_plain_http=allow_plain_http
        )
        self._processes = Processes(
            self._path,
            registry.app,
            self._transport,
            self._clock,
            self._schedule,
            watch=watch_of(registry, on_budget, warn_at),
            helper=helper,
        )
        self._recorder = Recorder(self._processes, self._schedule, self._clock)
        weakref.finalize(self, self._processes.end).atexit = False
        per_process.register_exit(self._processes)
        self._head_start_s = HEAD_START_S if helper else 0.0
        self._is_forgotten = False
        self._start(self._schedule.agreement.consent)

    __new__.__wrapped__ = __init__  # type: ignore[attr-defined] # the signature that is shown

    def record(self, metric: str, value: object) -> Recorded:
        """Perturb an answer and queue its report, unless the current window already has one.

        >>> telemetry.record("dark_mode", True)
        <Recorded.QUEUED: 'queued'>

        Args:
            metric: the metric's name.
            value: the true answer. The call discards the answer before returning. The answer never
                reaches a disk, a log or an error. For an answer outside the metric's domain, a
                random answer is reported and charged instead, because a missing report would reveal
                the mistake.

        Returns:
            Whether the answer was recorded and, if not, why. The method returns within 100 ms.

        Raises:
            UnknownMetricError: if ``strict`` is true, and the registry defines no such metric.
            OutsideDomainError: if ``strict`` is true, and the answer is outside the metric's
                domain.
        """
        started_s = time.monotonic()
        if self._strict and (mistake := self._mistake(metric, value)):
            del value  # the frames of the error must not refer to the answer
            raise mistake
        definition = self._ready(metric)
        if isinstance(definition, Recorded):
            return definition
        encode = partial(self._encode, definition, value)
        del value
        try:
            randomized = self._schedule.randomize(
                definition, encode, self._recorder.read_secret, self._clock.instant_or_zero
            )
        except LedgerError as error:
            return self._recorder.conclude(error.recorded)
        except Exception as error:  # noqa: BLE001 the error must not be shown, because its frames refer to the answer
            warn("an answer could not be randomized: %s", type(error).__name__)
            return self._recorder.conclude(Recorded.UNAVAILABLE)
        del encode  # so that no frame of a later error refers to the answer
        return self._recorder.record(definition, randomized, time.monotonic() - started_s)

    def _encode(self, definition: Metric, answer: object, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        """Return the channel's input for an answer; for an invalid answer, draw a random input."""
        return self._processes.current.mistakes.valid(
            definition, partial(definition.encode, answer, coins), partial(definition.draw, coins)
        )

    async def arecord(self, metric: str, value: object) -> Recorded:
        """Record an answer like `record`, but in a thread, so that the event loop does not wait.

        If no thread can be started, for example while the program ends, the event loop waits.

        >>> asyncio.run(telemetry.arecord("dark_mode", True))
        <Recorded.QUEUED: 'queued'>
        """
        import asyncio  # noqa: PLC0415 a caller that awaits has already imported it; others save 50 ms

        try:
            future = asyncio.get_running_loop().run_in_executor(None, self._recorded_or_mistake, metric, value)
        except RuntimeError:
            return self.record(metric, value)
        del value  # so that no frame of an error raised in the thread refers to the answer
        recorded = await future
        if isinstance(recorded, Recorded):
            return recorded
        raise recorded

    def _recorded_or_mistake(self, metric: str, value: object) -> Recorded | UnknownMetricError | OutsideDomainError:
        """Call `record`, but return errors. A raised error would keep the answer in memory."""
        try:
            return self.record(metric, value)
        except (UnknownMetricError, OutsideDomainError) as error:
            return error.with_traceback(None)

    def _ready(self, metric: object, call: str = "record") -> Metric | Recorded:
        """Return the metric that a call names, or the reason why nothing can be recorded."""
        if self._closed or self._processes.is_finished:
            return Recorded.CLOSED
        consent = self._schedule.agreement.consent
        if not consent:
            return Recorded.NO_CONSENT if consent is False else Recorded.SUPPRESSED
        definition = self._named(metric, call)
        if not isinstance(definition, Metric):
            return self._processes.current.mistakes.unknown(definition)
        return definition if self._schedule.agreement.takes(definition.name) else Recorded.NO_CONSENT

    def _named(self, metric: object, call: str) -> Metric | UnknownMetricError | OutsideDomainError:
        """Return the metric, or an error that omits the name, because the name may be an answer."""
        definition: Metric | None = None
        with contextlib.suppress(Exception):  # an app may pass any object, even one whose hash raises an error
            definition = self._registry.metrics.get(metric)  # type: ignore[call-overload] # as above
        if definition is None:
            return UnknownMetricError(None, tuple(self._registry.metrics))
        right = definition.kind.call
        if call in ("record", right):
            return definition
        if right != "record":
            return OutsideDomainError(definition.name, f"{right}()")
        return OutsideDomainError(definition.name, f"record(), because a {definition.kind.name} cannot be counted")

    def _mistake(
        self, metric: object, answer: object, call: str = "record"
    ) -> UnknownMetricError | OutsideDomainError | None:
        """Return an error for a developer's mistake in a call; None if there is no mistake."""
        definition = self._named(metric, call)
        if not isinstance(definition, Metric):
            return definition
        try:
            definition.encode(answer, _SYSTEM_COINS)
        except OutsideDomainError as error:  # return a new error, because the frames of this one refer to the answer
            return OutsideDomainError(error.metric, error.expected)
        return None
