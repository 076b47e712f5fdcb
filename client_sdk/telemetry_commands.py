"""Commands that let users of a command-line app control its telemetry and read its reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from client_sdk import consent
from client_sdk.ledger import erase
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.registry.registry import FOLDER, Registry, registry_of
from client_sdk.protocol.sentences import ENGLISH, Sentences
from client_sdk.results import LedgerError

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
        registry: as `client_sdk.consent.current` takes it.
        collector: as `client_sdk.consent.current` takes it.
        data_dir: as `client_sdk.consent.current` takes it.
        variable: as `client_sdk.consent.current` takes it.
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
            help="Decide what this program may report, and read what it did report.",
        )

    def on(self) -> None:
        """Agree to all questions."""
        self._choose(agrees=True)

    def off(self) -> None:
        """Stop reporting, and erase what is stored."""
        self._choose(agrees=False)
        self.forget()

    def status(self) -> None:
        """Say whether this program reports, and why."""
        asked, say = self._asked()
        decision = consent.current(asked, collector=self.collector, data_dir=self.data_dir, variable=self.variable)
        _say("\n".join(consent.status(asked, decision, say)))

    def show(self) -> None:
        """Show what has left this device."""
        if not self._ledger():
            _say(self._asked()[1]("history.nothing"))
        else:
            from client_sdk import cli  # noqa: PLC0415 20 ms

            sys.exit(cli.main(["show", "--data-dir", str(self.data_dir), "--language", self.language]))

    def statement(self) -> None:
        """Show what is asked, why, and what it can reveal."""
        from client_sdk.protocol.statement import statement  # noqa: PLC0415 2 ms

        _say(statement(self._asked()[0], self.language))

    def forget(self) -> None:
        """Erase what is stored about answers; the choice stays."""
        folder = Path(self.data_dir).absolute()
        for path in (folder / ledger_file.FILE_NAME, folder / FOLDER / ledger_file.FILE_NAME):
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
        self.status()

    def _ledger(self) -> Path | None:
        """Return the path of the ledger; None if there is none."""
        path = Path(self.data_dir).absolute() / ledger_file.FILE_NAME
        return path if ledger_file.exists(path) else None


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
