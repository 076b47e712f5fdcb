"""Helpers for tests of apps that embed the SDK: a clock, a transport, recorded answers and coins.

```python
from client_sdk.testing import Answer, FakeClock, answers

def test_the_theme_is_recorded(tmp_path):
    with answers() as recorded:
        main(["--theme", "dark"], data_dir=tmp_path)  # makes its own Telemetry
    assert recorded == [Answer("theme", "dark")]
```

No other module of the SDK imports this module. Within `answers`, no report reaches a collector, and
a `Telemetry` that could reach a collector is rejected.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from inspect import signature
from os import PathLike
from pathlib import Path
from unittest import mock

from client_sdk import consent as decisions
from client_sdk.answers.consent import consent_of
from client_sdk.answers.prf_coins import PrfCoins
from client_sdk.protocol.wire.reading import read_upload
from client_sdk.protocol.wire.report import Report
from client_sdk.protocol.wire.verdict import Verdict
from client_sdk.results import Decision, Recorded, Rule
from client_sdk.sending.responses import OK, Reply
from client_sdk.telemetry import Telemetry

__all__ = ["Answer", "Answers", "FakeClock", "KeptUploads", "SeededCoins", "answers", "call_due"]

SUMMER = datetime(2026, 7, 1, 12, tzinfo=UTC)
"""A Wednesday at noon, so that neither the day, the week nor the month ends soon."""


class FakeClock:
    """A clock that moves only when a test advances it: ``Telemetry(…, clock=FakeClock())``.

    Windows and dates depend on this clock. The timeout of `Telemetry.flush` does not depend on this
    clock.

    Attributes:
        now: the current instant.
    """

    def __init__(self, now: datetime = SUMMER) -> None:
        """Start at ``now``, which must have a time zone.

        Raises:
            ValueError: if ``now`` has no time zone. The instant would then depend on the machine.
        """
        if now.tzinfo is None:
            raise ValueError("now must have a time zone, such as datetime(2026, 7, 1, 12, tzinfo=UTC)")
        self.now = now

    def __call__(self) -> float:
        """Return the current instant in Unix seconds."""
        return self.now.timestamp()

    def advance(self, by: timedelta) -> None:
        """Let time pass."""
        self.now += by


class KeptUploads:
    """A transport that stores uploads and sends nothing: ``Telemetry(…, transport=KeptUploads())``.

    Attributes:
        bodies: the bytes of every upload, in the order of sending.
        is_online: whether uploads are acknowledged. The response then says that every report was
            counted.
    """

    def __init__(self) -> None:
        """Start with ``is_online`` true, and without uploads."""
        self.bodies: list[bytes] = []
        self.is_online = True

    @property
    def reports(self) -> list[Report]:
        """Every report in the uploads.

        The reports are perturbed, as a collector would receive them.
        """
        return [report for body in self.bodies for report in read_upload(body).reports]

    def post(self, body: bytes) -> Reply | None:
        """Store an upload and return an accepting response; if offline, return None."""
        if not self.is_online:
            return None
        self.bodies.append(body)
        return Reply(OK, None, Verdict(len(read_upload(body).reports)).encode())


class SeededCoins(PrfCoins):
    """Coins that are the same in every run of a test: ``Telemetry(…, coins=SeededCoins(1))``.

    A `Telemetry` without a ``transport`` refuses these coins. Permanent answers, and the metrics
    and windows that ``sample`` and ``pace`` select, do not depend on these coins, but on the
    ledger's secret, which is always random.
    """

    __slots__ = ()

    def __init__(self, seed: int) -> None:
        """Set the seed, which may be any integer."""
        super().__init__(hashlib.sha256(str(seed).encode()).digest(), "testing")


_TAKEN = frozenset(
    {
        Recorded.QUEUED,
        Recorded.COUNTED,
        Recorded.ALREADY_RECORDED,
        Recorded.OUT_OF_BUDGET,
        Recorded.NOT_ASKED,
        Recorded.WAITING,
        Recorded.BUSY,
    }
)
"""The outcomes of accepted answers. Chance, the calendar and the machine decide which of these
outcomes occurs."""


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One call of `Telemetry.record`, `Telemetry.count` or `Telemetry.active`, before perturbation.

    Two answers with the same metric and value are equal if both were accepted, even if their
    outcomes differ. Chance and the calendar decide whether an accepted answer is ``queued`` or
    ``not_asked``. The outcome ``no_consent``, however, follows from the user's decision. Therefore
    an answer with this outcome differs from an accepted answer.

    >>> Answer("theme", "dark") == Answer("theme", "dark", Recorded.NOT_ASKED)
    True
    >>> Answer("theme", "dark") == Answer("theme", "dark", Recorded.NO_CONSENT)
    False

    Attributes:
        metric: the metric's name.
        value: the true answer, or the number added to a count; True for a day of use.
        outcome: the result of the call. The results ``no_consent``, ``suppressed``, ``closed``,
            ``stopped``, ``expired`` and ``unavailable`` mean that the answer was not accepted.

    """

    metric: str
    value: object
    outcome: Recorded = Recorded.QUEUED

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answer) and self._compared == other._compared

    __hash__ = None  # type: ignore[assignment] # an answer may have no hash

    @property
    def _compared(self) -> tuple[str, object, Recorded | None]:
        return self.metric, self.value, None if self.outcome in _TAKEN else self.outcome


