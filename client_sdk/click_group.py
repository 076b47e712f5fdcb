"""The ``telemetry`` commands for an app that uses click, or Typer, which is click."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from client_sdk import cli, consent
from client_sdk.ledger import file as ledger_file
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.sentences import ENGLISH, Sentences
from client_sdk.protocol.statement import statement


def telemetry_group(
    registry: Registry | str | Path,
    *,
    collector: str,
    data_dir: str | Path,
    variable: str | None = None,
    language: str = ENGLISH,
) -> click.Group:
    """Return a group ``telemetry``, whose commands let the user decide and read what was reported.

    Making it reads no file.

    >>> url = "https://telemetry.example.com"
    >>> group = telemetry_group("metrics.toml", collector=url, data_dir="app")
    >>> sorted(group.commands)
    ['forget', 'off', 'on', 'show', 'statement', 'status']

    Args:
        registry: as `client_sdk.consent.current` takes it.
        collector: as `client_sdk.consent.current` takes it.
        data_dir: as `client_sdk.consent.current` takes it.
        variable: as `client_sdk.consent.current` takes it.
        language: that of what the commands print.

    """
    commands = _Commands(registry, collector, data_dir, variable, language)
    callbacks = (commands.on, commands.off, commands.status, commands.show, commands.statement, commands.forget)
    return click.Group(
        "telemetry",
        commands=[click.Command(each.__name__, callback=each, help=each.__doc__) for each in callbacks],
        help="Decide what this program may report, and read what it did report.",
    )


@dataclass(frozen=True, slots=True)
class _Commands:
    """What each command does, by its name."""

    registry: Registry | str | Path
    collector: str
    data_dir: str | Path
    variable: str | None
    language: str

    def on(self) -> None:
        """Agree to all questions."""
        self._choose(agrees=True)

    def off(self) -> None:
        """Report nothing any more, and erase what is stored."""
        self._run("forget")
        self._choose(agrees=False)

    def status(self) -> None:
        """Say whether this program reports, and why."""
        asked, say = self._asked()
        decision = consent.current(asked, collector=self.collector, data_dir=self.data_dir, variable=self.variable)
        click.echo("\n".join(consent.status(asked, decision, say)))

    def show(self) -> None:
        """Show what has left this device."""
        if not self._run("show"):
            click.echo(self._asked()[1]("history.nothing"))

    def statement(self) -> None:
        """Show what is asked, why, and what it can reveal."""
        click.echo(statement(self._asked()[0], self.language))

    def forget(self) -> None:
        """Erase what is stored about answers. The choice stays."""
        self._run("forget")

    def _asked(self) -> tuple[Registry, Sentences]:
        registry = self.registry if isinstance(self.registry, Registry) else Registry.load(self.registry)
        return registry, registry.sentences(self.language)

    def _choose(self, *, agrees: bool) -> None:
        try:
            consent.choose(self._asked()[0], consent=agrees, collector=self.collector, data_dir=self.data_dir)
        except OSError as error:
            raise click.ClickException(
                f"the choice cannot be stored: {error.strerror}; make room, or name another folder"
            ) from error
        self.status()

    def _run(self, command: str) -> bool:
        """Run a command of hearsay-client on the ledger; return whether there is one."""
        is_there = ledger_file.exists(Path(self.data_dir).absolute() / ledger_file.FILE_NAME)
        if is_there and cli.main([command, "--data-dir", str(self.data_dir), "--language", self.language]):
            raise click.exceptions.Exit(1)
        return is_there
