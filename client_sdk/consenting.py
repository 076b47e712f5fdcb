"""The user's consent at the start of the program, and the effects of changing it.

`client_sdk.telemetry` and `client_sdk.recorder` check this consent before they accept an answer.
This module handles neither answers nor reports.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk.answers.consent import consent_of
from client_sdk.disclosure import Disclosure
from client_sdk.ledger import erase
from client_sdk.ledger import file as ledger_file
from client_sdk.ledger.thread import AGAIN_S, BARE, READ, WRITE
from client_sdk.recorder import Recorder
from client_sdk.results import SUPPRESSED, Consent, Decision, LedgerBusyError, LedgerError

if TYPE_CHECKING:
    import sqlite3

FORGET_DEADLINE_S = 30.0
"""How long, in seconds, wiping the ledger may take. Wiping rewrites the file."""


READY_DEADLINE_S = 1.0
"""How long, in seconds, the constructor of `Telemetry` waits for the secret, if a metric needs the
secret. The first answer then need not wait. Opening a ledger takes 30 ms on an idle machine."""


class Consenting(Disclosure):
    """The part of a `client_sdk.Telemetry` that manages the user's consent."""

    _recorder: Recorder
    _head_start_s: float
    _is_forgotten: bool

    @property
    def consent(self) -> Consent:
        """The user's consent: True, False, or a set of purposes; always false after `forget`.

        Set `consent` when the user changes their mind. A `client_sdk.consent.Decision` is accepted,
        too.

        * Setting False or an empty set has the effect of `forget`.
        * A new set of purposes drops the waiting reports and counts of all metrics that the set
          does not cover. Answers to newly covered metrics are usually recorded immediately. But if
          the strategy is ``sample`` or ``pace``, or if the metric has ``fill_in``, answers are
          recorded from the next window on.
        * In a suppressed run, the value is ``SUPPRESSED``, which is false.

        >>> telemetry.consent
        True

        Raises:
            LedgerError: if setting `consent` fails, for the same reasons as in `forget`. The new
                consent applies despite the error.
            TypeError: if `consent` is set to a value that is neither a bool nor a set of strings.
            ValueError: if consent is given again after `forget`, or if a run that has already begun
                is to be suppressed. Create a new `Telemetry` instead.
        """
        return self._schedule.agreement.consent

    @consent.setter
    def consent(self, consent: Consent | AbstractSet[str] | Decision) -> None:
        """The user's consent: True, False, or a set of purposes; always false after `forget`."""
        agreed, before = consent_of(consent), self.consent
        if agreed is False:
            self.forget()
            return
        if self._is_forgotten or agreed is SUPPRESSED:
            why = "a running Telemetry cannot be suppressed" if agreed is SUPPRESSED else "the user has opted out"
            raise ValueError(f"{why}; create a new Telemetry")
        self._schedule.agreement.take(consent)
        ledger_thread = self._processes.current.ledger_thread
        if not before and self._path is not None:  # without consent, no secret was created
            ledger_thread.reopen()
        ledger_thread.do_first(partial(self._schedule.agree, consent=agreed))
        if self._withdraws(agreed) and (self._path is None or ledger_file.exists(self._path)):
            self._insist(_nothing)
            if self._path is not None:
                self._insist(erase.scrub, begin=BARE)
        if not before:
            self._begin()
        if (provider := self._processes.current.provider) is not None:
            provider.look()

    def forget(self) -> None:
        """Opt out: wipe queue, history, counts and secret, but not the record of spent budget.

        For past windows, the ledger's file then contains only their total cost. The file no longer
        says which metrics were reported, or on which days. Afterwards, `consent` is False, even if
        this method raises an error.

        >>> telemetry.forget()
        >>> telemetry.consent
        False

        Raises:
            LedgerError: if not everything could be wiped. The message says what to do. If another
                process used the ledger for half a minute, call this method again.
        """
        self._schedule.agreement.consent = False
        self._is_forgotten = True
        self._schedule.forget()
        process = self._processes.current
        process.uploader.stop()
        process.losses.clear()
        process.mistakes.clear()
        if self._path is None:
            self._insist(erase.wipe)
            return
        process.ledger_thread.reopen(FORGET_DEADLINE_S)  # the thread may be about to create the file
        if ledger_file.exists(self._path):
            self._insist(erase.wipe)
            self._insist(erase.scrub, begin=BARE)
        erase.remove_leftovers(self._path)

    def _start(self, agreed: Consent) -> None:
        if agreed is SUPPRESSED:
            if self._path is not None:
                from client_sdk.sending import helper  # noqa: PLC0415 3 ms

                helper.end(self._path)
            return
        if self._path is not None:
            with contextlib.suppress(LedgerError):  # `problem` reports it
                self._agree_at_start(self._path, agreed)
        if agreed:
            self._begin()

    def _agree_at_start(self, path: Path, agreed: Consent) -> None:
        """Store whether the user agrees, and delete the data that the consent does not cover.

        The data has been deleted when this method returns, unless the disk is slow or the ledger is
        busy. In these cases, the data is deleted later, but before anything else is written.
        """
        is_there, ledger_thread = ledger_file.exists(path), self._processes.current.ledger_thread
        if agreed or is_there:
            ledger_thread.do_first(partial(self._schedule.agree, consent=agreed))
        if self._withdraws(agreed) and is_there:
            ledger_thread.run_or_leave(_nothing, READY_DEADLINE_S, _nothing)
            ledger_thread.prepare(erase.empty_log, begin=BARE)

    def _withdraws(self, agreed: Consent) -> bool:
        """Whether a consent may require the deletion of data in the ledger."""
        return agreed is not True or bool(self._schedule.agreement.declined)

    def _begin(self) -> None:
        """Do the due work and send waiting reports, after the user has agreed."""
        if self._path is not None or self._schedule.dues.looks_ahead:
            with contextlib.suppress(LedgerError):  # `problem` reports it
                self._prepare()
        if self._path is not None:
            self._processes.current.uploader.start(self._head_start_s)
        elif self._schedule.dues.looks_ahead:
            self._processes.current.uploader.expect()

    def _prepare(self) -> None:
        """Open the ledger early and do the due work, so that short programs can report."""
        ledger_thread = self._processes.current.ledger_thread
        ledger_thread.prepare(begin=WRITE)
        if self._schedule.dues.looks_ahead:
            ledger_thread.prepare(partial(self._recorder.catch_up, clock_s=self._clock.instant()), begin=WRITE)
        if any(metric.channel.permanent_nanos for metric in self._registry.metrics.values()):
            ledger_thread.run(self._schedule.learn_secret, READY_DEADLINE_S, begin=READ)
        else:
            ledger_thread.prepare(self._schedule.learn_secret)

    def _insist(self, work: Callable[[sqlite3.Connection], None], **options: str) -> None:
        """Do work on the ledger; retry while another process uses the ledger."""
        until_s = time.monotonic() + FORGET_DEADLINE_S
        while True:
            try:
                return self._run(work, until_s - time.monotonic(), **options)
            except LedgerBusyError:
                if time.monotonic() + AGAIN_S >= until_s:
                    raise
            time.sleep(AGAIN_S)


def _nothing(_: object) -> None:
    """Do nothing.

    The ledger thread does the work of `LedgerThread.do_first` before any job, even before this
    empty one.
    """
