"""``hearsay-collector completion`` lets Tab complete commands and options in a shell."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from collector.commands.options import examples

PROGRAM: Final = "hearsay-collector"

SHELLS: Final = ("bash", "zsh", "fish")


@click.command(epilog=examples(f"{PROGRAM} completion bash", f"{PROGRAM} completion zsh --install"))
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--install", is_flag=True, help="Install the script for the current user.")
@click.pass_context
def completion(context: click.Context, shell: str, *, install: bool) -> None:
    """Print or install the script that completes this program's commands and options."""
    script = script_for(context.find_root().command, shell)
    if not install:
        click.echo(script, nl=False)
        return
    path = place_for(shell, Path.home(), os.environ)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    click.echo(f"{path} is written; {HINTS[shell]}")


def script_for(command: click.Command, shell: str) -> str:
    """Return the script that completes a program in a shell. It ends with a line break."""
    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 click knows all of SHELLS
    variable = f"_{PROGRAM.upper().replace('-', '_')}_COMPLETE"
    source = kind.source_template % kind(command, {}, PROGRAM, variable).source_vars()
    return source.strip() + "\n"


def place_for(shell: str, home: Path, environment: Mapping[str, str]) -> Path:
    """Return the file in which a shell looks for this program's completion."""
    if shell == "bash":
        data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
        return data / "bash-completion" / "completions" / PROGRAM
    if shell == "zsh":
        return home / ".zfunc" / f"_{PROGRAM}"
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish" / "completions" / f"{PROGRAM}.fish"


HINTS: Final = {
    "bash": "a new shell completes, where the package bash-completion is installed",
    "zsh": "add this to ~/.zshrc, before compinit: fpath+=~/.zfunc",
    "fish": "a new shell completes",
}
"""What is left to do after the script was written."""
