"""The site of these pages, which ``make docs`` builds into build/docs.

The pages stay readable without it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent

project = "Hearsay"
author = copyright = "The Hearsay maintainers"  # noqa: A001 Sphinx asks for this name
extensions = ["myst_parser"]
exclude_patterns = ["systemd"]
nitpicky = True
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

html_theme = "furo"
html_title = "Hearsay"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

LINK: Final = re.compile(r"\[([^\]]+)\]\((\.\./[^)#\s]+)(?:#[^)]*)?\)")


def link_files_of_the_repository(_: Sphinx, docname: str, source: list[str]) -> None:
    """Let a link to a file outside of docs download it.

    A forge shows the file; the site has no page of it.
    """
    folder = (HERE / docname).parent

    def link(match: re.Match[str]) -> str:
        words, target = match[1], (folder / match[2]).resolve()
        if target.is_relative_to(HERE) and target.suffix == ".md":
            return match[0]
        if target.is_dir():
            return words
        return f"{{download}}`{words.replace('`', '')} <{match[2]}>`"

    source[0] = LINK.sub(link, source[0])


def setup(app: Sphinx) -> None:
    """Change pages before they are parsed."""
    app.connect("source-read", link_files_of_the_repository)
    app.add_lexer("csv", TextLexer)
