"""The commands that do not read an app's ledger.

* ``check`` lists a registry's mistakes, and the reasons not to release it.
* ``init`` writes a registry with three sample metrics.
* ``release`` adds a registry to its history, so that collectors still count reports from earlier
  versions of the app.
* ``completion`` prints a script with which a shell completes commands and options.

This module carries out these four commands. This module also parses the options of commands in
other modules, such as ``compile``.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from shlex import quote
from typing import TypeAlias

from client_sdk.commands import Outcome
from client_sdk.commands.codegen import codegen
from client_sdk.commands.compile import Target, compile_registry
from client_sdk.commands.json_schema import schema
from client_sdk.protocol.errors import RegistryError
from client_sdk.protocol.registry import differences, history
from client_sdk.protocol.registry.limits import remarks
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.toml_table import MAX_TEXT, is_text

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 it has no public name

_REGISTRY = Path("metrics.toml")

STARTER = Path(__file__).with_name("starter.toml")
"""The registry with sample metrics, which ``init`` writes."""

_APP = '"acme-notes"'
_LAST_DAY = "2027-12-31"

Words = Mapping[str, tuple[str, ...]]
"""A mapping from the name of a command to the command's options."""


def add_to(commands: Subparsers) -> None:
    """Add the commands to a parser.

    To run a parsed command, call the attribute ``work`` of the parsed arguments.
    """
    checking = _add(
        commands,
        "check",
        "Check a registry: list its mistakes, and the changes since the last release.",
        lambda given: check(given.registry, _today(), given.against),
    )
    checking.add_argument("--against", metavar="OLD", type=Path, help=f"Compare with {differences.HELP}.")
    releasing = _add(
        commands,
        "release",
        "Add a registry to its history, so that reports of released apps still count after a change.",
        lambda given: release(given.registry, given.history, given.day, _today(), only_checks=given.check),
    )
    releasing.add_argument(
        "--history", metavar="FILE", type=Path, help="The history file.  [default: NAME.history.toml for NAME.toml]"
    )
    releasing.add_argument(
        "--day", metavar="DAY", type=_day, help="The date of the release, such as 2026-11-28.  [default: today]"
    )
    releasing.add_argument(
        "--check", action="store_true", help="Fail if the registry is not in its history, and write nothing."
    )
    starting = _add(commands, "init", "Write a registry with three sample questions.", _init)
    starting.add_argument("--app", metavar="NAME", type=_app_name, help="The app's name.")
    writing = _add(
        commands,
        "codegen",
        "Write a Python module with a typed object for each question.",
        lambda given: codegen(given.registry, given.output),
    )
    writing.add_argument("--output", metavar="FILE", type=Path, help="The file to write.  [default: standard output]")
    compiling = _add(
        commands,
        "compile",
        "Compile a registry for the SDK for browsers and Node.",
        _compile,
    )
    compiling.add_argument("--target", choices=[to.value for to in Target], required=True, help="Where the app runs.")
    compiling.add_argument(
        "--output", metavar="FILE.js", type=Path, help="The file to write.  [default: standard output]"
    )
    compiling.add_argument(
        "--check", action="store_true", help="Fail if the file is not up to date, and write nothing."
    )
    compiling.add_argument("--trial", action="store_true", help="Compile for a trial: the console shows every step.")
    of_schema = commands.add_parser("schema", usage="%(prog)s [OPTIONS]", help=_SCHEMA, description=_SCHEMA)
    of_schema.set_defaults(work=lambda _: schema())
    testing = commands.add_parser("selftest", usage="%(prog)s [OPTIONS]", help=_SELFTEST, description=_SELFTEST)
    testing.add_argument(
        "--data-dir",
        metavar="DIR",
        type=Path,
        help="A folder on the disk that is checked.  [default: the temporary folder]",
    )
    testing.set_defaults(work=_selftest)
    completing = commands.add_parser(
        "completion", usage="%(prog)s [OPTIONS] SHELL", help=_COMPLETION, description=_COMPLETION
    )
    completing.add_argument("shell", choices=SHELLS, help="The shell.")
    completing.set_defaults(work=lambda given: completion(given.shell, words_of(commands.choices)))


_SCHEMA = "Print the JSON Schema with which editors check registries."
_SELFTEST = "Check that this system provides what the SDK needs. The check takes a few seconds."
_COMPLETION = "Print a script for shell completion of commands and options."


def _add(
    commands: Subparsers, name: str, purpose: str, work: Callable[[argparse.Namespace], Outcome]
) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, usage="%(prog)s [OPTIONS]", help=purpose, description=purpose)
    parser.add_argument(
        "--registry", metavar="FILE", type=Path, default=_REGISTRY, help="The registry file.  [default: %(default)s]"
    )
    parser.set_defaults(work=work)
    return parser


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a date, such as 2026-11-28") from None


def _app_name(text: str) -> str:
    if not is_text(text):
        raise argparse.ArgumentTypeError(f"must be the app's name, in 1 to {MAX_TEXT} printable characters")
    return text


def _compile(given: argparse.Namespace) -> Outcome:
    if given.check and given.output is None:
        given.refuse("--check needs --output")
    target = Target(given.target)
    return compile_registry(given.registry, target, given.output, check=given.check, is_trial=given.trial)


def _selftest(given: argparse.Namespace) -> Outcome:
    from client_sdk.commands.selftest import selftest  # noqa: PLC0415 99 ms

    return selftest(given.data_dir)


def _init(given: argparse.Namespace) -> Outcome:
    return init(given.registry, given.app, _today())


def _today() -> date:
    return datetime.now(UTC).date()


