"""The command that goes on with what is left of an embedded store."""

from __future__ import annotations

from pathlib import Path

import click

from collector.embedded import EmbeddedStore
from collector.open_store import require_embedded
from collector.options import ErrorsForPeople, data_dir_option


@click.command("accept-loss")
@data_dir_option
def accept_loss(data_dir: Path) -> None:
    """Go on with what is left of an embedded store, where a collector refused to: what is missing stays lost.

    What cannot be read is cut off. Copy the directory before if somebody is to look at it.
    """
    with ErrorsForPeople():
        require_embedded(data_dir)
        with EmbeddedStore(data_dir, accepts_losses=True) as store:
            for loss in store.losses:
                click.echo(f"accepted: {loss}")
        click.echo(f"a collector starts on {data_dir} again" if store.losses else "nothing is missing that was noted")
