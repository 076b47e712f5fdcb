"""How public strata differ, as a table of a question."""

from __future__ import annotations

from collections.abc import Sequence

from estimator.render.html.filters import change_interval_text, change_text, p_text
from estimator.render.html.requested_tables import Extra
from estimator.render.units import unit_of
from estimator.report.conclusions import clearest_changes
from estimator.report.strata import MOST_EFFECTS
from estimator.results.changes import Effect

TOO_FEW = "too few reports"


def effects_table(effects: Sequence[Effect]) -> Extra:
    """Return the table of pairs of strata: of each the figure that differs most clearly.

    Args:
        effects: the pairs of a question in one window, at least one, in the order in which they are
            shown.

    """
    return Extra(
        title="Differences between strata",
        note="of each pair the figure that differs most clearly; p-values are corrected for all pairs. "
        f"At most {MOST_EFFECTS} pairs are shown; JSON and CSV have all.",
        head=("Strata", "Figure", "Difference", "Interval", "p, corrected"),
        rows=tuple(map(_row, effects)),
    )


def _row(effect: Effect) -> tuple[str, ...]:
    group, change = clearest_changes(effect)[0]
    unit = unit_of(group)
    return (
        f"{effect.second} less {effect.first}",
        group.label(change),
        change_text(change, unit),
        change_interval_text(change, unit),
        p_text(change.p_value_corrected, TOO_FEW),
    )
