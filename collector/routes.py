"""The handlers of the API, one function for each operation, and the counting of batches."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request

from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES, read_upload
from client_sdk.protocol.wire.report import Upload
from collector.access import Access, AccessKey, Role
from collector.api.batch import MAX_BULK_BYTES, LineProblem, UploadVerdict, decode_batch, encode_answers
from collector.api.messages import DOCUMENT, JSON, NDJSON, SNAPSHOT_TAKEN, TEXT, read_body, utc_of
from collector.api.problem import Problem, ProblemError
from collector.counters import PROBLEMS, STORE_ERRORS, WorkerCounters
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.judge import Judgement, judge
from collector.live_config import Served
from collector.store.store_protocol import (
    CountedUpload,
    Outcome,
    StoredTally,
    TallyStore,
    close_due_windows,
    look_at_open_windows,
)
from collector.store.strata import folded, own_editions

SPARSE_FROM = 1024
"""The minimum number of symbols of a tally that may be sent without its zeros.

A tally with fewer symbols takes only a few kilobytes.
"""

GREETING = "This is a Hearsay collector: it counts perturbed reports. /v1/openapi.json describes its API.\n"

_EXTENSION = "hearsay"

routes = Blueprint("collector", __name__)


@dataclass(frozen=True, slots=True)
class Service:
    """The objects that the handlers use.

    Attributes:
        served: returns the current definitions and keys. A handler calls this function only once,
            so that all reports are judged with the same definitions.
        grace_s: how long a window accepts reports after its end, in seconds.
        snapshot_interval_s: minimum number of seconds between two snapshots of open windows.
    """

    served: Callable[[], Served]
    store: TallyStore
    grace_s: int
    snapshot_interval_s: int
    clock: Callable[[], float]
    counters: WorkerCounters


def install(app: Flask, service: Service) -> None:
    """Add the handlers to an application, and let the handlers use ``service``."""
    app.extensions[_EXTENSION] = service
    app.register_blueprint(routes)


def _service() -> Service:
    service: Service = current_app.extensions[_EXTENSION]
    return service


@routes.get("/")
def get_root() -> Response:
    """Return the name of this service, and the path of the API's description."""
    return Response(GREETING, mimetype=TEXT)


@routes.post("/v1/reports")
def post_reports() -> Response:
    """Count one upload."""
    service = _service()
    served = service.served()
    key = None if served.access.uploads_are_open else require_key(request.environ, served.access, Role.UPLOAD)
    upload = read_upload(read_body(request.environ, JSON, MAX_UPLOAD_BYTES))
    now_s = service.clock()
    allowance = None if key is None else key.allowance(now_s)
    judgement = judge(
        upload, served.registry, now_s=now_s, grace_s=service.grace_s, once=served.once, allowance=allowance
    )
    counted = service.store.count(judgement)
    service.counters.add_counted(counted)
    return Response(counted.verdict.encode(), mimetype=JSON)


@routes.post("/v1/uploads")
def post_uploads() -> Response:
    """Count a batch of uploads that a relay forwards."""
    service = _service()
    served = service.served()
    key = require_key(request.environ, served.access, Role.RELAY)
    body = read_body(request.environ, NDJSON, MAX_BULK_BYTES)
    now_s = service.clock()
    allowance = key.allowance(now_s)

    def judging(upload: Upload) -> Judgement:
        return judge(
            upload, served.registry, now_s=now_s, grace_s=service.grace_s, once=served.once, allowance=allowance
        )

    return Response(count_batch(body, judging, service.store, service.counters), mimetype=NDJSON)


@routes.get("/v1/registry")
def get_registry() -> Response:
    """Return the registry as a public JSON document."""
    return _tagged(_service().served().document)


@routes.get("/v1/openapi.json")
def get_openapi() -> Response:
    """Return the OpenAPI document."""
    return _tagged(DOCUMENT)


@routes.get("/v1/tallies")
def get_tallies() -> Response:
    """Return the tallies of closed windows and, on request, the last snapshot of open windows."""
    service = _service()
    key = require_key(request.environ, service.served().access, Role.READ)
    preliminary = _wants_preliminary(key)
    close_due_windows(service.store, now_s=service.clock(), grace_s=service.grace_s)
    closed = service.store.closed_windows()
    tallies, headers = service.store.closed_tallies(closed), dict[str, str]()
    if preliminary:
        snapshot = look_at_open_windows(
            service.store,
            closed,
            now_s=service.clock(),
            interval_s=service.snapshot_interval_s,
            grace_s=service.grace_s,
        )
        tallies, headers = chain(tallies, snapshot), {SNAPSHOT_TAKEN: utc_of(snapshot.taken_s)}
    # All tallies are read before the first byte is sent. If the store fails meanwhile, the client
    # must get an error instead of fewer tallies.
    readable = [tally for tally in tallies if key.may_read(tally.metric)]
    known = {**service.store.own_editions(), **own_editions(service.served().registry)}
    body = "".join(_lines(folded(readable, known)))
    return Response(body, mimetype=NDJSON, headers=headers)


