"""A report that shows itself, in a notebook and as a text.

Reports are data, and know nothing of what renders them. This stands above both.
"""

from __future__ import annotations

from os import PathLike
from typing import IO, Any, Self

from msgspec.structs import asdict

from estimator.formats.json_documents import read_report
from estimator.results.report import EstimateReport


class ShownReport(EstimateReport, frozen=True):
    """An `EstimateReport` that programs and notebooks can show."""

    @classmethod
    def from_report(cls, report: EstimateReport) -> Self:
        """Return a report with the same figures."""
        return cls(**asdict(report))

    def summary(self) -> str:
        """Return the answers, a line for each question, with intervals and numbers of reports."""
        from estimator.render.summary import summary  # noqa: PLC0415 140 ms

        return summary(self)

    def _repr_html_(self) -> str:
        """Return the same as a table, which notebooks show."""
        from estimator.render.summary import as_table  # noqa: PLC0415 140 ms

        return as_table(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ANN401, FBT001 the interface of IPython
        """Print the summary where a notebook or IPython prints the object."""
        printer.text("…" if cycle else self.summary())


def load_report(source: str | PathLike[str] | IO[str] | IO[bytes]) -> ShownReport:
    """Read the JSON of a report.

    Args:
        source: a path, or an open file.

    Raises:
        ReportError: if the source cannot be read, is not a report, or has an unknown schema.

    """
    return ShownReport.from_report(read_report(source))
