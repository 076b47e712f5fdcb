"""The options that `report`, `watch` and `archive` share: the source of tallies, and ``--with``.

Tallies come from a file or a collector. ``--with`` names optional figures of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from client_sdk.protocol.command_line import replaced
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.base_url import is_readable_on_the_way
from estimator.commands.options import BETWEEN_0_AND_1, NumberRange, RangeOfMetric, WholeRange, WindowType
from estimator.errors import RequestError
from estimator.fetch import NO_COLLECTOR, TOKEN_VARIABLE, fetch, is_collector, token_of_environment
from estimator.report.report import check_candidates, check_ranges
from estimator.report.strata import check_installs
from estimator.results.report import Request, Selection
from estimator.tallies import STDIN, Bounds, Tally, read_file

COLLECTOR: Final = click.option(
    "--collector", metavar="URL", help=f"Read tallies from this collector. The read token is in {TOKEN_VARIABLE}."
)

PLAIN_HTTP: Final = click.option(
    "--allow-plain-http",
    is_flag=True,
    help="Accept an http:// URL of another machine. Anyone on the network path can read the token.",
)

TALLIES: Final = click.option(
    "--tallies",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Read tallies from an NDJSON file; - is standard input.",
)

FIRST: Final = click.option(
    "--from", "first", metavar="WINDOW", type=WindowType(), help="The first window: a day, week or month."
)

LAST: Final = click.option("--to", "last", metavar="WINDOW", type=WindowType(), help="The last window, included.")

OPENMETRICS: Final = frozenset({"openmetrics"})

ROWS: Final = frozenset({"csv", "parquet"}) | OPENMETRICS
"""The formats with one row for each estimate, which omit facts about a whole tally."""

FOR_PEOPLE: Final = frozenset({"table", "html"})
"""The formats for people, which cannot show a matrix."""

MOST_CANDIDATES_BYTES: Final = 2**24
"""The maximum size of a file of candidate texts, in bytes. The maximum allows about a million
texts.
"""


def check_collector(collector: str, *, allow_plain_http: bool) -> None:
    """Refuse an invalid URL, and plain HTTP to a collector on another machine.

    Raises:
        click.UsageError: if the URL is refused. The message says what to do.

    """
    if not is_collector(collector):
        raise click.UsageError(NO_COLLECTOR)
    if is_readable_on_the_way(collector) and not allow_plain_http:
        raise click.UsageError(
            "--collector must be an https:// URL, unless it is on this machine: anyone on the network path could read "
            "the token and change the tallies. Add --allow-plain-http to accept this risk"
        )


def check_source(collector: str | None, tallies: Path | None, *, allow_plain_http: bool) -> None:
    """Require exactly one source of tallies: a file or a collector.

    Raises:
        click.UsageError: if there is not exactly one source. The message says what to do.
    """
    if (collector is None) == (tallies is None):
        raise click.UsageError("name exactly one source of tallies: --collector URL or --tallies FILE")
    if collector is not None:
        check_collector(collector, allow_plain_http=allow_plain_http)


def selection_of(first: Window | None, last: Window | None, *, preliminary: bool = False) -> Selection:
    """Return the selection of the windows from the first to the last.

    Raises:
        click.UsageError: if the first window begins after the end of the last window.

    """
    if first and last and first.starts_at >= last.ends_at:
        raise click.UsageError(f"--from {first} begins after --to {last} has ended; swap them")
    return Selection(first, last, preliminary)


def check_request(registry: Registry, request: Request) -> None:
    """Refuse requested figures that no metric of the registry has.

    The check runs before tallies are read.

    Raises:
        RequestError: if a figure is refused. The message names the figure, and says what to do.
        UnknownMetricError: if the registry does not define a metric.

    """
    check_ranges(registry, request.ranges)
    check_candidates(registry, request.candidates)
    check_installs(registry, request)


def read_tallies(
    registry: Registry, collector: str | None, tallies: Path | None, selection: Selection
) -> tuple[list[Tally], datetime | None]:
    """Return the tallies, and the time at which the collector read open windows, if known.

    Raises:
        TalliesError: if the tallies cannot be read.
        click.UsageError: if there is no read token for the collector.
    """
    bounds = Bounds.from_metrics(registry.counted, selection.spans)
    if tallies is not None:
        return read_file(tallies, bounds), None
    fetched = fetch(collector or "", read_token(), preliminary=selection.preliminary, bounds=bounds)
    return fetched.tallies, fetched.snapshot_at


def read_token() -> str:
    """Return the read token from the environment.

    Raises:
        click.UsageError: if there is no token, if there are two, or if the token does not fit into
            an HTTP header.
    """
    try:
        return token_of_environment()
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def require_unread(files: Sequence[Path], read: Sequence[Path | None]) -> None:
    """Refuse to overwrite a file that the command reads.

    ``files`` are the output files, and ``read`` the input files. None in ``read`` stands for an
    input that is not used.

    Raises:
        click.UsageError: if an input would be overwritten. The message names the file.
    """
    names = [Path("/dev/stdin") if file == STDIN else file for file in read if file is not None]
    taken = replaced(files, names)
    if taken is not None:
        raise click.UsageError(f"{taken} is an input, and the report would overwrite it; name another file to write")


@dataclass(frozen=True, slots=True)
class RequestedExtra:
    """An optional addition to a report, which users request by a name after ``--with``.

    Attributes:
        field: the field of `Request` for this addition.
        does: a description of the added figures.
        value: the type of the value after ``=``. None if the name takes no value.
        metavar: the placeholder for the value in the help.
        example: an example of a value.
        absent: the formats that cannot show the addition.
        is_repeatable: whether the user may give the name more than once.
    """

    field: str
    does: str
    value: click.ParamType[Any] | None = None
    metavar: str = ""
    example: str = ""
    absent: frozenset[str] = frozenset()
    is_repeatable: bool = False


EXTRAS: Final[dict[str, RequestedExtra]] = {
    "simultaneous": RequestedExtra(
        "simultaneous", "Simultaneous intervals, which contain the true values of all figures of a tally together."
    ),
    "pooled": RequestedExtra("pool", "Figures over all windows of a metric together.", absent=OPENMETRICS),
    "clusters": RequestedExtra("clusters", "Clusters of answers, for numbers, counts, scales and pairs.", absent=ROWS),
    "covariance": RequestedExtra(
        "covariance", "The covariance matrix of all shares of a metric.", absent=ROWS | FOR_PEOPLE
    ),
    "poisoning": RequestedExtra(
        "fakes",
        "How far this fraction of fabricated reports could move each figure, and whether each tally is plausible.",
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
        "Bounds on figures of all N installations, including those that do not participate.",
        WholeRange(1),
        "N",
        "5000",
    ),
    "asked": RequestedExtra(
        "asked",
        "The share of devices that are asked in a window, if the schedule does not determine this share.",
        NumberRange(0, 1, min_open=True),
        "SHARE",
        "0.5",
    ),
    "candidates": RequestedExtra(
        "candidates",
        "For questions about texts, the share of each text in this file. The file has one text per line.",
        click.Path(path_type=Path),
        "FILE",
        "words.txt",
    ),
    "range": RequestedExtra(
        "ranges",
        "The share of answers between two numbers (both included), for a metric with a distribution. Repeatable.",
        RangeOfMetric(),
        "METRIC:FROM:TO",
        "startup_ms:2000:5000",
        is_repeatable=True,
    ),
}
"""The optional additions to a report, keyed by the name that users write after ``--with``."""


def written(name: str) -> str:
    """Return a name with its placeholder, such as ``central=DELTA``."""
    return f"{name}={EXTRAS[name].metavar}" if EXTRAS[name].value else name


class ExtraList(click.ParamType[tuple[tuple[str, Any], ...]]):
    """The type of the argument of ``--with``, such as ``pooled,installs=5000``.

    Attributes:
        known: the accepted names.
    """

    name = "extras"

    def __init__(self, known: Iterable[str]) -> None:
        """Store the names."""
        self.known = tuple(known)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ANN401 as in the base
        """Return a pair of name and value for each item. A malformed string is a usage error."""
        return tuple(self._extra(part.strip(), param, ctx) for part in str(value).split(","))

    def _extra(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, equals, value = text.partition("=")
        if name not in self.known:
            self.fail(f"there is no extra {name!r}; choose from: {', '.join(map(written, self.known))}", param, ctx)
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
        if EXTRAS[name].is_repeatable:
            extras[name] = (*extras.get(name, ()), value)
            continue
        if name in extras:
            raise click.BadParameter(f"{name} is given twice; keep one", ctx, param)
        extras[name] = value
    return extras


def with_extras(known: Iterable[str], example: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option ``--with`` for a command that accepts the given names."""
    return click.option(
        "--with",
        "extras",
        metavar="EXTRA,…",
        multiple=True,
        type=ExtraList(known),
        callback=_without_repeats,
        help=f"Add figures, such as {example} (see Extras). Repeatable.",
    )