@routes.get("/healthz")
def get_healthz() -> Response:
    """Report that the process is alive."""
    return Response("alive\n", mimetype=TEXT)


@routes.get("/readyz")
def get_readyz() -> Response:
    """Report whether the store accepts uploads."""
    _service().store.require_writable()
    return Response("ready\n", mimetype=TEXT)


def _tagged(body: bytes) -> Response:
    """Return a JSON document, or status 304 if the client sent the ETag of this document."""
    response = Response(body, mimetype=JSON, headers={"Cache-Control": "no-cache"})
    response.set_etag(sha256(body).hexdigest()[:32])
    response.make_conditional(request)
    return response


def _wants_preliminary(key: AccessKey) -> bool:
    if set(request.args) - {"preliminary"} or request.args.get("preliminary", "0") not in ("0", "1"):
        raise ProblemError(Problem.INVALID_QUERY, "the only query parameter is preliminary=1")
    preliminary = request.args.get("preliminary") == "1"
    if preliminary and not key.preliminary:
        raise ProblemError(Problem.PRELIMINARY_FORBIDDEN)
    return preliminary


def _counts(counts: tuple[int, ...]) -> dict[str, Sequence[int]]:
    """Return the JSON members that describe a tally's counts, keyed by the member's name.

    If most counts of a large tally are 0, return only the nonzero counts, with their symbols.
    """
    symbols = [symbol for symbol, count in enumerate(counts) if count] if len(counts) >= SPARSE_FROM else ()
    if not symbols or 2 * len(symbols) >= len(counts):
        return {"counts": counts}
    return {"symbols": symbols, "counts": [counts[symbol] for symbol in symbols]}


def _lines(tallies: Iterator[StoredTally]) -> Iterator[str]:
    for tally in tallies:
        line = {
            "metric": tally.metric,
            "edition": tally.edition,
            "window": tally.window,
            "closed": tally.closed,
            "reports": sum(tally.counts),
            **_counts(tally.counts),
        }
        yield json.dumps(line, separators=(",", ":")) + "\n"


_NEEDS = {
    Role.UPLOAD: "reporting here requires an upload key",
    Role.READ: "reading tallies requires a read key, or the collector's read token",
    Role.RELAY: "forwarding uploads requires a relay key",
}


def require_key(environ: Mapping[str, Any], access: Access, role: Role) -> AccessKey:
    """Return the key whose secret a WSGI request contains.

    Raises:
        ProblemError: 401 if the request contains no known key, 403 if the role of its key is not
            ``role``.
    """
    scheme, _, secret = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
    has_key = scheme.lower() == "bearer"
    key = access.find(secret.strip()) if has_key else None
    if key is None:
        what = "the key that was sent is unknown" if has_key else "no key was sent"
        advice = "send the secret of one" if has_key else "send the header 'Authorization: Bearer SECRET'"
        raise ProblemError(
            Problem.UNAUTHORIZED, f"{what}, and {_NEEDS[role]}: {advice}", {"WWW-Authenticate": "Bearer"}
        )
    if key.role is not role:
        raise ProblemError(Problem.FORBIDDEN, f"the key that was sent has another role, and {_NEEDS[role]}: send one")
    return key


def count_batch(
    body: bytes, judging: Callable[[Upload], Judgement], store: TallyStore, counters: WorkerCounters
) -> bytes:
    """Count every upload of a batch, and return the body of the response.

    If one upload cannot be counted, the other uploads are still counted.

    Raises:
        ProblemError: 413 if there are too many lines.
    """
    lines = decode_batch(body)
    outcomes = store.count_all([judging(line) for line in lines if isinstance(line, Upload)])
    counters.add_counted(*(outcome for outcome in outcomes if isinstance(outcome, CountedUpload)))
    counters.add(STORE_ERRORS, amount=sum(isinstance(outcome, StoreUnavailableError) for outcome in outcomes))
    remaining = iter(outcomes)
    answers = [
        _answer(number, line.id, next(remaining)) if isinstance(line, Upload) else line
        for number, line in enumerate(lines, 1)
    ]
    for answer in answers:
        if isinstance(answer, LineProblem):
            counters.add(PROBLEMS, answer.code)
    return encode_answers(answers)


def _answer(number: int, upload: str, outcome: Outcome) -> UploadVerdict | LineProblem:
    if isinstance(outcome, CountedUpload):
        return UploadVerdict(upload, outcome.verdict)
    problem = _problem(outcome)
    return LineProblem(number, problem.status, problem.code, problem.sentence)


def _problem(error: QuotaExceededError | StoreUnavailableError) -> Problem:
    if isinstance(error, QuotaExceededError):
        return Problem.QUOTA_EXCEEDED
    return Problem.STORE_FULL if isinstance(error, StoreFullError) else Problem.STORE_UNAVAILABLE
