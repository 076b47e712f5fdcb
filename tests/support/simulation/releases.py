"""The releases of a simulated app: what an update, a rollback or a deployment may change."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Final

from client_sdk import Registry
from client_sdk.protocol import Metric
from client_sdk.protocol.registry.registry import Former
from tests.support.devices.clients import ask

_DARK = '[metric.dark]\nkind = "boolean"\nepsilon = "ln 3"\n'
_SYSTEM = '[metric.system]\nkind = "category"\nvalues = ["a", "b", "c"]\nfill_in = true\nconsent = "usage"\n'
_THEME = '[metric.theme]\nkind = "boolean"\nfill_in = true\nepsilon = 0.5\n'
_PLAN = '[metric.plan]\nkind = "category"\nvalues = ["free", "paid"]\nwindow = "week"\nconsent = "sales"\n'
_TAPS = '[metric.taps]\nkind = "count"\nmax = 9\nstatistic = "mean"\npersist = true\nepsilon = 0.5\n'
_LASTING = (
    '[metric.lasting]\nkind = "boolean"\npermanent_epsilon = 2\nepsilon = 0.5\nfill_in = true\nconsent = "usage"\n'
)
_ALL = _DARK + _SYSTEM + _THEME + _PLAN + _TAPS + _LASTING
_CEILINGS = "per_window = 3.3\nper_month = 50\nlifetime = 80"
_LAST_DAY = "expires = 2027-01-31\n"

RELEASES: Final = (
    ask(_ALL, _CEILINGS),
    ask(_DARK + _SYSTEM.replace("fill_in", "epsilon = 2\nfill_in") + _THEME + _PLAN + _TAPS + _LASTING, _CEILINGS),
    ask(_SYSTEM + _THEME.replace("fill_in = true\n", "") + _PLAN + _TAPS.replace("persist = true\n", ""), _CEILINGS),
    ask(_ALL.replace("[metric.theme]\n", "[metric.theme]\nexpires = 2026-11-28\n"), "per_window = 2.5\nlifetime = 40"),
    ask(
        (_DARK + _SYSTEM + _THEME + _LASTING).replace("\nkind", f"\n{_LAST_DAY}kind"),
        f'{_CEILINGS}\nstrategy = "sample"\nanswers = 2',
    ),
    ask(
        (_DARK + _SYSTEM + _THEME + _TAPS).replace("\nkind", f"\n{_LAST_DAY}kind"),
        f'{_CEILINGS}\nstrategy = "pace"',
    ),
)
"""Under ceilings that a few weeks reach."""

ANSWERS: Final[dict[str, tuple[object, ...]]] = {
    "dark": (True, False),
    "system": ("a", "b", "c", "no answer"),
    "theme": (True, False),
    "plan": ("free", "paid"),
    "taps": (0,),
    "lasting": (True, False),
}
"""The questions, and what may be answered; not all of it is in the domain."""


def definition_of(name: str, edition: str) -> Metric:
    """Return a question by its edition."""
    return next(
        definition
        for registry in RELEASES
        for definition in (registry.asked_as(name, edition),)
        if definition is not None
    )


def served(newest: int, stopped: tuple[tuple[str, str], ...], *, with_history: bool) -> Registry:
    """Return what a collector serves: a release, perhaps with the questions of all others."""
    registry = replace(RELEASES[newest], stopped=stopped)
    if not with_history:
        return registry
    others = {
        (metric.name, metric.edition): Former(metric, date.min, None, None)
        for release in RELEASES
        for metric in release.metrics.values()
        if registry.asked_as(metric.name, metric.edition) is None
    }
    return replace(registry, former=tuple(others.values()))
