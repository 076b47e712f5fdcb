"""The Python SDK as a program for `hearsay-conformance`.

``python -m tests.support.conformance.python_sdk`` draws, charges and sends as in an app, except
that nothing leaves by itself between two lines. A word on the command line plants a fault.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Final

from client_sdk import Recorded, Reply, Telemetry
from client_sdk.answers.mistakes import Mistakes
from client_sdk.ledger.queue import SPREAD_S
from client_sdk.protocol import Coins, Registry, Window, WindowError, WindowKind
from client_sdk.protocol.kinds import KINDS
from client_sdk.protocol.registry.registry import in_trial
from client_sdk.protocol.wire.failure import Failure
from client_sdk.sending.timing import APART_S, RETRY_AFTER_CEILING_S
from client_sdk.sending.transport import HttpTransport
from client_sdk.sending.uploader import Uploader
from tests.support.conformance import faults
from tests.support.laws.channels import CLASSES, channel_of
from tests.support.laws.coins import ScriptedCoins

FEATURES: Final = ("one-of", "pair-geometry", "cross", "mean-by-group", "fill_in", "purposes")

WINDOW: Final = "2026-11-20"
"""The window of a vector's rotations in the vectors."""

FLUSH_S: Final = 20.0

registry_of = lru_cache(maxsize=None)(Registry.parse)

Line = Mapping[str, Any]
Answer = dict[str, Any]


def unhurried(low: float, high: float) -> float:
    """Return the jitter of a device that sends nothing by itself while a history is played."""
    jitter = {SPREAD_S: high, APART_S: low}
    return jitter.get(high, max(high, RETRY_AFTER_CEILING_S))


class Gate:
    """Passes on the uploads of a device during a flush only, and none after it has ended."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.has_ended = False

    def end(self) -> None:
        self.has_ended = True
        self.is_open.set()


class Device:
    """The device of the latest ``begin``, with a clock that the lines set."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.telemetry: Telemetry | None = None
        self.gate = Gate()

    def begin(self, line: Line) -> None:
        self.gate.end()
        if self.telemetry is not None:
            self.telemetry.close()
        self.gate = Gate()
        self.now_s = line["at"]
        self.telemetry = Telemetry(
            registry_of(line["definition"]),
            collector=line["collector"],
            data_dir=line["data"],
            consent=consented(line["consent"]),
            clock=lambda: self.now_s,
        )
        self.wait()

    @property
    def current(self) -> Telemetry:
        assert self.telemetry is not None, "begin comes first"
        return self.telemetry

    def wait(self) -> None:
        """Wait for the thread of the ledger: `record` would not."""
        self.current.history()

    def record(self, metric: str, answer: object) -> str:
        recorded, has_waited = self.current.record(metric, answer), False
        while recorded in (Recorded.WAITING, Recorded.BUSY):
            has_waited = has_waited or recorded is Recorded.WAITING
            self.wait()
            recorded = self.current.record(metric, answer)
        return Recorded.QUEUED if has_waited and recorded is Recorded.ALREADY_RECORDED else recorded


def consented(consent: Any) -> Any:
    return frozenset(consent) if isinstance(consent, list) else consent


def given(answer: Any) -> Any:
    """Return the answer in a line: JSON, or a number that JSON cannot express."""
    if isinstance(answer, list):
        return [given(part) for part in answer]
    return float(answer["number"]) if isinstance(answer, dict) and "number" in answer else answer


def tossed(coins: list[Any], perturb: Callable[[Coins], int]) -> Answer:
    with ScriptedCoins([int(coin) if isinstance(coin, str) else coin for coin in coins]) as scripted:
        symbol = perturb(scripted)
    return {"symbol": symbol, "asked": [[primitive, str(parameter)] for primitive, parameter in scripted.requests]}


def perturb(_: Device, line: Line) -> Answer:
    return tossed(line["coins"], partial(channel_of(line).perturb, line["input"]))


def answer(_: Device, line: Line) -> Answer:
    metric, mistakes = registry_of(line["definition"]).metric(line["metric"]), Mistakes()

    def reported(coins: Coins) -> int:
        value = mistakes.valid(
            metric, partial(metric.encode, given(line["answer"]), coins), partial(metric.draw, coins)
        )
        return metric.channel.in_window(WINDOW).perturb(value, coins)

    return tossed(line["coins"], reported) | {"invalid": bool(mistakes.counts)}


def edition(_: Device, line: Line) -> Answer:
    registry = registry_of(line["definition"])
    metric = (in_trial(registry) if line["trial"] else registry).metric(line["metric"])
    canonical = json.dumps(faults.meaning(metric), sort_keys=True, separators=(",", ":"))
    return {"edition": metric.edition, "meaning": canonical}


def window(_: Device, line: Line) -> Answer:
    if "at" in line:
        return {kind.value: Window.at(kind, line["at"]).text for kind in WindowKind}
    try:
        parsed = Window.parse(line["text"])
    except WindowError:
        return {"invalid": True}
    return {"kind": parsed.kind.value, "starts_at": parsed.starts_at, "ends_at": parsed.ends_at}


def begin(device: Device, line: Line) -> Answer:
    device.begin(line)
    return {}


def consent(device: Device, line: Line) -> Answer:
    device.now_s = line["at"]
    device.current.consent = consented(line["consent"])
    return {}


def record(device: Device, line: Line) -> Answer:
    device.now_s = line["at"]
    return {"recorded": device.record(line["metric"], given(line["answer"]))}


def flush(device: Device, line: Line) -> Answer:
    device.now_s = line["at"]
    device.gate.is_open.set()
    try:
        return {"flushed": device.current.flush(FLUSH_S).outcome}
    finally:
        device.gate.is_open.clear()


def forget(device: Device, line: Line) -> Answer:
    device.now_s = line["at"]
    device.current.forget()
    return {}


def hello(*_: object) -> Answer:
    return {"implementation": "the Hearsay SDK for Python", "supports": sorted({*CLASSES, *KINDS, *FEATURES})}


DO: Final = {
    each.__name__: each for each in (hello, perturb, answer, edition, window, begin, consent, record, flush, forget)
}


def main() -> None:
    device, post = Device(), HttpTransport.post

    def gated(transport: HttpTransport, body: bytes) -> Reply | Failure | None:
        gate = device.gate
        gate.is_open.wait()
        return None if gate.has_ended else post(transport, body)

    HttpTransport.post = gated  # type: ignore[method-assign, assignment]
    defaults = Uploader.__init__.__kwdefaults__
    assert defaults is not None
    defaults["uniform"] = unhurried
    for name in sys.argv[1:]:
        faults.plant(name)
    for text in sys.stdin:
        line = json.loads(text)
        do = DO.get(line["do"])
        try:
            said = {"unsupported": line["do"]} if do is None else do(device, line)
        except Exception as error:  # noqa: BLE001 the runner reports it
            said = {"error": f"{type(error).__name__}: {error}"}
        sys.stdout.write(f"{json.dumps(said)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
