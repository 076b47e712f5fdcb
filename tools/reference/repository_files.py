"""Pages of the docs site for files of the repository that other pages link to.

Markdown files and notebooks are rendered. Folders are listed. All other files are shown as
highlighted source.
"""

from __future__ import annotations

import base64
import json
import mimetypes
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, guess_lexer_for_filename
from pygments.util import ClassNotFound

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
FOLDER: Final = "files"
"""The folder on the site that contains these pages."""

LINK: Final = re.compile(r"(?<!!)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))+)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
"""The pattern of a Markdown link to a file: text, target and anchor. Pictures do not match."""


class Page(NamedTuple):
    """A page for a file, with its name without .html, and the HTML of its body."""

    name: str
    title: str
    body: str


def page_name(file: Path) -> str:
    """Return the name of a file's page on the site."""
    return f"{FOLDER}/{file.relative_to(ROOT).as_posix()}"


def has_page(target: Path) -> bool:
    """Return whether a link's target is a file or folder that needs such a page."""
    return target.exists() and target.is_relative_to(ROOT) and not _is_page(target)


def pages() -> Iterator[Page]:
    """Yield a page for each file that a page of the docs links to, directly or indirectly."""
    waiting, known = [*_linked(DOCS.rglob("*.md"))], set[Path]()
    while waiting:
        file = waiting.pop()
        if file in known:
            continue
        known.add(file)
        yield Page(page_name(file), file.relative_to(ROOT).as_posix(), _body(file))
        waiting += _listed(file) if file.is_dir() else _linked([file]) if file.suffix == ".md" else []


def _is_page(target: Path) -> bool:
    return target.is_relative_to(DOCS) and target.suffix == ".md"


def _linked(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        for _, target, _ in LINK.findall(source.read_text(encoding="utf-8")):
            file = (source.parent / target).resolve()
            if has_page(file):
                yield file


def _listed(folder: Path) -> list[Path]:
    return [each for each in sorted(folder.iterdir()) if each.is_file() and not each.name.startswith(".")]


def _body(file: Path) -> str:
    if file.is_dir():
        names = (f'<a href="{_relative(each, file)}">{escape(each.name)}</a>' for each in _listed(file))
        entries = "".join(f"<li>{name}</li>" for name in names)
        return f"<h1>{escape(file.relative_to(ROOT).as_posix())}</h1><ul>{entries}</ul>"
    if file.suffix == ".md":
        return _markdown(file.read_text(encoding="utf-8"), file)
    heading = f"<h1>{escape(file.relative_to(ROOT).as_posix())}</h1>"
    if file.suffix == ".ipynb":
        cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
        return heading + "".join(part for cell in cells for part in _cell(cell, file))
    return heading + _code(file)


def _cell(cell: Mapping[str, Any], file: Path) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield _markdown(source, file)
        return
    yield _highlighted(source, "python")
    for output in cell["outputs"]:
        data = output.get("data", {"text/plain": output.get("text", [])})
        yield "".join(data.get("text/html", [])) or _highlighted("".join(data["text/plain"]), "text")


def _code(file: Path) -> str:
    text = file.read_text(encoding="utf-8")
    try:
        language = guess_lexer_for_filename(file.name, text).aliases[0]
    except ClassNotFound:
        language = "text"
    return _highlighted(text, language)


def _highlighted(text: str, language: str) -> str:
    lexer = get_lexer_by_name("text" if language in {"", "csv"} else language)
    return f'<div class="highlight-{language} notranslate">{highlight(text, lexer, HtmlFormatter())}</div>'


def _markdown(text: str, file: Path) -> str:
    def fence(tokens: Sequence[Token], place: int, *_: object) -> str:
        return _highlighted(tokens[place].content, tokens[place].info.strip())

    reader = MarkdownIt("commonmark").enable("table").use(anchors_plugin, max_level=4)
    reader.renderer.rules["fence"] = fence
    tokens = reader.parse(text)
    for token in (child for each in tokens for child in each.children or []):
        if token.type == "link_open":
            token.attrSet("href", _address(str(token.attrGet("href")), file))
        elif token.type == "image":
            token.attrSet("src", _picture(str(token.attrGet("src")), file))
        elif token.type == "code_inline":
            token.attrSet("class", "docutils literal")
    return str(reader.renderer.render(tokens, reader.options, {}))


def _address(address: str, file: Path) -> str:
    """Return the URL on the site for a link in a file."""
    path, hash_, anchor = address.partition("#")
    target = (file.parent / path).resolve()
    if ":" in path or not path or not (_is_page(target) or has_page(target)):
        return address
    return f"{_relative(target, file)}{hash_}{anchor}"


def _relative(target: Path, file: Path) -> str:
    there = target.relative_to(DOCS).with_suffix("").as_posix() if _is_page(target) else page_name(target)
    return quote(f"{os.path.relpath(there, Path(page_name(file)).parent)}.html")


def _picture(address: str, file: Path) -> str:
    """Return a data URL that contains the picture."""
    picture = file.parent / address
    if ":" in address or not picture.is_file():
        return address
    kind = mimetypes.guess_type(picture.name)[0]
    return f"data:{kind};base64,{base64.b64encode(picture.read_bytes()).decode('ascii')}"
