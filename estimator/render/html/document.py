"""The page as one HTML file that is complete and may load nothing.

Its content security policy allows the scripts and styles of this file by their hashes, and nothing
else.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from client_sdk.protocol.registry.registry import Registry
from estimator.render.html.filters import FILTERS
from estimator.render.html.page import page_of
from estimator.results.report import EstimateReport

PACKAGE: Final = "estimator.render.html"

STYLE: Final = "report.css"


SCRIPTS: Final = ("d3.min.js", "plot.umd.min.js", "numbers.js", "charts.js", "tables.js", "report.js")
"""In the order in which they run: d3, then Observable Plot, which draws with it, then the scripts
of this page.
"""

LICENCES: Final = ("d3.LICENSE", "plot.LICENSE")
"""Both licences require that every copy includes them."""

STYLE_OF_CHARTS: Final = """:where(.chart) {
  --plot-background: white;
  display: block;
  height: auto;
  height: intrinsic;
  max-width: 100%;
}
:where(.chart text),
:where(.chart tspan) {
  white-space: pre;
}"""
"""The style that Observable Plot writes into every chart with the class name ``chart``."""


@cache
def asset(name: str) -> str:
    """Return the text of a file that a page includes.

    Raises:
        AssertionError: if it would end the element around it.

    """
    text = files(PACKAGE).joinpath("assets", name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "</style" in text.lower():
        raise AssertionError(f"{name} would end the element around it")
    return text


def policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """Return a content security policy that allows these texts and loads nothing."""
    script_sources = _hashes(scripts) or "'none'"
    return (
        f"default-src 'none'; script-src {script_sources}; style-src {_hashes(styles)};"
        " base-uri 'none'; form-action 'none'"
    )


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests)


def as_html(report: EstimateReport, registry: Registry) -> str:
    """Return the report as one HTML file."""
    page = page_of(report, registry)
    scripts = [asset(name) for name in SCRIPTS]
    style = asset(STYLE)
    return (
        environment()
        .get_template("page.html.jinja")
        .render(
            page=page,
            policy=policy(scripts, [style, STYLE_OF_CHARTS]),
            scripts=[Markup(script) for script in scripts],  # noqa: S704 files of this package
            licences=[asset(name) for name in LICENCES],
            style=Markup(style),  # noqa: S704 a file of this package
            data=_embedded(page.data),
        )
    )


def _embedded(data: dict[str, Any]) -> Markup:
    """Return JSON that cannot end its element: tags and comments begin with a ``<``."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 escaped here


@cache
def environment() -> Environment:
    """Return what fills the templates of pages."""
    templates = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    templates.filters |= FILTERS
    return templates