WITH: Final = with_extras(EXTRAS, "clusters,central=1e-6")
"""The option ``--with`` of the commands `report`, `watch` and `archive`."""


class CommandWithExtras(click.Command):
    """A command that accepts ``--with``, and lists the accepted names in its help."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, then the accepted names of ``--with``."""
        super().format_options(ctx, formatter)
        known = next(param.type.known for param in self.params if isinstance(param.type, ExtraList))
        with formatter.section("Extras"):
            formatter.write_dl([(written(name), EXTRAS[name].does) for name in known])


def request_for(extras: Mapping[str, Any], *, form: str) -> Request:
    """Return a request for the figures that the user named after ``--with``.

    Raises:
        click.UsageError: if the format cannot show one of these figures.
        RequestError: if the file of candidates cannot be read.
    """
    for name in extras:
        others = [
            each
            for each in ("table", "html", "json", "csv", "parquet", "openmetrics")
            if each not in EXTRAS[name].absent
        ]
        if form not in others:
            raise click.UsageError(
                f"--with {name}: the format {form} cannot show these figures; choose another --format: "
                f"{', '.join(others)}"
            )
    fields = {EXTRAS[name].field: value for name, value in extras.items()}
    if "candidates" in fields:
        fields["candidates"] = read_candidates(fields["candidates"])
    return Request(**fields, highlights=form in FOR_PEOPLE)


def read_candidates(path: Path) -> tuple[str, ...]:
    """Return the texts of a file, one per line. Empty lines and a byte order mark are left out.

    Only LF and CR LF end a line. Other line breaks, such as U+2028, can be part of a text.

    Raises:
        RequestError: if the file cannot be read, is too large, or is not UTF-8 text.
    """
    try:
        with path.open("rb") as file:
            content = file.read(MOST_CANDIDATES_BYTES + 1)
        if len(content) > MOST_CANDIDATES_BYTES:
            raise RequestError(f"{path} has more than {MOST_CANDIDATES_BYTES:,} bytes; remove some texts")
        return tuple(filter(None, (line.removesuffix("\r") for line in content.decode("utf-8-sig").split("\n"))))
    except OSError as error:
        raise RequestError(f"{path} cannot be read: {error.strerror}; name a file with one text per line") from error
    except UnicodeDecodeError:
        raise RequestError(f"{path} is not UTF-8 text; save it as UTF-8") from None
