"""Cases that replay a device's history: recorded answers, uploads, and the collector's responses.

A *history* is a list of steps, such as recording an answer or sending the reports. Most histories
come from a file. Others are generated from *verdicts*, the bodies of a collector's responses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from estimator.conformance.collector import ReceivedRequest, Scripted, ScriptedCollector
from estimator.conformance.outcome import Breach, Case, CaseClass
from estimator.conformance.program import NotSupportedError, Program, RefusedLineError
from estimator.conformance.uploads import Arrived, DeviceTraffic

Step = dict[str, Any]
"""One step of a history. ``docs/protocol/vectors.md`` lists the members."""

NINE: Final = "nine"
"""The name of a registry with nine daily metrics, for generated histories."""

START, SOON, LATER, LAST = "2026-11-18 12:00", "2026-11-18 14:00", "2026-11-19 16:00", "2026-11-20 16:00"
"""The instants of generated histories, in UTC.

* `START`: the device records and sends reports.
* `SOON`: after a malformed verdict, the device sends the upload again.
* `LATER`: the device sends refused reports again.
* `LAST`: the device has nothing left to send.
"""

MOST_REPORTS: Final = 9


def histories_of(document: Mapping[str, Any], verdicts: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the histories in a document, then a history for each verdict in the test vectors.

    After a valid verdict, the device sends the refused reports again. Valid verdicts on more than
    `MOST_REPORTS` reports are left out.
    """
    yield from document["histories"]
    for vector in verdicts["malformed"]:
        steps = [*_answered(vector), {"flush": SOON, "sent": [], "again": [0]}]
        yield {"class": "exchanges", "rule": "A-2", "name": f"no verdict: {vector['name']}", "steps": steps}
    for vector in verdicts["valid"]:
        if vector["reports"] <= MOST_REPORTS:
            offered = {"begin": NINE, "consent": True, "at": LATER}, {"flush": LATER, "times": 4, "alone": "refused"}
            steps = [*_answered(vector), *offered, {"flush": LAST, "sent": []}]
            yield {"class": "exchanges", "rule": "A-6", "name": f"a verdict: {vector['name']}", "steps": steps}


def _answered(vector: Mapping[str, Any]) -> Iterator[Step]:
    names = [f"q{place}" for place in range(vector["reports"])]
    yield {"begin": NINE, "consent": True, "at": START}
    yield from ({"record": name, "answer": "a", "at": START, "recorded": "queued"} for name in names)
    reply = {"status": 200, "body": vector["body"], "reports": len(names)}
    yield {"flush": START, "replies": [reply], "sent": [f"{name} 2026-11-18" for name in names]}


def play_histories(
    program: Program, registries: Mapping[str, Any], histories: Iterable[Mapping[str, Any]]
) -> Iterator[Case]:
    """Play the histories, and yield a case for each.

    A failed case contains the first broken rule.
    """
    with ScriptedCollector(program.kill) as collector, TemporaryDirectory() as folder:
        for place, history in enumerate(histories):
            case_class = next(each for each in CaseClass if each.label == history["class"])
            lacks = sorted(set(history.get("needs", ())) - program.supports)
            if lacks:
                yield Case(case_class, history["name"], lacks=lacks[0])
                continue
            device = _PlayedDevice(program, collector, registries, Path(folder) / str(place))
            yield device.live(case_class, history)


class _PlayedDevice:
    """One device of the program under test, with a separate data folder."""

    def __init__(
        self, program: Program, collector: ScriptedCollector, registries: Mapping[str, Any], folder: Path
    ) -> None:
        self._program = program
        self._collector = collector
        self._registries = registries
        self._folder = folder
        self._traffic = DeviceTraffic()

    def live(self, case_class: CaseClass, history: Mapping[str, Any]) -> Case:
        self._folder.mkdir()
        self._collector.taken()
        try:
            for number, step in enumerate(history["steps"], 1):
                breach = next(iter(self._breaches(history["rule"], step)), None)
                if breach is not None:
                    return Case(case_class, f"{history['name']}; step {number}", breach)
        except NotSupportedError as error:
            return Case(case_class, history["name"], lacks=str(error))
        except RefusedLineError as error:
            breach = Breach(history["rule"], f"an answer at step {number}: {step}", str(error))
            return Case(case_class, history["name"], breach)
        return Case(case_class, history["name"])

    def _breaches(self, rule: str, step: Step) -> Iterator[Breach]:
        if "kill" in step:
            self._program.kill()
        elif "begin" in step:
            self._begin(step)
        elif "record" in step:
            line = {"do": "record", "metric": step["record"], "answer": step["answer"], "at": instant(step["at"])}
            recorded = self._program.ask(line).get("recorded")
            if recorded != step["recorded"]:
                yield Breach(rule, f"{step['record']} at {step['at']}: {step['recorded']}", str(recorded))
        elif "flush" in step:
            yield from self._flush(rule, step)
        elif "forget" in step:
            self._program.ask({"do": "forget", "at": instant(step["at"])})
        else:
            self._program.ask({"do": "consent", "consent": step["consent"], "at": instant(step["at"])})

    def _begin(self, step: Step) -> None:
        registry = self._registries[step["begin"]]
        self._traffic.learn(step["begin"], registry["definition"])
        line = {
            "do": "begin",
            "data": str(self._folder),
            "definition": registry["definition"],
            "compiled": registry["compiled"],
            "collector": self._collector.url,
            "consent": step["consent"],
            "at": instant(step["at"]),
        }
        self._program.ask(line)

    def _flush(self, rule: str, step: Step) -> Iterator[Breach]:
        refused = self._traffic.refused
        offered = sorted(map(self._traffic.label, refused)) if step.get("alone") == "refused" else step.get("alone", ())
        expected = Arrived(tuple(sorted(step.get("sent", ()))), tuple(step.get("again", ())), tuple(offered))
        replies = [dict(reply) for reply in step.get("replies", ())]
        is_killed = any("kill" in reply for reply in replies)
        self._collector.expect(replies)
        try:
            for _ in range(step.get("times", 1)):
                self._program.ask({"do": "flush", "at": instant(step["flush"])})
        except RefusedLineError:
            if not is_killed:
                raise
        received = self._collector.taken()
        self._collector.expect([])
        _check_sizes(received)
        arrived, breaches = self._traffic.take(received)
        yield from breaches
        if arrived != expected:
            yield Breach(rule, f"a flush at {step['flush']} sends {expected}", str(arrived))


def _check_sizes(received: list[tuple[ReceivedRequest, Scripted]]) -> None:
    """Compare the number of reports in each upload with the number that the script expects.

    Raises:
        NotSupportedError: if the numbers differ, because the program divides reports among uploads
            in another way. The script's verdict then does not fit the upload.
    """
    for request, script in received:
        if script.get("reports", 0) != 0 and request.body.count(b'"metric"') != script["reports"]:
            raise NotSupportedError("several reports in one upload")


def instant(text: str) -> int:
    """Return the Unix time, in seconds, of an instant in UTC, such as ``2026-11-18 12:00``."""
    return int(datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC).timestamp())
