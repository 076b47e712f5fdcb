"""Reads thousands of mutated tallies while the system limits memory and processor time.

Run as ``python -m tests.support.estimates.reading SEED TEXTS``. It prints how many texts were read,
refused, and shown as a page.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from client_sdk.protocol import Window
from estimator.errors import OutputError, TalliesError
from estimator.formats.json_documents import as_json
from estimator.render.html.page import as_html
from estimator.report.report import make_report
from estimator.results.report import Request, Selection
from estimator.tallies import MOST_REPORTS, Bounds, Tally, decode
from tests.support.estimates.tally_mutations import REGISTRY, mutated, sound_text
from tests.support.services.limits import MEMORY_BYTES

PROCESSOR_S: Final = 600
EVERY_REPORT: Final = 6
EVERY_PAGE: Final = 60
"""The number of texts per report and page, which take as long as a hundred readings.
"""

SELECTION: Final = Selection(preliminary=True)


def pieces(text: bytes, seeded: Random) -> Iterator[bytes]:
    """Yield a text in pieces of the given length."""
    length = seeded.choice((1, 7, 1000, 65_536)) if len(text) < 10_000 else 65_536
    yield from (text[start : start + length] for start in range(0, len(text), length))


def require_sound(text: bytes, tallies: list[Tally]) -> None:
    """Fail if something was read that should have been refused."""
    documents = [json.loads(document, object_pairs_hook=_members_once) for document in text.splitlines()]
    keys = {(document["metric"], document["edition"], document["window"]) for document in documents}
    assert len(keys) == len(documents) == len(tallies)
    assert sum(tally.reports for tally in tallies) <= MOST_REPORTS
    for document, tally in zip(documents, tallies, strict=True):
        counts, symbols = document["counts"], document.get("symbols")
        assert {type(number) for number in (*counts, *(symbols or ()), document["reports"])} == {int}
        assert min(counts, default=0) >= 0
        assert document["reports"] == tally.reports == sum(counts)
        assert symbols is None or (symbols == sorted(set(symbols)) and len(symbols) == len(counts))
        assert Window.parse(document["window"]) == tally.window
        assert [*tally.counts] == counts


def require_sentence(text: str) -> None:
    """Fail if a message is not a sentence for people, or echoes much of the input."""
    assert text.isprintable()
    assert len(text) < 300


def _members_once(members: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len(dict(members)) == len(members)
    return dict(members)


def main() -> None:
    """Read, estimate and show."""
    seed, texts = map(int, sys.argv[1:])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, PROCESSOR_S))
    seeded = Random(seed)  # noqa: S311 hostile tallies are no secret
    bounds, seen = Bounds.from_metrics(REGISTRY.metrics.values(), SELECTION.spans), Counter[str]()
    for _ in range(texts):
        text = mutated(sound_text(seeded), seeded)
        try:
            tallies = decode(bounds.lines(pieces(text, seeded)), bounds)
        except TalliesError as error:
            require_sentence(str(error))
            seen["refused"] += 1
            continue
        require_sound(text, tallies)
        seen["read"] += 1
        if seen["read"] % EVERY_REPORT:
            continue
        report = make_report(REGISTRY, tallies, SELECTION, Request(pool=True))
        as_json(report)
        if seen["read"] % EVERY_PAGE == 0:
            try:
                as_html(report, REGISTRY)
            except OutputError:
                seen["too large for a page"] += 1
            else:
                seen["page"] += 1
    sys.stdout.write(json.dumps(seen))


if __name__ == "__main__":
    main()
