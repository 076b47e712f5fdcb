"""JSON is read as strictly as by the slow reader, wherever a member is repeated."""

from __future__ import annotations

import json
from typing import Any, NoReturn

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_sdk.protocol import MalformedError
from client_sdk.protocol.wire.strict_json import load

texts = st.sampled_from(["a", "b", "reports", ":", "\\u003a", '{\\"a\\":1}', ""]).map('"{}"'.format)
scalars = texts | st.sampled_from(["0", "-0", "1.5", "1e400", "null", "true", "NaN", "Infinity", "-Infinity", ""])


def objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Return objects of a few members, of which some have the same name."""
    return st.lists(st.tuples(texts, values).map(":".join), max_size=4).map(lambda members: f"{{{','.join(members)}}}")


def lists(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda items: f"[{','.join(items)}]")


documents = st.recursive(scalars, lambda inner: objects(inner) | lists(inner), max_leaves=12)


def constant(_: str) -> NoReturn:
    raise ValueError


def members_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(members)) != len(members):
        raise ValueError
    return dict(members)


def slowly(text: str) -> Any:
    """Return what a text holds, or nothing but that it is malformed, with each member looked at."""
    try:
        return json.loads(text, object_pairs_hook=members_once, parse_constant=constant)
    except ValueError:
        return MalformedError


def quickly(text: str) -> Any:
    try:
        return load(text.encode())
    except MalformedError:
        return MalformedError


@pytest.mark.long
@settings(derandomize=True, deadline=None, max_examples=1000)
@given(objects(documents) | documents)
@example('{"a":[{"b":1,"b":2}]}')
@example('{"a":[{"b":1,"b":2},[0]]}')
@example('{"a":1,"a":[{"b":1}]}')
@example('{"a":[{"b":1}],"a":1}')
@example('{"a":[{"b":{"c":1,"c":1}}]}')
@example('{"a":[[{"b":1,"b":1}]]}')
@example('{"a":":"}')
def test_every_text_is_read_as_with_each_member_looked_at(text: str) -> None:
    assert repr(quickly(text)) == repr(slowly(text))


@pytest.mark.parametrize("text", ["", "\ufeff{}", "{} {}", '{"a":1}x'])
def test_nothing_precedes_or_follows_the_document(text: str) -> None:
    assert quickly(text) is MalformedError


def test_a_text_is_utf_8() -> None:
    for body in ("{}".encode("utf-16"), b'{"a":"\xed\xa0\x80"}', b"\xff"):
        with pytest.raises(MalformedError):
            load(body)
