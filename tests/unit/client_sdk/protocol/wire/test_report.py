"""The wire: decoders never crash, echo nothing, and round trips hold.

Single bodies are in tests/vectors.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from typing import Any, TypeVar

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_sdk.protocol import MAX_REPORTS, MalformedError, Refusal, Report, Upload, Verdict, Window, WindowKind
from client_sdk.protocol.wire.reading import MAX_SYMBOL, MAX_UPLOAD_BYTES, read_upload
from tests.support.core.tables import for_each

MARK = "zzmarkedzz"
UPLOAD = Upload("0123456789abcdef" * 2, (Report("dark_mode", "3fb1c02a77d9", "2026-11-20", 1),))
DOCUMENT: dict[str, Any] = json.loads(UPLOAD.encode())

windows = st.builds(
    lambda kind, instant_s: Window.at(kind, instant_s).text, st.sampled_from(WindowKind), st.integers(0, 2**36)
)
reports = st.builds(
    Report,
    metric=st.from_regex(r"[a-z][a-z0-9_]{0,63}", fullmatch=True),
    edition=st.from_regex(r"[0-9a-f]{12}", fullmatch=True),
    window=windows,
    symbol=st.integers(0, MAX_SYMBOL),
)
uploads = st.builds(
    Upload,
    id=st.from_regex(r"[0-9a-f]{32}", fullmatch=True),
    reports=st.lists(reports, min_size=1, max_size=8).map(tuple),
)
verdicts = st.integers(1, MAX_REPORTS).flatmap(
    lambda count: st.builds(
        lambda refused: Verdict(count, tuple(sorted(refused.items()))),
        st.dictionaries(st.integers(0, count - 1), st.sampled_from(Refusal), max_size=count),
    )
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from([*DOCUMENT.values()]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["upload", "reports", "symbol", "x"]), inner),
)
bodies = st.one_of(
    st.binary(),
    documents.map(lambda document: json.dumps(document).encode()),
    st.builds(lambda at, raw: UPLOAD.encode()[:at] + raw + UPLOAD.encode()[at + 1 :], st.integers(0, 120), st.binary()),
)


T = TypeVar("T")


def decoded_or_refused(decode: Callable[[], T]) -> T | MalformedError:
    try:
        return decode()
    except MalformedError as error:
        return error


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=30)
@given(uploads)
def test_an_upload_comes_back_from_the_wire_and_has_the_same_bytes_every_time(upload: Upload) -> None:
    body = upload.encode()
    decoded = read_upload(body)
    assert decoded == upload
    assert decoded.encode() == upload.encode() == body


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=30)
@given(verdicts)
def test_a_verdict_comes_back_from_the_wire_and_accounts_for_every_report(verdict: Verdict) -> None:
    decoded = Verdict.decode(verdict.encode(), verdict.reports)
    assert decoded == verdict
    assert decoded.encode() == verdict.encode()
    assert decoded.accepted + len(decoded.refused) == verdict.reports


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=50)
@given(bodies)
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example(b'{"upload":' + b"9" * 10_000 + b"}")
@example(b"\xff\xfe")
@example(b"")
def test_any_bytes_are_an_upload_or_malformed_and_never_crash_the_decoder(body: bytes) -> None:
    upload = decoded_or_refused(lambda: read_upload(body))
    if isinstance(upload, MalformedError):
        assert upload.code
        assert upload.place
        assert upload.problem
    else:
        assert read_upload(upload.encode()) == upload


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=50)
@given(bodies, st.integers(1, MAX_REPORTS))
@example(b"[" * 100_000, 1)
@example(b'{"accepted":' + b"9" * 10_000 + b',"refused":[]}', 1)
def test_any_bytes_are_a_verdict_or_malformed_and_never_crash_the_decoder(body: bytes, count: int) -> None:
    verdict = decoded_or_refused(lambda: Verdict.decode(body, count))
    assert isinstance(verdict, MalformedError) or verdict.reports == count


def test_the_largest_upload_fits_the_limit_of_a_body() -> None:
    longest = Report("m" * 64, "f" * 12, "2026-11-20", MAX_SYMBOL)
    assert len(Upload("f" * 32, (longest,) * MAX_REPORTS).encode()) <= MAX_UPLOAD_BYTES


def marked(**changes: object) -> bytes:
    report = DOCUMENT["reports"][0] | {key: value for key, value in changes.items() if key in DOCUMENT["reports"][0]}
    top = {key: value for key, value in changes.items() if key not in report}
    return json.dumps(DOCUMENT | {"reports": [report]} | top).encode()


@for_each(
    "body",
    [
        *(MARK.encode(), marked(upload=MARK), marked(reports=MARK), marked(metric=MARK.upper()), marked(edition=MARK)),
        *(marked(window=MARK), marked(symbol=MARK), marked(**{MARK: 1})),
        *(UPLOAD.encode().replace(b'"symbol"', f'"{MARK}"'.encode()), json.dumps(MARK).encode()),
    ],
)
def test_nothing_of_a_malformed_body_is_in_the_error_or_in_what_is_chained_to_it(body: bytes) -> None:
    with pytest.raises(MalformedError) as caught:
        read_upload(body)
    assert MARK not in f"{caught.value} {caught.value.code} {caught.value.place} {caught.value.problem}".lower()
    assert MARK not in shown_with_its_chain(caught.value).lower()


def shown_with_its_chain(error: BaseException | None) -> str:
    """Return the traceback of an error and all its causes, without lines of source."""
    shown = []
    while error is not None:
        shown += traceback.format_exception_only(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "".join(shown)


def test_nothing_of_a_malformed_verdict_is_in_the_error() -> None:
    for body in (MARK, f'{{"accepted":"{MARK}","refused":[]}}', f'{{"accepted":0,"refused":["{MARK}"],"{MARK}":1}}'):
        with pytest.raises(MalformedError) as caught:
            Verdict.decode(body.encode(), 1)
        assert MARK not in f"{caught.value} {caught.value.place} {caught.value.problem}"


@pytest.mark.parametrize("value", [UPLOAD, UPLOAD.reports[0], Verdict(1)], ids=lambda value: type(value).__name__)
def test_what_travels_is_frozen(value: Upload | Report | Verdict) -> None:
    for field in type(value).__annotations__:
        with pytest.raises(AttributeError):
            setattr(value, field, None)
