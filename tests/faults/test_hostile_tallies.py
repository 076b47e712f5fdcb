"""Whatever answers in place of a collector: a report takes bounded memory and time, and explains
the problem.

There are thousands of mutated texts of tallies, and endless answers. Each is read in a process
whose memory the system limits.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from client_sdk.protocol import Window, WindowKind
from client_sdk.protocol.window_steps import later
from tests.support.estimates.tallies import REGISTRY_TEXT, line
from tests.support.services.endless import EndlessAnswer, endless_server
from tests.support.services.limits import limited

TEXTS_A_ROUND = 2500
"""`make faults` has twenty rounds: fifty thousand texts."""

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
MEGABYTE = bytes(2**20).replace(b"\0", b"[")


@pytest.mark.long
def test_mutated_tallies_are_read_soundly_or_refused_in_bounded_memory(round_number: int) -> None:
    ended = limited("-m", "tests.support.estimates.reading", str(round_number), str(TEXTS_A_ROUND))
    assert (ended.returncode, ended.stderr) == (0, "")
    seen = json.loads(ended.stdout)
    assert seen["read"] + seen["refused"] == TEXTS_A_ROUND
    assert min(seen["read"], seen["refused"]) > TEXTS_A_ROUND // 5
    assert seen["page"] > 0


def whole(*pieces: bytes) -> EndlessAnswer:
    """Return an answer that begins with some pieces and repeats the last one."""
    return lambda: itertools.chain(pieces, itertools.repeat(pieces[-1]))


def chunked(pieces: Iterable[bytes]) -> Iterator[bytes]:
    yield CHUNKED
    for piece in pieces:
        yield b"%x\r\n%s\r\n" % (len(piece), piece)


def tallies_without_end() -> Iterator[bytes]:
    """Yield tallies of successive windows, a month and an edition at a time."""
    yield HEAD + b"\r\n"
    window = Window.at(WindowKind.DAY, 0)
    for number in itertools.count():
        yield line("dark_mode", [1, 2], window=later(window, number % 10_000).text, edition=f"{number // 10_000:012x}")


ENDLESS: dict[str, tuple[EndlessAnswer, str]] = {
    "a line": (whole(HEAD + b"\r\n", MEGABYTE), "line 1 is longer than the limit"),
    "a line in chunks": (lambda: chunked(itertools.repeat(MEGABYTE)), "line 1 is longer than the limit"),
    "a line of a text": (whole(HEAD + b'\r\n{"metric":"', MEGABYTE), "line 1 is longer than the limit"),
    "empty lines": (whole(HEAD + b"\r\n", b"\n" * 65_536), "line 1 is not a tally"),
    "one tally": (whole(HEAD + b"\r\n", line("dark_mode", [1, 2])), "line 2 repeats metric, edition and window"),
    "tallies": (tallies_without_end, "there are more than 100,000 tallies; read fewer windows"),
    "a compressed body": (
        whole(HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(2**24)), MEGABYTE),
        "did not answer with tallies: line",
    ),
    "a line of the head": (whole(HEAD + b"Drip: ", MEGABYTE), "does not answer in HTTP"),
    "headers": (whole(HEAD, b"Drip: drop\r\n" * 1000), "does not answer in HTTP"),
    "a first line": (whole(b"HTTP/1.1 200 \x1b[2J", MEGABYTE), "does not answer in HTTP"),
    "a size": (whole(CHUNKED, b"f" * 65_536), "does not answer in HTTP"),
}


def report(folder: Path, *options: str) -> tuple[int, str]:
    (folder / "metrics.toml").write_text(REGISTRY_TEXT)
    words = ("-m", "estimator", "report", "--registry", str(folder / "metrics.toml"), *options)
    ended = limited(*words, environment=dict(os.environ) | {"HEARSAY_READ_TOKEN": "sesame"})
    return ended.returncode, ended.stderr


@pytest.mark.long
@pytest.mark.parametrize(("answer", "sentence"), ENDLESS.values(), ids=ENDLESS)
def test_an_answer_without_an_end_is_refused_in_bounded_memory(
    answer: EndlessAnswer, sentence: str, tmp_path: Path
) -> None:
    with endless_server(answer) as url:
        status, said = report(tmp_path, "--collector", url)
    assert sentence in said, said
    assert (status, said[:7], said.count("\n")) == (1, "Error: ", 1)
    assert said.strip().isprintable()


def test_a_file_without_an_end_is_refused_in_bounded_memory(tmp_path: Path) -> None:
    status, said = report(tmp_path, "--tallies", "/dev/zero")
    assert (status, said) == (1, "Error: /dev/zero: line 1 is longer than the limit of 4,194,304 bytes\n")


def test_a_body_that_is_shorter_than_announced_broke_off(tmp_path: Path) -> None:
    def short() -> Iterator[bytes]:
        yield HEAD + b"Content-Length: %d\r\n\r\n" % 2**62
        yield line("dark_mode", [1, 2])

    with endless_server(short) as url:
        status, said = report(tmp_path, "--collector", url)
    assert status == 1
    assert "the connection was interrupted" in said
