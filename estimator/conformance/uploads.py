"""Checks of a device's requests, singly and as a whole, against the rules of ``docs/protocol``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES, read_upload
from client_sdk.protocol.wire.report import Report, Upload
from client_sdk.protocol.wire.strict_json import MalformedError
from client_sdk.protocol.wire.verdict import Verdict
from estimator.conformance.collector import ReceivedRequest, Scripted
from estimator.conformance.outcome import Breach

PATH: Final = "/v1/reports"

OK: Final = 200

VARIES: Final = frozenset({"content-length", "host"})
"""The headers that may differ between requests, depending on the body or the collector."""

ReportKey = tuple[str, str, str]
"""The metric, edition and window of a report."""


class Arrived(NamedTuple):
    """The reports and uploads that arrived during one step of a history.

    Attributes:
        sent: the labels of new reports, such as ``theme 2026-11-18``.
        again: the positions of repeated uploads among all uploads of the history.
        alone: the labels of refused reports that the device sent again, each in its own upload.
    """

    sent: tuple[str, ...] = ()
    again: tuple[int, ...] = ()
    alone: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a readable description of the reports and uploads."""
        parts = (
            ("for the first time", self.sent),
            ("again, the same bytes of upload", self.again),
            ("alone, after a refusal", self.alone),
        )
        return "; ".join(f"{words}: {', '.join(map(str, what))}" for words, what in parts if what) or "nothing"


_parsed = lru_cache(Registry.parse)
"""A parser of registries that caches its results."""


class DeviceTraffic:
    """Everything that one device has sent, with checks against the rules of the protocol."""

    def __init__(self) -> None:
        """Begin with a device that has sent nothing."""
        self._registries: dict[str, Registry] = {}
        self._headers: Mapping[str, str] | None = None
        self._bodies: dict[str, bytes] = {}
        self._uploads: list[str] = []
        self._symbols: dict[ReportKey, int] = {}
        self._unanswered: set[ReportKey] = set()
        self.refused: set[ReportKey] = set()

    def learn(self, name: str, definition: str) -> None:
        """Add a registry that the device's app has loaded."""
        if name not in self._registries:
            self._registries[name] = _parsed(definition)

    def label(self, key: ReportKey) -> str:
        """Return a report's label, such as ``theme 2026-11-18``.

        If the report's metric and edition are not in the first registry that the app loaded, the
        label ends with the name of the later registry that contains the metric.
        """
        metric, edition, window = key
        first, *others = self._registries.items()
        if metric in first[1].metrics and edition == first[1].metric(metric).edition:
            return f"{metric} {window}"
        named = (name for name, registry in others if metric in registry.metrics)
        return f"{metric} {window} {next(named, edition)}"

    def take(self, received: list[tuple[ReceivedRequest, Scripted]]) -> tuple[Arrived, list[Breach]]:
        """Check the requests of one step.

        Return their reports and uploads, and the broken rules.
        """
        sent: list[str] = []
        again: list[int] = []
        alone: list[str] = []
        breaches: list[Breach] = []
        for request, script in received:
            breaches += self._breaches_of(request)
            try:
                upload = read_upload(request.body)
            except MalformedError as error:
                breaches.append(Breach("U-2", "the body of an upload", f"{error.place}: {error.problem}"))
                continue
            keys = [(report.metric, report.edition, report.window) for report in upload.reports]
            if upload.id in self._bodies:
                again.append(self._uploads.index(upload.id))
                if self._bodies[upload.id] != request.body:
                    breaches.append(Breach("U-3", repr(self._bodies[upload.id]), repr(request.body)))
            else:
                self._bodies[upload.id] = request.body
                self._uploads.append(upload.id)
                breaches += self._breaches_of_new(upload, request.body)
                offered = [key for key in keys if key in self.refused]
                alone += map(self.label, offered)
                sent += [self.label(key) for key in keys if key not in self._symbols]
                self._symbols |= {key: report.symbol for key, report in zip(keys, upload.reports, strict=True)}
            self._settle(upload, keys, script)
        return Arrived(tuple(sorted(sent)), tuple(sorted(again)), tuple(sorted(alone))), breaches

    def _breaches_of(self, request: ReceivedRequest) -> Iterator[Breach]:
        if request.path != PATH:
            yield Breach("A-5", f"only requests to {PATH}", f"{request.method} {request.path}")
        elif request.method != "POST":
            yield Breach("U-1", "POST", request.method)
        if "cookie" in request.headers:
            yield Breach("A-5", "no cookie", request.headers["cookie"])
        kind = request.headers.get("content-type", "none").partition(";")[0]
        if kind != "application/json" and request.path == PATH:
            yield Breach("U-1", "Content-Type: application/json", kind)
        own = {name: value for name, value in request.headers.items() if name not in VARIES}
        self._headers = self._headers or own
        if own != self._headers:
            yield Breach("U-1", f"the same headers in every request: {dict(self._headers)}", f"{own}")
        if len(request.body) > MAX_UPLOAD_BYTES:
            yield Breach("U-4", f"at most {MAX_UPLOAD_BYTES} bytes", f"{len(request.body)} bytes")

    def _breaches_of_new(self, upload: Upload, body: bytes) -> Iterator[Breach]:
        if upload.encode() != body:
            yield Breach("U-2", repr(upload.encode()), repr(body))
        for report in upload.reports:
            yield from self._breaches_of_report(report, alone=len(upload.reports) == 1)

    def _breaches_of_report(self, report: Report, *, alone: bool) -> Iterator[Breach]:
        key = (report.metric, report.edition, report.window)
        definition = self._definition(report)
        if definition is None:
            metrics = (registry.metrics.get(report.metric) for registry in self._registries.values())
            known = sorted({metric.edition for metric in metrics if metric is not None})
            yield Breach("E-1", f"an edition of {report.metric}: {', '.join(known)}", report.edition)
        elif report.symbol >= definition.channel.symbols:
            yield Breach("M-1", f"a symbol from 0 to {definition.channel.symbols - 1}", str(report.symbol))
        if key in self.refused:
            if not alone:
                yield Breach("A-6", f"{self.label(key)} alone, after its refusal", "the report with other reports")
            elif report.symbol != self._symbols[key]:
                yield Breach("A-6", f"the symbol that was refused, {self._symbols[key]}", str(report.symbol))
        elif key in self._unanswered:
            was = next(body for body in self._bodies.values() if report in read_upload(body).reports)
            yield Breach("U-3", f"the same bytes again: {was!r}", "a new id for the same report")
        elif key in self._symbols:
            yield Breach("L-2", f"{self.label(key)} once", "the same report again, although the collector answered")

    def _definition(self, report: Report) -> Metric | None:
        known = (registry.metrics.get(report.metric) for registry in self._registries.values())
        return next((metric for metric in known if metric is not None and report.edition in metric.editions), None)

    def _settle(self, upload: Upload, keys: list[ReportKey], script: Scripted) -> None:
        """Remember which reports the response refused, and which reports are still unanswered."""
        self._unanswered |= set(keys)
        if script.get("drop") or script.get("cut") or script.get("kill") or script.get("status", OK) != OK:
            return
        try:
            verdict = Verdict.decode(script.get("body", "").encode(), len(upload.reports))
        except MalformedError:
            return
        self._unanswered -= set(keys)
        self.refused -= set(keys)
        self.refused |= {keys[index] for index, code in verdict.refused if code.retryable}
