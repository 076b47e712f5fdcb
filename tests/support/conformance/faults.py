"""Faults that an SDK may have, each planted into the Python SDK of this process."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping
from os import urandom
from typing import Any, Final

from client_sdk import Reply, Telemetry
from client_sdk.ledger import charges
from client_sdk.ledger.charges import Slot, SlotKey
from client_sdk.protocol import Coins, Metric, Verdict
from client_sdk.protocol import metric as metrics
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.wire.failure import Failure
from client_sdk.protocol.wire.verdict import decode_stopped
from client_sdk.sending import transactions
from client_sdk.sending.responses import Acknowledged, AttemptOutcome
from client_sdk.sending.transport import HttpTransport


def meaning(metric: Metric) -> dict[str, Any]:
    """Return the meaning of a report of a metric without strata."""
    return {
        "schema": 1,
        "kind": metric.kind.name,
        "domain": metrics.definition(metric),
        "window": metric.window.value,
        "mechanism": metric.channel.name,
        "integers": dict(metric.channel.integers),
    } | ({"trial": True} if metric.is_trial else {})


def _replace(owner: object, name: str, own: Callable[..., object]) -> None:
    assert hasattr(owner, name)
    setattr(owner, name, own)


def _lie_drawn_from_all_values() -> None:
    def perturb(channel: KAryRandomizedResponse, value: int, coins: Coins) -> int:
        keep = coins.bernoulli(channel.keep_numerator)
        lie = coins.below(channel.inputs)
        return value if keep else (value + lie) % channel.inputs

    _replace(KAryRandomizedResponse, "perturb", perturb)


def _charge_after_queue() -> None:
    owed: dict[SlotKey, tuple[Any, ...]] = {}
    charge, slot, look, init = charges.charge, charges.slot, transactions.look_for_news, Telemetry.__init__

    def with_nothing_owed(telemetry: Telemetry, *args: Any, **options: Any) -> None:
        owed.clear()
        init(telemetry, *args, **options)

    def pay(connection: sqlite3.Connection) -> bool:
        paid_for = [charge(connection, key, *rest) for key, rest in owed.items()]
        return all(paid_for)

    def later(connection: sqlite3.Connection, key: SlotKey, *rest: Any) -> bool:
        owed[key] = rest
        connection.execute("SAVEPOINT trying")
        is_allowed = pay(connection)
        connection.execute("ROLLBACK TO trying")
        if not is_allowed:
            del owed[key]
        return is_allowed

    def known(connection: sqlite3.Connection, key: SlotKey) -> Slot | None:
        return Slot.REPORTED if key in owed else slot(connection, key)

    def paid(connection: sqlite3.Connection, *args: Any, **options: Any) -> Any:
        pay(connection)
        for key in owed:
            charges.set_slot(connection, key, Slot.REPORTED)
        owed.clear()
        return look(connection, *args, **options)

    _replace(charges, "charge", later)
    _replace(charges, "slot", known)
    _replace(transactions, "look_for_news", paid)
    _replace(Telemetry, "__init__", with_nothing_owed)


def _members_as_they_come() -> None:
    def edition(metric: Metric, _: str) -> str:
        return hashlib.sha256(json.dumps(meaning(metric), separators=(",", ":")).encode()).hexdigest()[:12]

    _replace(metrics, "_edition", edition)


def _consent_ignored() -> None:
    init = Telemetry.__init__

    def agreed(telemetry: Telemetry, *args: Any, **options: Any) -> None:
        init(telemetry, *args, **options | {"consent": True})

    _replace(Telemetry, "__init__", agreed)


def _new_id_for_each_attempt() -> None:
    post = HttpTransport.post

    def renamed(transport: HttpTransport, body: bytes) -> Reply | Failure:
        return post(transport, body.replace(json.loads(body)["upload"].encode(), urandom(16).hex().encode()))

    _replace(HttpTransport, "post", renamed)


def _any_answer_believed() -> None:
    def judge(reply: Any, reports: int, _: float) -> AttemptOutcome:
        return Acknowledged(Verdict(reports), decode_stopped(getattr(reply, "stopped", None)))

    _replace(transactions, "judge", judge)


FAULTS: Final[Mapping[str, tuple[Callable[[], None], str, str]]] = {
    "lie-drawn-from-all-values": (_lie_drawn_from_all_values, "laws", "C-2"),
    "charge-after-queue": (_charge_after_queue, "ledger", "L-3"),
    "members-as-they-come": (_members_as_they_come, "editions", "E-1"),
    "consent-ignored": (_consent_ignored, "consent", "P-1"),
    "new-id-for-each-attempt": (_new_id_for_each_attempt, "exchanges", "U-3"),
    "any-answer-believed": (_any_answer_believed, "exchanges", "A-2"),
}
"""How each fault is planted, the class of cases that finds it, and the rule that it breaks."""


def plant(name: str) -> None:
    FAULTS[name][0]()
