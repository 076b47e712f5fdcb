"""The Sphinx configuration of the site that ``make docs`` builds into build/docs.

A line with a comment such as ``<!-- make docs: commands -->`` is replaced by text that is generated
from the code. Pages without such comments are also complete when they are read in the repository.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import toctree
from sphinx.application import Sphinx

HERE: Final = Path(__file__).parent
ROOT: Final = HERE.parent
sys.path.insert(0, str(ROOT))
os.environ |= {"COLUMNS": "80", "NO_COLOR": "1"}  # for the output of commands

from tools.reference import repository_files  # noqa: E402 found only after the root is on the path
from tools.reference.parts import PARTS  # noqa: E402 as above

project = "Hearsay"
author = copyright = "The Hearsay maintainers"  # noqa: A001 Sphinx asks for this name
release = tomllib.loads((ROOT / "client_sdk" / "pyproject.toml").read_text("utf-8"))["project"]["version"]
extensions = ["myst_parser", "notfound.extension", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["systemd"]
nitpicky = True
nitpick_ignore_regex = [("py:.*", ".*")]  # docstrings name types and errors without links
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
autoclass_content = "both"
autodoc_preserve_defaults = True
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]

html_theme = "furo"
html_title = f"Hearsay {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
copybutton_selector = "div:not(.highlight-text) > div.highlight > pre"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_remove_prompts = True
notfound_urls_prefix = "/"  # absolute links: a missing page may be at any depth
notfound_context = {
    "title": "Page not found",
    "body": "<h1>Page not found</h1><p>No page has this address. Search the site, or start with the "
    '<a href="/index.html">overview</a>.</p>',
}
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"

CAPTION: Final = re.compile(r'<p class="caption"[^>]*><span class="caption-text">(.*?)</span></p>')
PART: Final = re.compile(r"^.*<!-- make docs: (.+) -->\n", re.MULTILINE)


def fill_in(_: Sphinx, __: str, source: list[str]) -> None:
    """Replace each line that has a comment ``<!-- make docs: … -->`` by text from the code."""
    source[0] = PART.sub(lambda match: PARTS[match[1]](), source[0])


def pages_from_code(*_: object) -> list[str]:
    """Return the pages with text from the code, which are rebuilt in every build."""
    pages = [page for page in HERE.rglob("*.md") if PART.search(page.read_text("utf-8"))]
    return [page.relative_to(HERE).with_suffix("").as_posix() for page in pages]


def leave_out_of_a_module(_: Sphinx, what: str, *rest: list[str]) -> None:
    """Remove the docstring of a module from its page, because the page has its own introduction."""
    if what == "module":
        rest[-1].clear()


def link_files_of_the_repository(app: Sphinx, docname: str, source: list[str]) -> None:
    """Replace a link to a file outside of docs by a link to the file's page on the site."""
    folder = (HERE / docname).parent

    def link(match: re.Match[str]) -> str:
        target = (folder / match[2]).resolve()
        if not repository_files.has_page(target):
            return match[0]
        address = app.builder.get_relative_uri(docname, repository_files.page_name(target))
        return f'<a class="reference internal" href="{address}{match[3] or ""}">{match[1]}</a>'

    source[0] = repository_files.LINK.sub(link, source[0])


def pages_of_files(_: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a page for each file of the repository that pages link to."""
    for page in repository_files.pages():
        yield page.name, {"title": page.title, "body": page.body}, "page.html"


def fold_the_sidebar(_: Sphinx, __: str, ___: str, context: dict[str, Any], ____: nodes.document | None) -> None:
    """Turn each caption of the sidebar into a folded group, and unfold the group of this page."""
    before, *groups = CAPTION.split(context["furo_navigation_tree"])
    for caption, pages in zip(groups[::2], groups[1::2], strict=True):
        opened = " open" if 'class="current' in pages else ""
        before += f'<details{opened}><summary class="caption">{caption}</summary>{pages}</details>'
    context["furo_navigation_tree"] = before


def list_pages_for_models(app: Sphinx, exception: Exception | None) -> None:
    """Write llms.txt, which lists each page with its first sentence."""
    if exception is not None:
        return
    lines = [f"# {project} {release}", "", f"> {first_sentence(app, 'index')}"]
    for tree in app.env.get_doctree("index").findall(toctree):
        lines += ["", f"## {tree['caption']}", ""]
        for _, page in tree["entries"]:
            address, title = app.builder.get_target_uri(page), app.env.titles[page].astext()
            lines.append(f"- [{title}]({address}): {first_sentence(app, page)}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join([*lines, ""]), encoding="utf-8")


def first_sentence(app: Sphinx, page: str) -> str:
    """Return the first sentence of a page."""
    paragraph = next(app.env.get_doctree(page).findall(nodes.paragraph))
    words = "".join(text for text in paragraph.findall(nodes.Text) if not isinstance(text.parent, nodes.raw))
    return re.split(r"(?<=[.?!])\s", words)[0].replace("\n", " ")


def setup(app: Sphinx) -> None:
    """Register the functions of this file with Sphinx."""
    app.connect("source-read", fill_in)
    app.connect("source-read", link_files_of_the_repository)
    app.connect("autodoc-process-docstring", leave_out_of_a_module)
    app.connect("env-get-outdated", pages_from_code)
    app.connect("html-collect-pages", pages_of_files)
    app.connect("html-page-context", fold_the_sidebar, priority=900)  # after the theme has built the sidebar
    app.connect("build-finished", list_pages_for_models)
    app.add_lexer("csv", TextLexer)
