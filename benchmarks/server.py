"""The collector with an additional route for empty POSTs.

Uploads and empty POSTs are then measured on the same server.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Flask, Response

from collector import service
from collector.__main__ import main
from collector.config import CollectorConfig
from collector.counters import SharedCounters
from collector.live_config import SharedState
from collector.store.store_protocol import TallyStore

worker_app = service.worker_app


def app_with_empty_post(
    config: CollectorConfig,
    shared_state: SharedState,
    open_store: Callable[[], TallyStore],
    counts: SharedCounters | None = None,
) -> Flask:
    """Return the collector's application with the additional route ``POST /empty``."""
    app = worker_app(config, shared_state, open_store, counts)

    @app.post("/empty")
    def empty() -> Response:
        return Response(b"{}", mimetype="application/json")

    return app


if __name__ == "__main__":
    from benchmarks import server

    service.worker_app = server.app_with_empty_post
    main()
