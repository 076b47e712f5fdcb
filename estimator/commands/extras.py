"""The option ``--with``: figures that a report has only on request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from estimator.commands.options import BETWEEN_0_AND_1, NumberRange
from estimator.errors import RequestError
from estimator.results.request import Request

ROWS: Final = frozenset({"csv", "parquet"})
"""Formats with one row per estimate and no place for a whole tally."""

FOR_PEOPLE: Final = frozenset({"table", "html"})
"""Formats that have no place for a matrix."""

MOST_CANDIDATES_BYTES: Final = 2**24
"""A list of a million texts. Each widens the simultaneous intervals of a report."""


@dataclass(frozen=True, slots=True)
class RequestedExtra:
    """One name that ``--with`` knows.

    Attributes:
        field: its field of a request.
        does: what it adds to a report.
        value: the type of the value after ``=``, or None if it takes none.
        metavar: the value's name.
        example: a value.
        absent: the formats that cannot show it.

    """

    field: str
    does: str
    value: click.ParamType[Any] | None = None
    metavar: str = ""
    example: str = ""
    absent: frozenset[str] = frozenset()


EXTRAS: Final[dict[str, RequestedExtra]] = {
    "simultaneous": RequestedExtra(
        "simultaneous", "Intervals that contain the true values of all figures of a tally at once."
    ),
    "pooled": RequestedExtra("pool", "All windows of a metric together, and the change between windows."),
    "clusters": RequestedExtra(
        "clusters", "Clusters of numbers, scales, counts and pairs, and how many there are.", absent=ROWS
    ),
    "covariance": RequestedExtra(
        "covariance", "The covariance matrix of all shares of a metric.", absent=ROWS | FOR_PEOPLE
    ),
    "poisoning": RequestedExtra(
        "fakes",
        "How far this fraction of fabricated reports could move each share, and a test of each tally.",
        BETWEEN_0_AND_1,
        "FRACTION",
        "0.01",
        ROWS,
    ),
    "central": RequestedExtra(
        "central_delta",
        "The epsilon of each closed tally at this delta, if only tallies are published.",
        BETWEEN_0_AND_1,
        "DELTA",
        "1e-6",
        ROWS,
    ),
    "installs": RequestedExtra(
        "installs",
        "Bounds for all N installations, including devices that report nothing.",
        click.IntRange(1),
        "N",
        "5000",
    ),
    "asked": RequestedExtra(
        "asked",
        "The share of devices that are asked in a window, where the schedule does not determine it.",
        NumberRange(0, 1, min_open=True),
        "SHARE",
        "0.5",
    ),
    "candidates": RequestedExtra(
        "candidates",
        "The share of each text in this file, one per line, for metrics of texts.",
        click.Path(path_type=Path),
        "FILE",
        "words.txt",
    ),
}
"""Every extra by its name."""


def written(name: str) -> str:
    """Return an extra as one writes it, such as ``central=DELTA``."""
    return f"{name}={EXTRAS[name].metavar}" if EXTRAS[name].value else name


class ExtraList(click.ParamType[tuple[tuple[str, Any], ...]]):
    """Extras with their values, separated by commas."""

    name = "extras"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 as in the base
        """Return pairs of a name and a value. Any other text is a usage error."""
        return tuple(self._extra(part.strip(), param, ctx) for part in str(value).split(","))

    def _extra(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if name not in EXTRAS:
            self.fail(f"there is no extra {name!r}; choose from: {', '.join(map(written, EXTRAS))}", param, ctx)
        extra = EXTRAS[name]
        if extra.value is None:
            if equals:
                self.fail(f"{name} takes no value; write {name}", param, ctx)
            return name, True
        example = f"write {written(name)}, such as {name}={extra.example}"
        if not value:
            self.fail(f"{name} needs a value; {example}", param, ctx)
        try:
            return name, extra.value.convert(value, None, ctx)
        except click.BadParameter as error:
            self.fail(f"{text!r}: {error.message.rstrip('.')}; {example}", param, ctx)


def _without_repeats(
    ctx: click.Context, param: click.Parameter, lists: Iterable[tuple[tuple[str, Any], ...]]
) -> dict[str, Any]:
    extras: dict[str, Any] = {}
    for name, value in (pair for pairs in lists for pair in pairs):
        if name in extras:
            raise click.BadParameter(f"{name} is given twice; keep one", ctx, param)
        extras[name] = value
    return extras


WITH: Final = click.option(
    "--with",
    "extras",
    metavar="EXTRA,…",
    multiple=True,
    type=ExtraList(),
    callback=_without_repeats,
    help="Add figures, such as clusters,central=1e-6: see Extras. Repeatable.",
)


class CommandWithExtras(click.Command):
    """A command that takes ``--with`` and lists the extras in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the extras."""
        super().format_options(ctx, formatter)
        with formatter.section("Extras"):
            formatter.write_dl([(written(name), extra.does) for name, extra in EXTRAS.items()])


def request_for(extras: Mapping[str, Any], ranges: tuple[tuple[str, float, float], ...], *, form: str) -> Request:
    """Return what is requested of each tally.

    Args:
        extras: the values of ``--with`` by name.
        ranges: those of ``--range``.
        form: the format of the report.

    Raises:
        click.UsageError: if the format has no place for an extra.
        RequestError: if the file of candidates cannot be read.

    """
    for name in extras:
        others = [each for each in ("table", "html", "json", "csv", "parquet") if each not in EXTRAS[name].absent]
        if form not in others:
            raise click.UsageError(
                f"--with {name}: the format {form} has no place for it; choose another --format: {', '.join(others)}"
            )
    fields = {EXTRAS[name].field: value for name, value in extras.items()}
    if "candidates" in fields:
        fields["candidates"] = read_candidates(fields["candidates"])
    return Request(**fields, ranges=ranges, highlights=form in FOR_PEOPLE)


def read_candidates(path: Path) -> tuple[str, ...]:
    """Return the texts of a file, one a line, without empty lines and a mark of its byte order.

    A line ends with LF or CR LF. Other characters that end a line elsewhere can stand within a text
    of bytes.

    Raises:
        RequestError: if the file cannot be read, is too large, or is no UTF-8 text.

    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_CANDIDATES_BYTES + 1)
        if len(content) > MOST_CANDIDATES_BYTES:
            raise RequestError(f"{path} has more than {MOST_CANDIDATES_BYTES:,} bytes; name fewer texts")
        return tuple(filter(None, (line.removesuffix("\r") for line in content.decode("utf-8-sig").split("\n"))))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}; name a file with a text a line") from error
    except UnicodeDecodeError:
        raise RequestError(f"{path} is not UTF-8 text; save it as UTF-8") from None
