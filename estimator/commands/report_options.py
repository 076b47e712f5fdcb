"""The options of the command ``report``, and the mistakes that they can make together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from client_sdk.protocol.same_file import is_same_file, replaced
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.base_url import is_base_url, is_readable_on_the_way
from estimator.archive.folder import INDEX, PAGE
from estimator.errors import RequestError
from estimator.own_files import is_not_ours
from estimator.render import BINARY_FORMATS
from estimator.results.request import Request, Selection
from estimator.tallies.read import STDIN

ROWS = ("csv", "parquet")
"""The forms that have a row for each estimate and no place for a whole tally."""

MOST_CANDIDATES_BYTES = 2**24
"""A list of a million words. Each widens all intervals of a report that are to hold together."""

STDOUT = Path("-")
"""Many programs take this for standard output. Nobody wants a file of this name."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """The options of ``report``. Their meaning stands in its help."""

    registry: Path
    collector: str | None
    allow_plain_http: bool
    tallies: Path | None
    preliminary: bool
    first: Window | None
    last: Window | None
    simultaneous: bool
    covariance: bool
    central_delta: float | None
    pool: bool
    clusters: bool
    fakes: float | None
    ranges: tuple[tuple[str, float, float], ...]
    candidates: Path | None
    installs: int | None
    asked: float | None
    alerts: tuple[str, ...]
    form: str | None
    html: Path | None
    model: tuple[str, Path] | None
    output: Path | None
    out: Path | None
    every: str | None
    watch_s: float | None
    verbose: bool
    no_color: bool

    @property
    def printed(self) -> str | None:
        """The form that is printed or written to ``--output``.

        None where only a page or a model is requested.
        """
        is_elsewhere = self.html is not None or self.model is not None
        return "table" if self.form is None and (not is_elsewhere or self.output is not None) else self.form

    @property
    def files(self) -> list[Path]:
        """The files that are written."""
        model = None if self.model is None else self.model[1]
        return [file for file in (self.html, self.output, model) if file is not None]

    @property
    def _replaced(self) -> Path | None:
        """A file that is read and would be replaced; None if there is none."""
        index = [] if self.out is None else [self.out / INDEX, self.out / PAGE]
        tallies = Path("/dev/stdin") if self.tallies == STDIN else self.tallies
        read = [file for file in (self.registry, tallies, self.candidates) if file is not None]
        return replaced([*self.files, *index], read)

    @property
    def _foreign(self) -> Path | None:
        """A file that no report has written and that would be replaced; None if there is none."""
        return next(filter(is_not_ours, self.files), None)

    @property
    def _is_readable_on_the_way(self) -> bool:
        """Whether the collector is another machine without TLS; `fetch` refuses what is no URL."""
        collector = self.collector or ""
        return is_base_url(collector) and is_readable_on_the_way(collector)

    @property
    def request(self) -> Request:
        """What is requested of each tally."""
        return Request(
            simultaneous=self.simultaneous,
            covariance=self.covariance,
            central_delta=self.central_delta,
            pool=self.pool,
            fakes=self.fakes,
            clusters=self.clusters,
            ranges=self.ranges,
            candidates=() if self.candidates is None else read_candidates(self.candidates),
            highlights=self.html is not None or self.printed == "table",
            installs=self.installs,
            asked=self.asked,
        )

    @property
    def selection(self) -> Selection:
        """Which windows are requested."""
        return Selection(self.first, self.last, self.preliminary or self.watch_s is not None)

    def mistakes(self) -> Iterator[tuple[object, str]]:
        """Yield whether each possible mistake was made, and a sentence on what to do about it."""
        yield (
            (self.collector is None) == (self.tallies is None),
            "say where the tallies are: either --collector URL or --tallies FILE",
        )
        yield (
            self._is_readable_on_the_way and not self.allow_plain_http,
            (
                "--collector must be an https:// URL, unless it is on this machine: anybody on the way could read the "
                "token and change the tallies; --allow-plain-http reads them nevertheless"
            ),
        )
        yield (
            self.first and self.last and self.first.starts_at >= self.last.ends_at,
            f"--from {self.first} begins after --to {self.last} has ended; exchange them",
        )
        yield (
            self.covariance and self.printed != "json",
            "a covariance is a matrix, which only JSON holds; add --format json",
        )
        yield (
            self.central_delta is not None and self.printed in ROWS,
            "a central epsilon is of a whole tally, not of a row; take --format table or json",
        )
        yield (
            (self.fakes is not None or self.clusters) and self.printed in ROWS,
            "tests and clusters are of a whole tally, not of a row; take --format table or json",
        )
        yield (
            self.output is None and self.printed in BINARY_FORMATS,
            f"{self.printed} is not for the eye; add --output FILE",
        )
        yield (
            any(is_same_file(*pair) for pair in combinations(self.files, 2)),
            "--html, --model and --output name the same file; the one would replace the other",
        )
        yield (
            self._replaced,
            f"{self._replaced} is read here, and the report would replace it; name another file to write",
        )
        yield (
            self._foreign,
            f"{self._foreign} was not written by a report, and is left as it is; name another file to write",
        )
        yield (
            STDOUT in self.files,
            "- is no file here; leave --output out for standard output, and give --html and --model a file",
        )
        yield (
            self.verbose and self.printed != "table",
            "--verbose is of the table; every other form has all figures, so leave it out",
        )
        yield (self.out is None) != (self.every is None), "--out DIR and --every window belong together"
        elsewhere = self.files or self.printed != "table"
        yield (
            self.out and (self.preliminary or self.pool or elsewhere),
            (
                "--out writes closed windows in every form, without --preliminary, --pool, --output, --html, --model "
                "and --format"
            ),
        )
        yield (
            self.watch_s is not None and (self.collector is None or self.out or elsewhere),
            (
                "--watch draws the table of a collector; leave out --tallies, --out, --output, --html, --model and "
                "--format"
            ),
        )
        yield (
            self.alerts and (self.preliminary or self.watch_s is not None),
            (
                "--alert judges closed windows alone, because one that is looked at while it is open fires by chance "
                "in the end; leave out --preliminary and --watch"
            ),
        )
