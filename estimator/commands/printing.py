"""Output on stdout: tables in the characters that it can show, and everything else as UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping

import click

from estimator.render.text.style import Style


def put(forms: Mapping[str, Callable[..., str]], form: str, *results: object) -> None:
    """Print results in one of their forms, a table in the style of stdout.

    Args:
        forms: a function for each form, from the results to a text.
        form: the name of one of them.
        results: its arguments.

    """
    style = (Style.of(sys.stdout),) if form == "table" else ()
    put_document(forms[form](*results, *style))


def put_document(text: str) -> None:
    """Print a text with the bytes that it would have in a file."""
    click.echo(text.encode(), nl=False)
