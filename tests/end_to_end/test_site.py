"""The pages' site builds without a warning, loads nothing from elsewhere, and can be searched."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser

from tests.support.services.browser import PHONE, Scheme, chromium, opened

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
    for page in ("tutorial/1-ask", "privacy/index", "reference/metrics", "reference/monitoring"):
        assert f'"{page}"' in index
    assert "permanent_epsilon" in index


def test_every_page_is_on_the_site(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs")).with_suffix(".html").exists()


@pytest.mark.parametrize(
    ("page", "says"),
    [
        ("cli", "Print a patch that divides this epsilon"),
        ("metrics", "permanent_epsilon"),
        ("expert", "grouped-geometry"),
        ("sdk", "already_recorded"),
        ("sdk", "client_sdk.FlushOutcome"),
        ("reports", "RehearsedFigure"),
        ("reports", "estimator.load_report"),
        ("../protocol/wire", "unknown_edition"),
    ],
)
def test_a_page_of_reference_has_what_the_code_says(site: Path, page: str, says: str) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "reference" / f"{page}.html").read_text(encoding="utf-8"))
    assert says in text
    assert "make docs:" not in text


def test_the_site_is_dark_where_the_system_is(site: Path) -> None:
    with chromium() as browser:
        colors = [background(browser, site / "index.html", scheme) for scheme in SCHEMES]
    assert len(set(colors)) == len(SCHEMES)


def background(browser: Browser, page: Path, scheme: Scheme) -> str:
    with opened(browser, page, scheme=scheme) as shown:
        return str(shown.page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_in_a_browser_without_a_network_a_search_finds_a_key_of_the_registry(site: Path) -> None:
    with chromium() as browser, opened(browser, site / "search.html") as shown:
        shown.page.goto(f"{(site / 'search.html').as_uri()}?q=permanent_epsilon")
        shown.page.locator("ul.search li a").first.wait_for()
        results = shown.page.locator("ul.search li a").all_inner_texts()
        assert "Keys of metrics.toml" in " ".join(results)
        assert [address for address in shown.requests if not address.startswith("file:")] == []


def attributes(site: Path, name: str) -> list[tuple[Path, str]]:
    """Return each page of the site with each value of an attribute of it."""
    pages = [path for path in site.rglob("*.html") if path.name not in {"404.html", "search.html"}]
    return [(page, found) for page in pages for found in re.findall(rf'\b{name}="([^"]*)"', page.read_text("utf-8"))]


def test_every_link_of_the_site_leads_to_a_page_of_it_and_nothing_is_downloaded(site: Path) -> None:
    links = {(page.parent, link.partition("#")[0]) for page, link in attributes(site, "href") if ":" not in link}
    targets = [(folder / unquote(link.partition("?")[0])).resolve() for folder, link in links if link]
    assert len(targets) > 1000
    assert [target for target in targets if not target.is_file()] == []
    assert not (site / "_downloads").exists()


def test_files_that_pages_link_to_are_pages_of_the_site(site: Path) -> None:
    readme = (site / "files" / "examples" / "notes" / "README.md.html").read_text(encoding="utf-8")
    assert "<h1" in readme
    settings = (site / "files" / "docker" / "compose.yaml.html").read_text(encoding="utf-8")
    assert '<span class="nt">services</span>' in settings


def test_every_picture_of_a_page_is_shown(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        pictures = re.findall(r"!\[[^]]*\]\([^)]*/([^)/]+)\)", page.read_text(encoding="utf-8"))
        html = (site / page.relative_to(ROOT / "docs")).with_suffix(".html").read_text(encoding="utf-8")
        assert [name for name in pictures if not re.search(rf'<img [^>]*src="[^"]*/{re.escape(name)}"', html)] == []


def test_a_page_names_the_version_and_opens_its_group_of_the_sidebar_alone(site: Path) -> None:
    project = tomllib.loads((ROOT / "client_sdk" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    captions = re.findall(
        r'^:caption: "?(.+?)"?$', (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    html = (site / "reference" / "sdk.html").read_text(encoding="utf-8")
    assert f"Hearsay {project['version']}</title>" in html
    groups = re.findall(r'<details( open)?><summary class="caption">([^<]+)</summary>', html)
    assert [name for _, name in groups] == captions
    assert [name for is_open, name in groups if is_open] == ["Look up"]


def test_models_find_every_page_in_one_list_with_a_sentence_on_each(site: Path) -> None:
    entries = re.findall(
        r"^- \[.+\]\((\S+)\): [^\s<][^<\n]+$", (site / "llms.txt").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert sorted(entries) == sorted(pages - {"index.html"})


def test_code_can_be_copied_and_output_has_no_button(site: Path) -> None:
    with chromium() as browser, opened(browser, site / "reference" / "sdk.html") as shown:
        copied = "document.querySelector(document.querySelector('.highlight-sh button').dataset.clipboardTarget)"
        assert shown.page.evaluate(f"{copied}.textContent").startswith("hearsay-client show")
        assert shown.page.locator(".highlight-text").count() > 0
        assert shown.page.locator(".highlight-text button").count() == 0


def test_no_page_is_wider_than_a_phone(site: Path) -> None:
    with chromium() as browser, opened(browser, site / "index.html", PHONE) as shown:
        for page in sorted((ROOT / "docs").rglob("*.md")):
            shown.page.goto((site / page.relative_to(ROOT / "docs")).with_suffix(".html").as_uri())
            assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], page.name


@contextmanager
def served(site: Path) -> Iterator[str]:
    """Serve the site as the root of a host, and yield its address."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(site))  # type: ignore[arg-type] # as the server calls it

        def send_error(self, code: int, *_: object) -> None:
            body = (site / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_address_that_does_not_exist_shows_a_page_with_styles_from_which_a_search_works(site: Path) -> None:
    with served(site) as address, chromium() as browser:
        page = browser.new_page()
        failed: list[str] = []
        page.on("response", lambda response: failed.extend([response.url] * (response.status >= 400)))
        page.goto(f"{address}/no/such/page.html")
        assert page.locator("h1").inner_text() == "Page not found"
        assert failed == [f"{address}/no/such/page.html"]
        page.locator("input[name=q]").first.fill("permanent_epsilon")
        page.keyboard.press("Enter")
        page.locator("ul.search li a").first.click()
        page.wait_for_load_state()
        assert page.url.startswith(address)
        assert failed == [f"{address}/no/such/page.html"]
