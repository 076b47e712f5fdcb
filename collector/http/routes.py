"""HTTP only: bytes in, status out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain

from flask import Blueprint, Response, request

from client_sdk.protocol import MAX_UPLOAD_BYTES, Upload
from collector.access import Key, Role
from collector.api.batch import MAX_BULK_BYTES
from collector.api.body import read_body
from collector.api.headers import SNAPSHOT_TAKEN, utc_of
from collector.api.openapi import openapi_document
from collector.api.operations import NDJSON, OPERATIONS
from collector.api.problem import Problem, ProblemError
from collector.http.authorization import require_key
from collector.http.batches import count_batch
from collector.judge import judge, judge_all
from collector.live.state import Live
from collector.monitoring.counters import Counters
from collector.store.port import Snapshot, Tally, TallyStore
from collector.store.windows import close_due_windows, due_windows

SPARSE_FROM = 1024
"""Symbols of an alphabet that is worth the trouble: a tally of fewer is some kilobytes at most."""


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes serve.

    Attributes:
        live: the definitions, and who may do what.
        store: the tallies.
        grace_s: seconds after its end during which a window still takes reports.
        snapshot_interval_s: least seconds between two looks at open windows.
        clock: Unix seconds.
        counters: what is counted of requests.

    """

    live: Live
    store: TallyStore
    grace_s: int
    snapshot_interval_s: int
    clock: Callable[[], float]
    counters: Counters


def create_blueprint(service: Service) -> Blueprint:
    """Return the routes: a handler for each of OPERATIONS, by its name."""
    openapi_body = json.dumps(openapi_document(), separators=(",", ":")).encode()

    def post_reports() -> Response:
        served = service.live.now
        key = None if served.access.uploads_are_open else require_key(request.environ, served.access, Role.UPLOAD)
        upload = Upload.decode(read_body(request.environ, "application/json", MAX_UPLOAD_BYTES))
        now_s = service.clock()
        judgement = judge(upload, served.registry, now_s=now_s, grace_s=service.grace_s)
        if key is not None:
            judgement = judgement._replace(allowance=key.allowance(now_s))
        counted = service.store.count(judgement)
        service.counters.add_counted(counted)
        return Response(counted.verdict.encode(), mimetype="application/json")

    def post_uploads() -> Response:
        served = service.live.now
        key = require_key(request.environ, served.access, Role.RELAY)
        body = read_body(request.environ, NDJSON, MAX_BULK_BYTES)
        now_s = service.clock()
        judge_them = partial(
            judge_all, registry=served.registry, now_s=now_s, grace_s=service.grace_s, allowance=key.allowance(now_s)
        )
        return Response(count_batch(body, judge_them, service.store, service.counters), mimetype=NDJSON)

    def get_registry() -> Response:
        return _tagged(service.live.now.document)

    def get_openapi() -> Response:
        return _tagged(openapi_body)

    def get_tallies() -> Response:
        key = require_key(request.environ, service.live.now.access, Role.READ)
        preliminary = _wants_preliminary(key)
        close_due_windows(service.store, now_s=service.clock(), grace_s=service.grace_s)
        closed = service.store.closed_windows()
        tallies, headers = service.store.closed_tallies(closed), dict[str, str]()
        if preliminary:
            snapshot = _look(service, closed)
            tallies, headers = chain(tallies, snapshot), {SNAPSHOT_TAKEN: utc_of(snapshot.taken_s)}
        # Whole before the first byte: a store that dies in between must give an error, not a shorter answer.
        return Response(
            "".join(_lines(tally for tally in tallies if key.may_read(tally.metric))), mimetype=NDJSON, headers=headers
        )

    def get_healthz() -> Response:
        return Response("alive\n", mimetype="text/plain")

    def get_readyz() -> Response:
        service.store.require_writable()
        return Response("ready\n", mimetype="text/plain")

    return _blueprint(post_reports, post_uploads, get_registry, get_tallies, get_openapi, get_healthz, get_readyz)


def _blueprint(*handlers: Callable[[], Response]) -> Blueprint:
    routes = Blueprint("collector", __name__)
    by_name = {handler.__name__: handler for handler in handlers}
    for operation in OPERATIONS:
        routes.add_url_rule(operation.path, operation.name, by_name.pop(operation.name), methods=[operation.method])
    if by_name:
        raise LookupError(f"these handlers are no operations: {', '.join(by_name)}")
    return routes


def _look(service: Service, closed: frozenset[str]) -> Snapshot:
    """Return the last look at open windows, without those that close before another one may be taken.

    A closed tally is a look as well: too soon after one at the same window, the two would show what came in between.
    """
    now_s, interval_s = service.clock(), service.snapshot_interval_s
    closing = due_windows(service.store, now_s=now_s + interval_s, grace_s=service.grace_s)
    return service.store.open_snapshot(interval_s, closed.union(window.text for window in closing), now_s)


def _tagged(body: bytes) -> Response:
    """Return a JSON document that a client asks for anew each time, but need not fetch again."""
    response = Response(body, mimetype="application/json", headers={"Cache-Control": "no-cache"})
    response.set_etag(sha256(body).hexdigest()[:32])
    response.make_conditional(request)
    return response


def _wants_preliminary(key: Key) -> bool:
    if set(request.args) - {"preliminary"} or request.args.get("preliminary", "0") not in ("0", "1"):
        raise ProblemError(Problem.INVALID_QUERY, "the only query is preliminary=1")
    wanted = request.args.get("preliminary") == "1"
    if wanted and not key.preliminary:
        raise ProblemError(Problem.PRELIMINARY_FORBIDDEN)
    return wanted


def _counted(counts: tuple[int, ...]) -> dict[str, Sequence[int]]:
    """Return all counts, or of a large alphabet of which most symbols were never reported, the others with them."""
    symbols = [symbol for symbol, count in enumerate(counts) if count] if len(counts) >= SPARSE_FROM else ()
    if not symbols or 2 * len(symbols) >= len(counts):
        return {"counts": counts}
    return {"symbols": symbols, "counts": [counts[symbol] for symbol in symbols]}


def _lines(tallies: Iterator[Tally]) -> Iterator[str]:
    for tally in tallies:
        line = {
            "metric": tally.metric,
            "edition": tally.edition,
            "window": tally.window,
            "closed": tally.closed,
            "reports": sum(tally.counts),
            **_counted(tally.counts),
        }
        yield json.dumps(line, separators=(",", ":")) + "\n"
