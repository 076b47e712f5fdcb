"""The command ``hearsay-estimator upgrade-registry``.

Exit statuses: 0 done, 2 a usage error.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.registry.registry import Registry
from estimator.atomic_file import write_whole
from estimator.commands.options import REGISTRY, examples
from estimator.plan.registry_patch import diff
from estimator.plan.schema_upgrade import SchemaChange, upgrade
from estimator.render.text.plan import change_words

RUNNING: Final = """\
A changed question has a new edition. Devices with the new app begin it at once:
who has answered in the running window already may answer anew, and pays for both
within the same ceilings. The tallies of both editions are never counted together.
A running collector refuses the new file, because apps in the field still report the
old edition. Rather give the changed question a new name, and let the old one expire
(state its mechanism there). Or restart the collector: it then refuses old reports.
Estimate the windows of the old edition with the old file: keep it.
"""


@click.command(
    epilog=examples(
        "hearsay-estimator upgrade-registry --registry metrics.toml",
        "hearsay-estimator upgrade-registry --registry metrics.toml --write",
    )
)
@REGISTRY
@click.option("--write", is_flag=True, help="Write the file; otherwise the change is only shown.")
def upgrade_registry(*, registry: Path, write: bool) -> None:
    """Show what schema 2 changes in a registry of schema 1, and write it on request."""
    Registry.read(registry)  # names mistakes by their lines
    text = registry.read_bytes().decode()
    upgraded = upgrade(text)
    for change in upgraded.changes:
        click.echo(_line(change))
    if upgraded.kept:
        click.echo(f"as before, with the same edition: {', '.join(upgraded.kept)}")
    if upgraded.changes:
        click.echo(f"\n{RUNNING}")
    if write:
        write_whole(registry, upgraded.text.encode())
        click.echo(f"wrote {registry}")
        return
    click.echo(diff(registry.name, text, upgraded.text), nl=False)
    click.echo("nothing is written; --write does")


def _line(change: SchemaChange) -> str:
    """Return a question before and after: mechanism, what a report is charged, and the error."""
    before, after = change.before, change.after
    charges = f"epsilon {as_float(before.epsilon_nanos):.9f} > {as_float(after.epsilon_nanos):.9f}"
    return f"{before.name}: {before.channel.name} > {change_words(change)}; {charges}"
