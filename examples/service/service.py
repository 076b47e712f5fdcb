"""A web service that operators install themselves, as an example of a long-running program.

The installation is the device, and its operator is the user who consents. Each worker has a
separate `Telemetry`. All workers share one ledger.
"""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask, Response

from client_sdk import Registry, Telemetry

REGISTRY = Registry.load(Path(__file__).with_name("metrics.toml"))


def create_app() -> Flask:
    """Return the application for one worker."""
    app = Flask(__name__)
    telemetry = Telemetry(
        REGISTRY,
        collector=os.environ.get("SERVICE_COLLECTOR", "https://telemetry.example.com"),
        data_dir=os.environ["SERVICE_DATA"],
        consent=os.environ.get("SERVICE_TELEMETRY") == "yes",  # off until the operator consents
    )
    telemetry.provide("database", lambda: os.environ.get("SERVICE_DATABASE", "sqlite"))  # once a month, by one worker

    @app.get("/export")
    def export() -> str:
        telemetry.count("exports")
        return "id,name\n"

    @app.get("/privacy")
    def privacy() -> Response:
        left = "".join(f"{entry}\n" for entry in telemetry.history())
        return Response(f"{telemetry.statement()}\n{left}", mimetype="text/markdown")

    return app
