"""The site of these pages, which ``make docs`` builds into build/docs.

What the code says takes the place of a comment such as ``<!-- make docs: commands -->``. All other
pages stay readable without the site.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Final

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
sys.path.insert(0, str(ROOT))
os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}  # of what commands print

from tools.reference.parts import PARTS  # noqa: E402 it stands in the root

project = "Hearsay"
author = copyright = "The Hearsay maintainers"  # noqa: A001 Sphinx asks for this name
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["systemd"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # names of types and errors in docstrings are words
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
autoclass_content = "both"
autodoc_preserve_defaults = True
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
PART: Final = re.compile(r"<!-- make docs: (.+) -->\n")


def fill_in(_: Sphinx, __: str, source: list[str]) -> None:
    """Write what the code says into a page of reference."""
    source[0] = PART.sub(lambda match: PARTS[match[1]](), source[0])


def pages_from_code(*_: object) -> list[str]:
    """Return the pages that a change of the code may change."""
    return [f"reference/{page.stem}" for page in HERE.glob("reference/*.md") if PART.search(page.read_text("utf-8"))]


def leave_out_of_a_module(_: Sphinx, what: str, *rest: list[str]) -> None:
    """Leave out what a module says of itself: its page says it, in Markdown."""
    if what == "module":
        rest[-1].clear()


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
    app.connect("source-read", fill_in)
    app.connect("source-read", link_files_of_the_repository)
    app.connect("autodoc-process-docstring", leave_out_of_a_module)
    app.connect("env-get-outdated", pages_from_code)
    app.add_lexer("csv", TextLexer)
