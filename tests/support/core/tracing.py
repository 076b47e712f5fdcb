"""Which modules of the product see an answer, coins, a charge or a report: ``python -m`` this.

A fresh process records a boolean and a category on a ledger's file, and uploads both over HTTP.
A module *sees* one of them if it is, during a call of one of its functions, among the function's
locals or what it returns: by itself, or within a tuple, a list, a partial or a closure. An answer
is recognized by its identity, coins, connections, charges and reports by their types, and the bytes
of an upload by a key that only they hold. The output is JSON: what each module that ran has seen.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import tempfile
import threading
from collections import defaultdict
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FrameType, FunctionType, MethodType
from typing import Final

import client_sdk
from client_sdk import Telemetry
from client_sdk.answers.prf_coins import PrfCoins
from client_sdk.answers.system_coins import SystemCoins
from client_sdk.protocol.budget import Cost, Spent
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.wire.report import Report, Upload
from tests.support.devices.answering import answering_server

PACKAGE: Final = Path(client_sdk.__file__).parent

REGISTRY: Final = """
schema = 1
[app]
name = "acme"
[budget]
per_window = 9
lifetime = 99
[metric.dark_mode]
purpose = "Is it used?"
kind = "boolean"
epsilon = "ln 3"
[metric.system]
purpose = "Which?"
kind = "category"
values = ["linux", "macos", "windows"]
epsilon = 1
"""

ANSWER: Final = f"{'linux!':.5}"
"""The answer to the category: an object of its own, which equals a label of the registry."""

VERDICT: Final = b'{"accepted":2,"refused":[]}'

DEEPEST: Final = 4
"""How deep a value is looked for within tuples, partials and closures."""

TYPES: Final[dict[type, str]] = {
    SystemCoins: "coins",
    PrfCoins: "coins",
    sqlite3.Connection: "ledger",
    Cost: "charge",
    Spent: "charge",
    Report: "report",
    Upload: "report",
}


def within(value: object) -> tuple[object, ...]:
    """Return the contents of a value that can be reached only through it."""
    if isinstance(value, partial):
        return value.func, *value.args, *value.keywords.values()
    if isinstance(value, MethodType):
        return (value.__func__,)
    if isinstance(value, FunctionType):
        return tuple(cell.cell_contents for cell in value.__closure__ or () if _is_filled(cell))
    return tuple(value) if isinstance(value, tuple | list) else ()


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # the variable is not assigned yet
        return False


def kinds_in(value: object, deep: int = 0) -> set[str]:
    """Return what a value is or contains: an answer, coins, the ledger, a charge or a report."""
    if value is ANSWER:
        return {"answer"}
    if (kind := TYPES.get(type(value))) is not None:
        return {kind}
    if isinstance(value, bytes | bytearray):
        return {"report"} if b'"reports"' in value else set()
    return set().union(*(kinds_in(each, deep + 1) for each in within(value))) if deep < DEEPEST else set()


class Watch:
    """The objects that each module's functions see while they run."""

    def __init__(self) -> None:
        self.seen: dict[str, set[str]] = defaultdict(set)
        self._modules: dict[CodeType, str | None] = {}

    def __call__(self, frame: FrameType, event: str, value: object) -> None:
        if event not in ("call", "return") or (module := self._module_of(frame.f_code)) is None:
            return
        seen = self.seen[module]
        for each in (*frame.f_locals.values(), value):
            seen |= kinds_in(each)

    def _module_of(self, code: CodeType) -> str | None:
        """Return the path of a function's module within the package; None for all other code."""
        if code not in self._modules:
            path = Path(code.co_filename)
            is_ours = path.is_relative_to(PACKAGE) and code.co_name != "<module>"
            self._modules[code] = path.relative_to(PACKAGE).as_posix() if is_ours else None
        return self._modules[code]


def live(url: str, folder: str, registry: Registry) -> bool:
    """Record both answers and upload them; return whether all was sent."""
    with Telemetry(registry, collector=url, data_dir=folder, consent=True) as device:
        device.record("dark_mode", value=True)
        device.record("system", ANSWER)
        return bool(device.flush(30))


def main() -> None:
    registry, watch = Registry.parse(REGISTRY), Watch()
    with answering_server(VERDICT) as server, tempfile.TemporaryDirectory() as folder:
        threading.setprofile(watch)
        sys.setprofile(watch)
        is_sent = live(server.url, folder, registry)
        sys.setprofile(None)
        threading.setprofile(None)
        assert is_sent
        ((_, _, body),) = server.requests
        assert body.count(b'"metric"') == 2
    json.dump({module: sorted(seen) for module, seen in sorted(watch.seen.items())}, sys.stdout)


if __name__ == "__main__":
    main()
