"""What every command prints about one registry with every kind, as files in ``printed``.

``make golden`` writes them again. A commit that changes one of them lists the changed lines and
says why.

The tallies were drawn once, through the real mechanisms; neither they nor the answers beside them
are ever drawn again.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import io
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from click.testing import CliRunner

from client_sdk import cli as client
from estimator.commands.cli import command as estimator

FOLDER: Final = Path(__file__).parent
METRICS: Final = FOLDER / "metrics.toml"
PRINTED: Final = FOLDER / "printed"
NAMES: Final = FOLDER / "public_names.txt"
PUBLIC: Final = ("client_sdk", "client_sdk.testing", "estimator")

_REPORT: Final = "estimator report --registry metrics.toml --tallies tallies.ndjson"
_REHEARSE: Final = "estimator rehearse --registry metrics.toml --csv answers.csv --repeat 100 --seed 7"
_PLAN: Final = "estimator plan --registry metrics.toml --population 50000 --today 2026-11-24"
_EVERYTHING: Final = (
    "--with pooled,poisoning=0.01,central=1e-9,simultaneous "
    "--with installs=9000,asked=0.5,candidates=candidates.txt,range=width:1000:2000"
)

COMMANDS: Final = {
    "check.txt": "client check --registry metrics.toml",
    "schema.json": "client schema",
    "codegen.py.txt": "client codegen --registry metrics.toml",
    "refused_for_web.txt": "client compile --registry metrics.toml --target web",
    "compiled_for_web.js": "client compile --registry web.toml --target web",
    "compiled_for_node.js": "client compile --registry web.toml --target node",
    "clusters.txt": f"{_REPORT.replace('metrics.toml', 'web.toml')} --from 2026-11-04 --to 2026-11-04 --with clusters",
    "statement.en.md": f"{_PLAN} --statement",
    "statement.de.md": f"{_PLAN} --statement --language de",
    "plan.txt": _PLAN,
    "plan.json": f"{_PLAN} --format json",
    "plan_check.txt": f"{_PLAN} --check",
    "plan_allocation.txt": f"{_PLAN} --allocate 30",
    "report.txt": f"{_REPORT} --preliminary",
    "report_pooled.txt": f"{_REPORT} --with pooled",
    "report_everything.txt": f"{_REPORT} {_EVERYTHING}",
    "report_verbose.txt": f"{_REPORT} {_EVERYTHING} --verbose",
    "report.csv": f"{_REPORT} --with candidates=candidates.txt,range=width:1000:2000 --format csv",
    "report.prom": f"{_REPORT} --with candidates=candidates.txt --format openmetrics",
    "report.json": f"{_REPORT} {_EVERYTHING} --with covariance --format json",
    "page.html": f"{_REPORT} --with pooled,poisoning=0.01 --output page.html",
    "model.json": f"{_REPORT} --metric limitation --format model --output model.json",
    "rehearsal.txt": _REHEARSE,
    "rehearsal.json": f"{_REHEARSE} --rounds 2 --format json",
}
"""From the name of a file to the command that prints or writes it."""

_DIGITS: Final = 9
_DECIMAL: Final = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+")
_NUMBER: Final = re.compile(r'(?:"(?P<field>\w+)": )?(?P<number>-?\d+(?:\.\d+)?(?:e[-+]?\d+)?)')

_BETWEEN_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")

_FITTED: Final = frozenset({"estimate", "low", "high", "candidates"})
"""Fields that may hold what a search finds. It ends at another point on another processor, which
adds in another order; the files of `_OF_FITS` show the same figures without the names of fields.
"""

_OF_FITS: Final = frozenset({"report.csv", "report.prom", "page.html"})

_OF_ROUNDED_FITS: Final = frozenset({"report_everything.txt", "report_verbose.txt"})
"""They show limits of fits in tens from 1,000 on. A limit near a ten may be the ten below."""

_ANYWHERE: Final = frozenset({"maximum_likelihood", "population", "noise_alone"})
"""Fields that may differ by any amount: where a likelihood is flat, the search ends anywhere on the
flat; and how often intervals held in two rounds may hang on a last digit.
"""


def unlike(name: str, printed: str, reviewed: str) -> list[tuple[str, str]]:
    """Return the numbers, or else the texts, that differ by more than the processor explains."""
    if name == "report.csv":
        printed, reviewed = map(_without_flats, (printed, reviewed))
    if name.endswith(".txt"):
        printed, reviewed = (_BETWEEN_THOUSANDS.sub("", text) for text in (printed, reviewed))
    texts = [_NUMBER.sub(lambda found: f"{found['field'] or ''}#", text) for text in (printed, reviewed)]
    if texts[0] != texts[1]:
        return [(printed, reviewed)]
    pairs = zip(_NUMBER.finditer(printed), _NUMBER.finditer(reviewed), strict=True)
    return [
        (found["number"], expected["number"])
        for found, expected in pairs
        if found["field"] not in _ANYWHERE
        and not (name in _OF_ROUNDED_FITS and _are_neighboring_tens(found["number"], expected["number"]))
        and not _is_close(found["number"], expected["number"], _tolerances(name, found["field"]))
    ]


def _without_flats(table: str) -> str:
    """Return what prints CSV without the columns that may differ by any amount."""
    rows = list(csv.reader(io.StringIO(table)))
    head = next(row for row in rows if "estimate" in row)
    flats = [head.index(name) for name in _ANYWHERE.intersection(head)]
    return "\n".join(",".join(cell for place, cell in enumerate(row) if place not in flats) for row in rows)


def _tolerances(name: str, field: str | None) -> tuple[float, float]:
    """Return by how much a number may differ, relative to it and at all.

    The limit of a fitted quantile is the edge of a cell, or the next one: 40 apart near 800.
    """
    if name == "rehearsal.txt":
        return 0.1, 0.11
    if name in _OF_FITS or field in _FITTED:
        return (0.1 if name == "rehearsal.json" else 1e-2), 1e-3
    return 1e-6, 1e-9


def _are_neighboring_tens(*numbers: str) -> bool:
    if not all(number.isdecimal() and number.endswith("0") for number in numbers):
        return False
    low, high = sorted(map(int, numbers))
    return low >= 1000 and high - low <= 10


def _is_close(number: str, other: str, tolerances: tuple[float, float]) -> bool:
    if number == other:
        return True
    if tolerances[0] > 1e-6 and number.endswith(".0") and other.endswith(".0"):
        return abs(float(number) - float(other)) <= 1  # the limit of a quantile is a whole number, or the next one
    return math.isclose(float(number), float(other), rel_tol=tolerances[0], abs_tol=tolerances[1])


def outputs(names: list[str], into: Path) -> dict[str, str]:
    """Return what commands print, by the name of its file.

    Args:
        names: of ``COMMANDS``.
        into: an empty folder, into which what they read is copied and in which they run.

    """
    for path in FOLDER.iterdir():
        if path.suffix in (".toml", ".ndjson", ".csv", ".txt"):
            shutil.copy(path, into)
    with contextlib.chdir(into):
        return {name: _settled(name, _run(name, COMMANDS[name])) for name in names}


def public_names() -> str:
    """Return every public name with its arguments; of a class also its public methods."""
    return "".join(line for package in PUBLIC for line in _names_of(import_module(package)))


def _names_of(package: ModuleType) -> Iterator[str]:
    for name in package.__all__:
        named = getattr(package, name)
        yield f"{package.__name__}.{name}{_arguments(named)}\n"
        own = (
            [each for each in named.__mro__ if each.__module__.partition(".")[0] in PUBLIC]
            if inspect.isclass(named)
            else []
        )
        members = sorted({member for each in own for member in vars(each) if not member.startswith("_")})
        yield from (f"    {member}{_arguments(getattr(named, member, None))}\n" for member in members)


def _arguments(named: object) -> str:
    """Return the arguments of a function, or of a class that takes its own; without types."""
    if not inspect.isroutine(named) and not (inspect.isclass(named) and "__init__" in vars(named)):
        return ""
    parameters = [
        each.replace(annotation=each.empty, default=each.empty if each.default is each.empty else ...)
        for each in inspect.signature(named).parameters.values()
        if each.name != "self"
    ]
    return str(inspect.Signature(parameters)).replace("=Ellipsis", "=…")


def _run(name: str, command: str) -> str:
    program, *arguments = command.split()
    printed = {"client": _of_client, "estimator": _of_estimator}[program](arguments)
    return Path(name).read_text(encoding="utf-8") if name in arguments else printed


def _of_client(arguments: list[str]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = client.main(arguments)
    return f"{printed.getvalue()}" + (f"exit status {status}\n" if status else "")


def _of_estimator(arguments: list[str]) -> str:
    result = CliRunner(env={"COLUMNS": "80", "NO_COLOR": "1"}).invoke(estimator, arguments)
    return result.output + (f"exit status {result.exit_code}\n" if result.exit_code else "")


def _settled(name: str, text: str) -> str:
    """Return a text with a line for each value of JSON, and without last digits of numbers.

    Those depend on the processor.
    """
    settle: Callable[[str], str] = _page_data if name.endswith(".html") else str
    text = settle(text)
    if name.endswith((".json", ".html")):
        told, _, rest = text.partition("{") if not text.startswith("{") else ("", "", text[1:])
        text = told + json.dumps(json.loads("{" + rest), indent=1, ensure_ascii=False) + "\n"
    return _DECIMAL.sub(lambda found: _rounded(found.group()), text)


def _rounded(number: str) -> str:
    digits = number.lstrip("-").partition("e")[0].replace(".", "").lstrip("0")
    return number if len(digits) <= _DIGITS else f"{float(number):.{_DIGITS}g}"


def _page_data(page: str) -> str:
    found = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert found is not None, "the page has no data"
    return found[1]


if __name__ == "__main__":
    import tempfile

    NAMES.write_text(public_names(), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        for written, content in outputs(sys.argv[1:] or list(COMMANDS), Path(folder)).items():
            reviewed = PRINTED / written
            if not reviewed.exists() or unlike(written, content, reviewed.read_text(encoding="utf-8")):
                reviewed.write_text(content, encoding="utf-8")
