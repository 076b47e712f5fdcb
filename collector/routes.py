"""HTTP only: bytes in, status out."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain

from flask import Blueprint, Response, request

from client_sdk.spec import MAX_UPLOAD_BYTES, Registry, Upload
from client_sdk.spec.epsilon import as_float
from client_sdk.spec.exact import float_ceiling
from collector.body import read_body
from collector.judge import judge
from collector.maintenance import close_due_windows
from collector.openapi import openapi_document
from collector.operations import OPERATIONS
from collector.problem import Problem, ProblemError
from collector.store import Tally, TallyStore


@dataclass(frozen=True, slots=True)
class Service:
    """What the routes serve.

    Attributes:
        registry: the definitions.
        store: the tallies.
        read_token: the bearer token that reads them.
        grace_s: seconds after its end during which a window still takes reports.
        snapshot_interval_s: least seconds between two looks at open windows.
        clock: Unix seconds.

    """

    registry: Registry
    store: TallyStore
    read_token: str
    grace_s: int
    snapshot_interval_s: int
    clock: Callable[[], float]


def create_blueprint(service: Service) -> Blueprint:
    """Return the routes: a handler for each of OPERATIONS, by its name."""
    registry_body = _registry_document(service.registry)
    openapi_body = json.dumps(openapi_document(), separators=(",", ":")).encode()

    def post_reports() -> Response:
        upload = Upload.decode(read_body(request.environ, "application/json", MAX_UPLOAD_BYTES))
        judgement = judge(upload, service.registry, now_s=service.clock(), grace_s=service.grace_s)
        return Response(service.store.count(judgement).verdict.encode(), mimetype="application/json")

    def get_registry() -> Response:
        return _tagged(registry_body)

    def get_openapi() -> Response:
        return _tagged(openapi_body)

    def get_tallies() -> Response:
        _require_token(service.read_token)
        close_due_windows(service.store, now_s=service.clock(), grace_s=service.grace_s)
        closed = service.store.closed_windows()
        tallies = service.store.closed_tallies(closed)
        if _wants_preliminary():
            tallies = chain(tallies, service.store.open_snapshot(service.snapshot_interval_s, closed))
        # Whole before the first byte: a store that dies in between must give an error, not a shorter answer.
        return Response("".join(_lines(tallies)), mimetype="application/x-ndjson")

    def get_healthz() -> Response:
        return Response("alive\n", mimetype="text/plain")

    def get_readyz() -> Response:
        service.store.ping()
        return Response("ready\n", mimetype="text/plain")

    return _blueprint(post_reports, get_registry, get_tallies, get_openapi, get_healthz, get_readyz)


def _blueprint(*handlers: Callable[[], Response]) -> Blueprint:
    routes = Blueprint("collector", __name__)
    by_name = {handler.__name__: handler for handler in handlers}
    for operation in OPERATIONS:
        routes.add_url_rule(operation.path, operation.name, by_name.pop(operation.name), methods=[operation.method])
    if by_name:
        raise LookupError(f"these handlers are no operations: {', '.join(by_name)}")
    return routes


def _tagged(body: bytes) -> Response:
    """Return a JSON document that a client asks for anew each time, but need not fetch again."""
    response = Response(body, mimetype="application/json", headers={"Cache-Control": "no-cache"})
    response.set_etag(sha256(body).hexdigest()[:32])
    response.make_conditional(request)
    return response


def _require_token(token: str) -> None:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), token.encode()):
        raise ProblemError(
            Problem.UNAUTHORIZED,
            "reading tallies needs the header 'Authorization: Bearer TOKEN' with the collector's read token",
            {"WWW-Authenticate": "Bearer"},
        )


def _wants_preliminary() -> bool:
    if set(request.args) - {"preliminary"} or request.args.get("preliminary", "0") not in ("0", "1"):
        raise ProblemError(Problem.INVALID_QUERY, "the only query is preliminary=1")
    return request.args.get("preliminary") == "1"


def _lines(tallies: Iterator[Tally]) -> Iterator[str]:
    for tally in tallies:
        line = {
            "metric": tally.metric,
            "edition": tally.edition,
            "window": tally.window,
            "closed": tally.closed,
            "reports": sum(tally.counts),
            "counts": tally.counts,
        }
        yield json.dumps(line, separators=(",", ":")) + "\n"


def _texts(integers: int | tuple[int, ...]) -> str | list[str]:
    """Return integers as texts, which every reader of JSON reads exactly."""
    return [str(integer) for integer in integers] if isinstance(integers, tuple) else str(integers)


def _registry_document(registry: Registry) -> bytes:
    metrics = [
        {
            "metric": metric.name,
            "edition": metric.edition,
            "symbols": metric.channel.symbols,
            "kind": metric.kind,
            "domain": metric.domain.definition,
            "window": metric.window.value,
            "mechanism": metric.channel.name,
            "integers": {name: _texts(integer) for name, integer in metric.channel.integers.items()},
            "epsilon": as_float(metric.epsilon_nanos),
            "delta": float_ceiling(metric.delta),
            "purpose": metric.purpose,
            "expires": metric.expires.isoformat() if metric.expires else None,
        }
        for metric in registry.metrics.values()
    ]
    return json.dumps({"metrics": metrics}, separators=(",", ":")).encode()