class Answers(list[Answer]):
    """The answers that were recorded within `answers`, in order.

    Attributes:
        uploads: the uploads, which are kept in memory and never sent.
    """

    def __init__(self) -> None:
        """Start without answers."""
        super().__init__()
        self.uploads = KeptUploads()


@contextlib.contextmanager
def answers(*, consent: bool | AbstractSet[str] | None = None) -> Iterator[Answers]:
    """Collect the true answers that this process records within the context.

    A `Telemetry` that is created within the context is ``strict``, so that an answer outside its
    domain raises an error and is not collected. Without a transport, the `Telemetry` keeps its
    ledger and its uploads in memory. `Telemetry.provide` calls its function immediately, in the
    caller's thread; the return value is collected, and exceptions are raised.

    Args:
        consent: the user's decision, which `client_sdk.consent` returns within the context. None
            means that the environment and the stored choice decide.

    Raises:
        RuntimeError: if `record`, `count` or `active` is called within the context, and the
            `Telemetry` could reach a collector. Apps can therefore not collect true answers in
            production.
    """
    recorded = Answers()
    decide = decisions.decide
    if consent is not None:
        decide = mock.Mock(return_value=Decision(consent_of(consent), Rule.VARIABLE, "answers()"))
    with (
        mock.patch.object(decisions, "decide", decide),
        mock.patch.object(Telemetry, "__init__", _keeping(Telemetry.__init__, recorded)),
        mock.patch.object(Telemetry, "record", _collecting(Telemetry.record, recorded)),
        mock.patch.object(Telemetry, "count", _collecting(Telemetry.count, recorded)),
        mock.patch.object(Telemetry, "active", _collecting(Telemetry.active, recorded)),
        mock.patch.object(Telemetry, "provide", _call_at_once),
    ):
        yield recorded


def call_due(telemetry: Telemetry) -> None:
    """Call the functions that the app passed to `Telemetry.provide` and that are due now.

    The device's clock determines which functions are due. When `call_due` returns, the answers are
    in the ledger. The reports are sent within a minute on the device's clock.
    """
    provider = telemetry._processes.current.provider  # noqa: SLF001 the SDK itself offers no such handle
    if provider is not None:
        provider.hurry()


def _call_at_once(telemetry: Telemetry, metric: str, function: Callable[[], object]) -> None:
    """Call the function immediately. This function replaces `Telemetry.provide` in tests."""
    telemetry.record(metric, function())


def _keeping(original: Callable[..., None], recorded: Answers) -> Callable[..., None]:
    """Return a constructor of `Telemetry`. If no transport is passed, all data stays in memory."""

    @wraps(original)
    def keeping(*arguments: object, **options: object) -> None:
        call = signature(original).bind(*arguments, **options)
        call.apply_defaults()
        given = call.arguments
        given["strict"] = True
        if given["transport"] is None:
            # this call only raises the errors that the app's mistakes would raise outside a test
            folder = given["data_dir"]
            is_path = isinstance(folder, str | PathLike) and folder != ""
            elsewhere = Path(folder) / "none" if is_path else folder
            original(*call.args, **call.kwargs | {"consent": False, "data_dir": elsewhere})
            # a test must not spend the developer's own budget, nor leave reports in a file, where
            # they would be sent later; a helper process would not use the test's transport
            given.update(transport=recorded.uploads, data_dir=None, sender="thread")
        original(*call.args, **call.kwargs)

    return keeping


def _collecting(original: Callable[..., Recorded], recorded: Answers) -> Callable[..., Recorded]:
    """Return a method of `Telemetry` that also collects the answer."""

    @wraps(original)
    def collecting(*arguments: object, **options: object) -> Recorded:
        call = signature(original).bind(*arguments, **options)
        call.apply_defaults()
        device, metric, *given = call.arguments.values()
        value = given[0] if given else True
        if not isinstance(device._transport, KeptUploads):  # noqa: SLF001 the SDK itself offers no such handle
            raise RuntimeError(  # noqa: TRY004 the type is not the mistake
                "answers() collects true answers, and rejects a Telemetry that could reach a collector: create it "
                "within answers(), or pass transport=KeptUploads()"
            )
        device._strict = True  # noqa: SLF001 applies even to an object that was created before
        outcome = original(device, metric, *given)
        recorded.append(Answer(metric, value, outcome))
        return outcome

    return collecting
