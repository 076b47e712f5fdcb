"""The strict parser for the body of an upload. Any program may have sent the body.

In version 1 of the protocol, bodies contain no unknown fields, because a new field would require
version 2. Error messages repeat no part of a malformed body.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial
from operator import itemgetter
from typing import Any

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import EDITION, MAX_REPORTS, METRIC_NAME, Report, Upload
from client_sdk.protocol.wire.strict_json import Malformed, MalformedError, check_fields, load, malformed

MAX_UPLOAD_BYTES = 65_536
"""The maximum size of an upload's body in bytes, which suffices for any 256 valid reports."""

MAX_SYMBOL = 2**53 - 1
"""The largest symbol. JSON readers may store larger integers inexactly (RFC 8259, section 6)."""

UPLOAD_ID = re.compile(r"[0-9a-f]{32}")

_REPORT_FIELDS = frozenset({"metric", "edition", "window", "symbol"})
_UPLOAD_FIELDS = frozenset({"upload", "reports"})


def read_upload(body: bytes) -> Upload:
    """Return the upload that a body contains."""
    document = load(body)
    check_fields(document, _UPLOAD_FIELDS, "body")
    upload_id, reports = document["upload"], document["reports"]
    if type(upload_id) is not str or not UPLOAD_ID.fullmatch(upload_id):
        malformed(Malformed.INVALID_UPLOAD_ID, "upload", "must be 32 lower-case hex digits")
    if type(reports) is not list or not 1 <= len(reports) <= MAX_REPORTS:
        malformed(Malformed.INVALID_REPORTS, "reports", f"must be a list of 1 to {MAX_REPORTS} reports")
    return Upload(upload_id, tuple([_report(raw, index) for index, raw in enumerate(reports)]))


_values = itemgetter(*Report._fields)
_report_of = partial(tuple.__new__, Report)
"""Creates a report as ``Report._make`` does, but takes only a third of the time."""


def _report(raw: Any, index: int) -> Report:  # noqa: ANN401 what JSON holds
    if type(raw) is not dict or raw.keys() != _REPORT_FIELDS:
        check_fields(raw, _REPORT_FIELDS, f"reports[{index}]")
    values = metric, edition, window, symbol = _values(raw)
    names_are_texts = type(metric) is type(edition) is type(window) is str
    try:
        (_check_known_names if names_are_texts else _check_names)(metric, edition, window)
    except MalformedError as error:
        raise MalformedError(error.code, f"reports[{index}].{error.place}", error.problem) from None
    if type(symbol) is not int or not 0 <= symbol <= MAX_SYMBOL:
        malformed(Malformed.INVALID_SYMBOL, f"reports[{index}].symbol", "must be an integer from 0 to 2^53 - 1")
    return _report_of(values)


def _check_names(metric: Any, edition: Any, window: Any) -> None:  # noqa: ANN401 what JSON holds
    if not isinstance(metric, str) or not METRIC_NAME.fullmatch(metric):
        malformed(Malformed.INVALID_METRIC, "metric", "must be a name such as dark_mode")
    if not isinstance(edition, str) or not EDITION.fullmatch(edition):
        malformed(Malformed.INVALID_EDITION, "edition", "must be 12 lower-case hex digits")
    try:
        Window.parse(window if isinstance(window, str) else "")
    except WindowError as error:
        malformed(Malformed.INVALID_WINDOW, "window", str(error))


_check_known_names = lru_cache(maxsize=4096)(_check_names)
"""A cached version of `_check_names`, because uploads contain few different names."""
