"""``hearsay-collector key``: makes the secret of a key."""

from __future__ import annotations

import click

from collector.access import NAME, NAME_RULE, Role, digest_of, new_secret
from collector.commands.options import examples, member_option
from collector.errors import require_option

WITHOUT_UPLOAD_KEYS = (
    'an access file without an upload key must say who may report, above its first [[key]]: uploads = "open" (anybody) '
    'or uploads = "keys" (only relays)'
)


@click.command(epilog=examples("hearsay-collector key dashboard --role read"))
@click.argument("name")
@click.option("--role", **member_option(Role, Role.UPLOAD), help="What the key is for.")
def key(name: str, role: Role) -> None:
    """Create a key, and show its secret once on standard error.

    The key's entry for the access file goes to standard output.
    """
    require_option(NAME.fullmatch(name) is not None, f"NAME {NAME_RULE}")
    secret = new_secret()
    if role is not Role.UPLOAD:
        click.echo(WITHOUT_UPLOAD_KEYS, err=True)
    entry = f'[[key]]\nname = "{name}"\nrole = "{role}"\nsha256 = "{digest_of(secret).hex()}"\n'
    click.echo(f"the secret of {name}, shown only here: {secret}", err=True)
    click.echo(entry)