def check(path: Path, today: date, against: Path | None = None) -> Outcome:
    """Return the mistakes of a registry or, if there are none, the reasons not to release it.

    ``against`` is the path of the earlier registry to compare with, as `differences.read` accepts
    it. None means the last release in the history, if there is one.
    """
    try:
        registry, releases = history.read(path), history.releases_in(history.path_of(path))
    except RegistryError as error:
        return Outcome(problems=tuple(str(error).splitlines()))
    before = differences.read(against) if against else releases[-1].registry if releases else None
    sentences = registry.objections(today)
    if sentences:
        return Outcome(problems=tuple(f"{path}: {sentence}" for sentence in sentences))
    number = len(registry.metrics)
    metrics = "1 question" if number == 1 else f"{number} questions"
    sound = f"{path} is valid: {metrics} in {registry.app}; the budget pays for at least one answer to each\n"
    sentences = [*remarks(registry, today), *registry.neglected(today)]
    if before is not None:
        sentences += differences.between(before, registry) or ["nothing has changed that affects counting"]
    elif against is not None:
        sentences.append(differences.nothing_at(against))
    return Outcome(sound + "".join(f"{path}: {sentence}\n" for sentence in sentences))


def init(path: Path, app: str | None, today: date) -> Outcome:
    """Write a registry that defines sample metrics, unless the file exists."""
    text = STARTER.read_text(encoding="utf-8").replace(_LAST_DAY, f"{today.year + 1}-12-31")
    if app is not None:
        text = text.replace(_APP, json.dumps(app, ensure_ascii=False), 1)
    Registry.parse(text)  # write nothing that `check` would refuse
    try:
        _write_new(path, text.encode())
    except FileExistsError:
        return Outcome(problems=(f"{path} already exists and was not changed; name another file",))
    except OSError as error:
        return Outcome(problems=(f"{path} cannot be written: {error.strerror}; name a writable file",))
    return Outcome(
        f"wrote {path}; replace the sample questions with your own, then run: hearsay-client check --registry {path}\n"
    )


def _write_new(path: Path, content: bytes) -> None:
    """Write a new file.

    If writing fails, the file is deleted, because it would block the next attempt.
    """
    path.open("xb").close()
    try:
        path.write_bytes(content)
    except BaseException:
        path.unlink()
        raise


def words_of(commands: Mapping[str, argparse.ArgumentParser]) -> Words:
    """Return the options of each command."""
    return {name: tuple(parser._option_string_actions) for name, parser in commands.items()}  # noqa: SLF001 not public


def completion(shell: str, words: Words) -> Outcome:
    """Return a shell's script for completing commands, options and file names."""
    return Outcome(SHELLS[shell](words))


def _bash(words: Words) -> str:
    return f"""\
_hearsay_client() {{
  local words
  case $COMP_CWORD:${{COMP_WORDS[1]}} in
    1:*) words={quote(" ".join(words))};;
{_cases(words, "*:")}  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _hearsay_client hearsay-client
"""


def _zsh(words: Words) -> str:
    return f"""\
_hearsay_client() {{
  local words_of
  case ${{words[2]}} in
{_cases(words, "", "words_of")}  esac
  if (( CURRENT == 2 )); then compadd -- {" ".join(words)}
  elif [[ ${{words[CURRENT]}} == -* ]]; then compadd -- ${{=words_of}}
  else _files; fi
}}
compdef _hearsay_client hearsay-client
"""


def _fish(words: Words) -> str:
    lines = [f"complete -c hearsay-client -n __fish_use_subcommand -f -a {quote(' '.join(words))}"]
    for command, options in words.items():
        seen = quote(f"__fish_seen_subcommand_from {command}")
        lines += [f"complete -c hearsay-client -n {seen} -l {option[2:]}" for option in options if option[1] == "-"]
    return "\n".join(lines) + "\n"


def _cases(words: Words, before: str, name: str = "words") -> str:
    return "".join(
        f"    {before}{command}) {name}={quote(' '.join(options))};;\n" for command, options in words.items()
    )


SHELLS: Mapping[str, Callable[[Words], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
"""Maps each shell to the function that writes its script."""


def release(path: Path, into: Path | None, day: date | None, today: date, *, only_checks: bool) -> Outcome:
    """Add a registry to its history, unless the history has a release with the same metrics.

    ``into`` is the history, by default the file next to the registry. ``day`` is the day of the
    release, by default today. If ``only_checks`` is true, write nothing, and check that the history
    contains the registry.
    """
    registry = Registry.read(path)
    file = into or history.path_of(path)
    releases = history.releases_in(file)
    history.require_same_app(registry, releases, file)
    if history.is_released(registry, releases):
        return Outcome(f"{path} is already in {file}\n")
    if only_checks:
        first = "; if you have released the app with another registry, add that registry first" if not releases else ""
        run = f"hearsay-client release --registry {path}"
        return Outcome(problems=(f"{path} is not in its history, {file}; run {run}{first}",))
    if day is not None and day > today:
        return Outcome(problems=(f"--day {day} is in the future; name the date on which the app was released",))
    if objections := registry.objections(today):
        return Outcome(problems=tuple(f"{path}: {sentence}" for sentence in objections))
    more = history.with_release(releases, history.Release(day or today, registry))
    try:
        _replace(file, history.written(more))
    except OSError as error:
        return Outcome(problems=(f"{file} cannot be written: {error.strerror}; name a writable file",))
    first = (
        ""
        if releases
        else "; it is the first release in the history: if you released the app with another registry, add it, too"
    )
    return Outcome(
        f"added {path}, released on {day or today}, to {file}{first}\n"
        f"deploy both files to the collector and the estimator, in one folder\n"
    )


def _replace(file: Path, text: str) -> None:
    """Replace a file atomically."""
    beside = file.with_name(f"{file.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, file)  # noqa: PTH105 in one atomic step
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
