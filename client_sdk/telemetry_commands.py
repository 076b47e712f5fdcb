"""Commands that let users of a command-line app control its telemetry and read its reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk import consent
from client_sdk.ledger import erase, explanations
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.registry.registry import FOLDER, Registry, registry_of
from client_sdk.protocol.sentences import ENGLISH, Sentences
from client_sdk.results import Decision, LedgerError

if TYPE_CHECKING:
    import click


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryCommands:
    """The commands on, off, status, show, statement and forget, which take no arguments.

    Iterate over the object to get the commands as functions, for any framework. No file is read
    until a command runs.

    >>> url = "https://telemetry.example.com"
    >>> commands = TelemetryCommands(registry="metrics.toml", collector=url, data_dir="app")
    >>> [each.__name__ for each in commands]
    ['on', 'off', 'status', 'show', 'statement', 'forget']
    >>> sorted(commands.click_group().commands)
    ['forget', 'off', 'on', 'show', 'statement', 'status']

    Attributes:
        registry: the same as for `client_sdk.consent.current`.
        collector: the same as for `client_sdk.consent.current`.
        data_dir: the same as for `client_sdk.consent.current`.
        variable: the same as for `client_sdk.consent.current`.
        language: the language of the commands' output.
    """

    registry: Registry | str | Path
    collector: str
    data_dir: str | Path
    variable: str | None = None
    language: str = ENGLISH

    def __iter__(self) -> Iterator[Callable[[], None]]:
        return iter((self.on, self.off, self.status, self.show, self.statement, self.forget))

    def click_group(self) -> click.Group:
        """Return the commands as a click group named ``telemetry``."""
        import click  # noqa: PLC0415 20 ms, and other apps have no click

        return click.Group(
            "telemetry",
            commands=[click.Command(each.__name__, callback=each, help=each.__doc__) for each in self],
            help="Decide what this program may report, and show what it has reported.",
        )

    def on(self) -> None:
        """Agree to all questions."""
        self._choose(agrees=True)
        self.status()

    def off(self) -> None:
        """Stop reporting, and erase what is stored."""
        self._choose(agrees=False)
        self._decision()
        self.forget()

    def status(self) -> None:
        """Say whether this program reports, and why."""
        decision = self._decision()
        if decision.consent and (problem := self._problem()):
            sys.exit(f"Error: {problem}")

    def show(self) -> None:
        """Show what has left this device."""
        ledgers = [path for path in self._paths() if ledger_file.exists(path)]
        if not ledgers:
            _say(self._asked()[1]("history.nothing"))
            return
        from client_sdk import cli  # noqa: PLC0415 20 ms

        options = "--language", self.language
        sys.exit(max(cli.main(["show", "--data-dir", str(path.parent), *options]) for path in ledgers))

    def statement(self) -> None:
        """Show the questions, their reasons, and what the answers can reveal."""
        from client_sdk.protocol.statement import statement  # noqa: PLC0415 2 ms

        _say(statement(self._asked()[0], self.language, str(self.data_dir)))

    def forget(self) -> None:
        """Erase all data about answers, but keep the choice."""
        for path in self._paths():
            try:
                if ledger_file.exists(path):
                    erase.forget(path)
            except LedgerError as error:
                sys.exit(f"Error: {error}")
        _say(self._asked()[1]("consent.forgotten"))

    def _asked(self) -> tuple[Registry, Sentences]:
        registry = registry_of(self.registry)
        return registry, registry.sentences(self.language)

    def _choose(self, *, agrees: bool) -> None:
        try:
            consent.choose(self._asked()[0], consent=agrees, collector=self.collector, data_dir=self.data_dir)
        except OSError as error:
            sys.exit(f"Error: the choice cannot be stored in {self.data_dir}: {error.strerror}")
        _say(self._asked()[1]("consent.stored"))

    def _decision(self) -> Decision:
        asked, say = self._asked()
        decision = consent.current(asked, collector=self.collector, data_dir=self.data_dir, variable=self.variable)
        _say("\n".join(consent.status(asked, decision, say)))
        return decision

    def _problem(self) -> LedgerError | None:
        """Return why nothing is recorded although the user agrees; None if there is no problem."""
        from client_sdk import show  # noqa: PLC0415 20 ms

        path, _ = self._paths()
        try:
            if ledger_file.exists(path):
                show.open_copy(path).close()
        except Exception as error:  # noqa: BLE001 any problem with the file becomes one sentence
            return explanations.explain(error, path)
        return None

    def _paths(self) -> tuple[Path, Path]:
        """Return the paths of the app's ledger and of a trial's ledger; neither need exist."""
        folder = Path(self.data_dir).absolute()
        return folder / ledger_file.FILE_NAME, folder / FOLDER / ledger_file.FILE_NAME


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
