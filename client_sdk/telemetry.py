"""The main object of the SDK, which an application creates and uses."""

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

    It never slows, crashes or blocks its host: `record` returns within 100 ms, `flush` when its
    time is over, and both report the outcome by their result. Once made, it raises for no answer
    and no name, unless it is ``strict``; only actions for the user, such as `forget`, raise a
    `LedgerError` if they fail. Any thread may use it; so may parent and child after a fork, and
    several processes on one ``data_dir``. Nothing is recorded, stored or sent without consent. A
    start without it also ends the helper of an earlier program, except for a request in progress.

    As a context manager it closes itself. Dropping it also closes it, without waiting.

    >>> url = "https://telemetry.example.com"
    >>> with Telemetry("metrics.toml", collector=url, data_dir=None, consent=True) as telemetry:
    ...     telemetry.record("dark_mode", True)
    <Recorded.QUEUED: 'queued'>
    """

    def __new__(cls, *_: object, trial: bool = False, **__: object) -> Self:
        """Return an object that is also a `client_sdk.trial.Trial`, if this is a trial."""
        if trial:
            from client_sdk.trial import Trial  # noqa: PLC0415 40 ms, for developers alone

            cls = type("TrialTelemetry", (Trial, cls), {})  # noqa: PLW0642 the class to make one of
        return object.__new__(cls)

    def __init__(  # noqa: PLR0913 what varies between hosts, named by the caller
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
        """Start; reports left over from an earlier run are sent in the background.

        Args:
            registry: the app's questions and ceilings, or the path of their file.
            collector: the collector's URL.
            data_dir: a directory that only this app uses, on a local file system. It contains the
                ledger's file and is made if it is missing. None keeps everything in memory: the
                budget then lasts as long as this object, and a child process has no ledger.
            consent: the user's consent: True for everything, False for nothing, or a set of
                purposes, such as ``{"usage"}``, for the questions whose ``consent`` in the registry
                is among them. A question without a purpose needs True. Waiting reports of a purpose
                that is not in the set are dropped, whatever ``consent`` is set to later. Or the
                decision of `client_sdk.consent.ask` or ``current``; only these read the environment
                and the user's stored choice.
            clock: returns Unix seconds.
            coins: the source of randomness; another one is for tests, which give a ``transport``.
            upload_key: the secret that the collector requires, the same on every device.
            allow_plain_http: whether ``collector`` may be an http URL of another machine: only in
                your own network, because anybody on the way can then read and answer the uploads.
            transport: how uploads are sent; HTTP by default. Only the default sends ``upload_key``.
                Its ``post(body)`` returns a `client_sdk.Reply`, or None without a reply.
            on_budget: called with a fraction and a `BudgetStatus` when that fraction of the
                lifetime budget is spent: once per fraction and process, in the thread that uploads,
                soon after the report that spent it. Uploads wait for it; its errors are logged.
            warn_at: those fractions.
            sender: who sends waiting reports when the program exits. ``"thread"``: nobody; the next
                program does when it starts. ``"process"``: a detached helper process, which ends
                within minutes and works by HTTP only, for commands that run for a second.
            strata: this device's public variables, such as ``{"platform": "ios"}``. They are sent
                in the clear; a value that the registry does not list counts as others.
            strict: whether a call raises for a mistake of the app, such as an answer outside its
                domain. This is for tests: to users, the error would be a hint at the answer.
            trial: whether to ask and send at once, and show answers on standard error.

        Raises:
            RegistryError: if ``registry`` is the path of a file with mistakes, or of no file.
            ValueError: if ``collector`` is not an http or https URL, or has a query, fragment, user
                name or blanks; if it is an http URL of another machine without
                ``allow_plain_http``; if ``data_dir`` is an empty text, begins with ``~`` or
                contains a NUL; if ``upload_key`` is not printable ASCII without blanks; if a
                fraction is not above 0, or is above 1; if ``coins`` are given without a
                ``transport``; if ``sender`` is neither of the two, or is a process without a
                ``data_dir`` or with a ``transport``; if ``strata`` names an undefined variable; or
                if a ``trial`` has a collector on another machine, without HEARSAY_TRIAL=1.
            TypeError: if ``registry`` is neither a registry nor a path; if ``data_dir`` is neither
                None nor a path; if ``consent`` is neither a bool nor a set of texts; if ``warn_at``
                is not a list of numbers; or if ``upload_key`` is neither None nor a text.

        """
        folder = app_folder(data_dir)
        if transport is None and coins is not _SYSTEM_COINS:
            raise ValueError("coins are for tests, which also pass a transport: predictable coins would hide no answer")
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
        """Perturb an answer and queue its report: one report per metric and window.

        >>> telemetry.record("dark_mode", True)
        <Recorded.QUEUED: 'queued'>

        Args:
            metric: the metric's name.
            value: the true answer. It does not outlive this call: it reaches no disk, log or error.
                An answer outside the metric's domain is replaced by a random one, which is reported
                and charged like any other: neither the result nor a missing report reveals it.

        Returns:
            The outcome of the answer, within 100 ms.

        Raises:
            UnknownMetricError: if this is strict, and the registry defines no such metric.
            OutsideDomainError: if this is strict, and the answer is outside the metric's domain.

        """
        started_s = time.monotonic()
        if self._strict and (mistake := self._mistake(metric, value)):
            del value  # the frames of an error must not refer to it
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
        except Exception as error:  # noqa: BLE001 its frames refer to the answer and must not be shown
            warn("an answer could not be randomized: %s", type(error).__name__)
            return self._recorder.conclude(Recorded.UNAVAILABLE)
        del encode  # no frame of any later error refers to the answer
        return self._recorder.record(definition, randomized, time.monotonic() - started_s)

    def _encode(self, definition: Metric, answer: object, coins: Coins) -> Any:  # noqa: ANN401 a symbol, or a vector
        """Return the channel's input for an answer; for an invalid one, draw it by coins."""
        return self._processes.current.mistakes.valid(
            definition, partial(definition.encode, answer, coins), partial(definition.draw, coins)
        )

    async def arecord(self, metric: str, value: object) -> Recorded:
        """Do the same as `record`, in a thread, so that an event loop does not wait for the disk.

        If there is no thread, for example while the program ends, it does wait for the disk.

        >>> asyncio.run(telemetry.arecord("dark_mode", True))
        <Recorded.QUEUED: 'queued'>
        """
        import asyncio  # noqa: PLC0415 a caller that awaits this has imported it; others save 50 ms

        try:
            future = asyncio.get_running_loop().run_in_executor(None, self._recorded_or_mistake, metric, value)
        except RuntimeError:
            return self.record(metric, value)
        del value  # no frame of an error from there refers to it
        recorded = await future
        if isinstance(recorded, Recorded):
            return recorded
        raise recorded

    def _recorded_or_mistake(self, metric: str, value: object) -> Recorded | UnknownMetricError | OutsideDomainError:
        """Do as `record`, but return its error: executor frames on it would keep the value."""
        try:
            return self.record(metric, value)
        except (UnknownMetricError, OutsideDomainError) as error:
            return error.with_traceback(None)

    def _ready(self, metric: object, call: str = "record") -> Metric | Recorded:
        """Return the metric that a call is for; or the reason why nothing can be recorded."""
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
        """Return the metric with a name, or the mistake, without the name: it may be an answer."""
        definition: Metric | None = None
        with contextlib.suppress(Exception):  # anything but a name may have no hash, or a hash that raises
            definition = self._registry.metrics.get(metric)  # type: ignore[call-overload] # as above
        if definition is None:
            return UnknownMetricError(None, tuple(self._registry.metrics))
        right = definition.kind.call
        if call in ("record", right):
            return definition
        if right != "record":
            return OutsideDomainError(definition.name, f"{right}()")
        return OutsideDomainError(
            definition.name, f"an answer by record(), because a {definition.kind.name} cannot be counted"
        )

    def _mistake(
        self, metric: object, answer: object, call: str = "record"
    ) -> UnknownMetricError | OutsideDomainError | None:
        """Return the mistake of a call, for a developer; None if there is none."""
        definition = self._named(metric, call)
        if not isinstance(definition, Metric):
            return definition
        try:
            definition.encode(answer, _SYSTEM_COINS)
        except OutsideDomainError as error:  # a new one: frames of the old one refer to the answer
            return OutsideDomainError(error.metric, error.expected)
        return None
