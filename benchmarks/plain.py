"""A minimal Flask app for comparison, which appends the JSON of uploads to a list in Redis."""

from __future__ import annotations

import json
import os

import redis
from flask import Flask, Response, request

app = Flask(__name__)
store = redis.Redis.from_url(os.environ.get("PLAIN_STORE", "redis://127.0.0.1"))


@app.post("/v1/reports")
def post_reports() -> Response:
    upload = request.get_json()
    store.rpush("uploads", json.dumps(upload))
    return Response(b'{"accepted":4,"refused":[]}', mimetype="application/json")
