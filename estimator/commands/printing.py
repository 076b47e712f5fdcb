"""What goes to stdout: tables in the signs that it can show, and everything else as UTF-8, whatever shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import click

from estimator.render.text.style import Style


def put(forms: Mapping[str, Callable[..., str]], form: str, *made: object) -> None:
    """Print what was made in one of its forms, the table in the style of stdout."""
    style = (Style.of(sys.stdout),) if form == "table" else ()
    put_document(forms[form](*made, *style))


def put_document(text: str) -> None:
    """Print a text as it would stand in a file."""
    click.echo(text.encode(), nl=False)
