"""The pages' site builds without a warning, loads nothing from elsewhere, and can be searched."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.services.browser import Scheme, chromium, opened

pytestmark = pytest.mark.system

ROOT = Path(__file__).parents[2]

SCHEMES: tuple[Scheme, ...] = ("light", "dark")

LOADED = (
    r"""<(?:script|img|iframe|source|audio|video|embed)\b[^>]*?\bsrc=["']([^"']+)""",
    r"""<link\b[^>]*?\brel=["'](?:stylesheet|icon|preload|preconnect|prefetch)["'][^>]*?\bhref=["']([^"']+)""",
    r"""<link\b[^>]*?\bhref=["']([^"']+)["'][^>]*?\brel=["'](?:stylesheet|icon|preload|preconnect|prefetch)""",
    r"""\burl\(\s*["']?([^"')]+)""",
    r"""@import\s+["']([^"']+)""",
)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site."""
    target = tmp_path_factory.mktemp("site")
    options = ("--fail-on-warning", "--keep-going", "--nitpicky", "--quiet", "--doctree-dir", str(target / ".doctrees"))
    build = [sys.executable, "-m", "sphinx", *options, str(ROOT / "docs"), str(target / "html")]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / "html"


def loaded(text: str) -> list[str]:
    """Return the addresses from which a page or a style would load something."""
    return [address for pattern in LOADED for address in re.findall(pattern, text)]


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.suffix in (".html", ".css", ".svg")]
    addresses = [address for path in files for address in loaded(path.read_text(encoding="utf-8"))]
    assert len(addresses) > 100
    assert [address for address in addresses if re.match(r"(https?:)?//", address)] == []


def test_what_is_loaded_from_elsewhere_would_be_noticed() -> None:
    script, style = '<script src="https://cdn.example/a.js">', '<link rel="stylesheet" href="//cdn.example/a.css"/>'
    assert loaded(script + style) == ["https://cdn.example/a.js", "//cdn.example/a.css"]
    assert loaded('@import "https://a.example/a.css"; p { background: url(https://a.example/a.png) }')[0] == (
        "https://a.example/a.png"
    )


def test_the_site_can_be_searched_and_knows_the_words_of_the_pages(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    for page in ("tutorial", "privacy/index", "reference/registry-keys", "how-to/grafana"):
        assert f'"{page}"' in index
    assert "permanent_epsilon" in index


def test_every_page_is_on_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists()


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("cli", "Print a patch that splits this epsilon"),
        ("registry-keys", "permanent_epsilon"),
        ("wire-codes", "unknown_edition"),
        ("report-schema", "RehearsedFigure"),
        ("telemetry", "client_sdk.FlushOutcome"),
        ("estimator", "estimator.load_report"),
    ],
)
def test_a_page_of_reference_has_what_the_code_says(site: Path, page: str, says: str) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "reference" / f"{page}.html").read_text(encoding="utf-8"))
    assert says in text
    assert "make docs:" not in text


def test_the_site_is_dark_where_the_system_is(site: Path) -> None:
    with chromium() as browser:
        colours = [background(browser, site / "index.html", scheme) for scheme in SCHEMES]
    assert len(set(colours)) == len(SCHEMES)


def background(browser: Browser, page: Path, scheme: Scheme) -> str:
    with opened(browser, page, scheme=scheme) as shown:
        return str(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_in_a_browser_without_a_network_a_search_finds_a_key_of_the_registry(site: Path) -> None:
    with chromium() as browser, opened(browser, site / "search.html") as shown:
        shown.page.goto(f"{(site / 'search.html').as_uri()}?q=permanent_epsilon")
        shown.page.locator("ul.search li a").first.wait_for()
        results = shown.page.locator("ul.search li a").all_inner_texts()
        assert "Registry keys" in " ".join(results)
        assert [address for address in shown.requests if not address.startswith("file:")] == []
