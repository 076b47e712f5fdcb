"""Python's output and storage, for tests of the TypeScript SDK, which must do the same.

``python -m tests.support.typescript FOLDER`` writes ``said.json``: what Python says to users, and
``choices.json``: what Python stores and says of choices.
"""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from client_sdk import consent
from client_sdk.commands.compile import compiled, document_of
from client_sdk.labels import reported
from client_sdk.protocol import Registry
from client_sdk.protocol.registry.registry import in_trial
from client_sdk.protocol.sentences import SHIPPED, shipped
from client_sdk.results import SUPPRESSED, Consent, Decision, Rule
from tests.support.vectors import vectors

SYMBOLS = 12
"""The number of symbols of each question that are put into words, spread over all."""


def said() -> dict[str, Any]:
    """Return the sentences of each language, and reports and numbers in their words."""
    reports = []
    for definition, outcome in vectors("compiled").items():
        if isinstance(outcome, str):
            continue
        registry = Registry.parse(definition)
        asked = (*registry.metrics.values(), *in_trial(registry).metrics.values())
        (metric,) = (each for each in asked if compiled(each) == outcome)
        for symbol in sorted({place * (metric.channel.symbols - 1) // SYMBOLS for place in range(SYMBOLS + 1)}):
            words = {language: reported(metric, symbol, shipped(language)) for language in SHIPPED}
            reports.append({"definition": definition, "symbol": symbol, "words": words})
    numbers = [
        {
            "number": list(map(str, number.as_integer_ratio())),
            "decimals": decimals,
            "words": {language: shipped(language).number(number, decimals) for language in SHIPPED},
        }
        for number in map(Fraction, ("0", "-1/2", "999.95", "1234567.125", "-1000", "1/3", "0.0004"))
        for decimals in (0, 1, 3)
    ]
    texts = {language: dict(shipped(language).texts) for language in SHIPPED}
    return {"sentences": texts, "reports": reports, "numbers": numbers}


CONSENTS: dict[Rule, tuple[Consent, ...]] = {
    Rule.VARIABLE: (True, SUPPRESSED),
    Rule.CHOICE: (True, False, frozenset({"usage", "crashes"})),
    Rule.UNDECIDED: (False,),
}
"""The possible decisions of a rule; the others suppress."""


def choices() -> dict[str, Any]:
    """Return the registries of choices by definition, and what Python stores and says of one."""
    asked = vectors("consent")["standings"]
    definitions = {asked["definition"], *(case["definition"] for case in asked["cases"])}
    registries = {each: document_of(Registry.parse(each), "node") for each in definitions}
    registry = Registry.parse(asked["definition"])
    with TemporaryDirectory() as folder:
        consent.choose(registry, consent=True, collector=asked["collector"], data_dir=folder)
        stored = (Path(folder) / consent.FILE_NAME).read_text(encoding="utf-8")
    says = {language: registry.sentences(language) for language in SHIPPED}
    statuses = []
    for rule in Rule:
        for consented in CONSENTS.get(rule, (SUPPRESSED,)):
            decision = Decision(consented, rule, asked["day"], withheld=frozenset("b"))
            words = {language: list(consent.status(registry, decision, say)) for language, say in says.items()}
            fields = decision._asdict() | {"consent": in_json(consented), "withheld": ["b"]}
            statuses.append({"decision": fields, "words": words})
    asks = []
    for rule in (Rule.UNDECIDED, Rule.CHOICE, Rule.CHANGED):
        decision = Decision(SUPPRESSED, rule, asked["day"], undecided=tuple(registry.metrics))
        words = {
            language: list(consent.words(registry, decision, asked["collector"], say)) for language, say in says.items()
        }
        asks.append({"decision": decision._asdict() | {"consent": None, "withheld": []}, "words": words})
    return {"registries": registries, "stored": stored, "statuses": statuses, "asked": asks}


def in_json(consented: Consent) -> object:
    """Return a consent in the form of the SDK, where null suppresses."""
    return sorted(consented) if isinstance(consented, frozenset) else None if consented is SUPPRESSED else consented


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "choices.json").write_text(json.dumps(choices()), encoding="utf-8")
    (folder / "said.json").write_text(json.dumps(said()), encoding="utf-8")
