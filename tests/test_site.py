"""The site of the documentation: every page has its place, is found, and leads nowhere that is not there."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path
from urllib.parse import urljoin

import pytest
from packaging.utils import canonicalize_name

from tests.browser import CHROMIUM, Browser

ROOT = Path(__file__).resolve().parent.parent
SPHINX = ROOT / ".venv-docs" / "bin" / "sphinx-build"
PAGES = [
    path.relative_to(ROOT).with_suffix("").as_posix()
    for path in (*ROOT.glob("[CR]*.md"), *sorted((ROOT / "docs").rglob("*.md")))
]
"""As Sphinx names them."""
DEADLINE = 400
"""Seconds for a site: it takes half a minute where nothing else runs."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * DEADLINE)]


def _make_docs(checkout: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """What `make docs` does, with the Sphinx that is there."""
    if not SPHINX.is_file():
        if os.environ.get("PENSTOCK_JUDGES"):
            pytest.fail(f"{SPHINX} is missing, though `make test-slow` should have made it")
        pytest.skip(f"{SPHINX} is missing; `make docs` makes it")
    stamp = SPHINX.parent.parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    return subprocess.run(
        ["make", f"--old-file={stamp}/stamp", "docs", f"DOCS={stamp}", f"SITE={site}"],
        cwd=checkout, env=environment, capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    folder = tmp_path_factory.mktemp("site") / "site"
    made = _make_docs(ROOT, folder)
    assert made.returncode == 0, made.stderr
    assert f"open {folder}/docs/index.html in a browser" in made.stdout
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def _navigation(site: Path, page: str) -> set[str]:
    """Names of the pages to which header and side bar of a page lead, or the list on it."""
    html = (site / f"{page}.html").read_text()
    parts = re.findall(r"<nav>.*?</nav>|<nav class=\"bd-docs-nav.*?</nav>", html, re.DOTALL)
    if page.endswith("/README"):
        parts += re.findall(r"<article.*?</article>", html, re.DOTALL)
    links = re.findall(r'href="([^"#]*)', "".join(parts))
    return {urljoin(f"{page}.html", link or f"{page}.html").removesuffix(".html") for link in links}


def test_every_page_is_reached_by_the_navigation(site: Path) -> None:
    reached, waiting = set(), ["docs/index"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page in PAGES:
            reached.add(page)
            waiting += _navigation(site, page)
    assert sorted(set(PAGES) - reached) == []
    assert len(reached) > 170


def test_the_navigation_marks_every_page_where_it_is(site: Path) -> None:
    marked = re.compile(
        r'<li class="toctree-l[12] current active">\s*<a class="reference internal current" href="#"'
    )
    lost = [
        page for page in PAGES
        if page != "docs/index" and not marked.search((site / f"{page}.html").read_text())
    ]  # fmt: skip
    assert lost == []


def test_the_search_has_every_page_and_the_names_of_the_api(site: Path) -> None:
    text = (site / "searchindex.js").read_text()
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    assert set(PAGES) <= set(index["docnames"])
    assert {
        "penstock.streamer.camera.contract",
        "penstock.processing.processor",
        "penstock.stins.messages",
    } <= set(index["objects"])


def test_a_link_to_the_code_leads_to_a_page_with_the_code(site: Path) -> None:
    links = re.findall(
        r'href="([^"]*\.py\.html)"', (site / "docs/explanation/the-way-of-a-frame.html").read_text()
    )
    assert len(set(links)) > 20
    for link in links:
        page = (site / "docs/explanation" / link).read_text()
        assert '<div class="highlight">' in page, link


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_finds_a_page_and_asks_nobody_else(address: str, tmp_path: Path) -> None:
    browser = Browser(tmp_path)
    try:
        browser.open(f"{address}/search.html?q=disk+full")
        browser.shows("When the disk is full", "pages matching the search query")
        browser.show_as(390, 844, phone=True)
        for page in ("docs/index", "docs/reference/stins", "docs/explanation/the-way-of-a-command"):
            browser.open(f"{address}/{page}.html")
            browser.wait(f"location.pathname == '/{page}.html' && document.readyState == 'complete'")
            assert browser.value("document.documentElement.scrollWidth") <= 390, (
                f"{page} is wider than a phone"
            )
        assert [url for url in browser.requested if not url.startswith((address, "data:"))] == []
    finally:
        browser.close()


def test_sphinx_and_all_that_it_needs_have_the_versions_of_the_constraints(site: Path) -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line and line[0] != "#")
    pinned = {canonicalize_name(name): version for name, version in pinned.items()}
    (packages,) = SPHINX.parent.parent.glob("lib/python3*/site-packages")
    found = {
        canonicalize_name(each.metadata["Name"]): each.version
        for each in metadata.distributions(path=[str(packages)])
    }
    wrong = found.items() - pinned.items()
    assert {name for name, _ in wrong} <= {"penstock", "pip", "setuptools", "wheel"}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A checkout with two pages."""
    shutil.copytree(
        ROOT / "docs" / "site", tmp_path / "docs" / "site", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    (tmp_path / "docs" / "index.md").write_text("# All\n\n## Part\n\n- [One](one.md)\n")
    (tmp_path / "docs" / "one.md").write_text(
        '# One\n\n<a id="here"></a>Text. [It](#here), [them](index.md#part)\n'
    )
    return tmp_path


def test_pages_whose_links_lead_somewhere_become_a_site(small: Path) -> None:
    made = _make_docs(small, small / "site")
    assert made.returncode == 0, made.stderr


@pytest.mark.parametrize(
    "wrong",
    ["[x](nowhere.md)", "[x](#nowhere)", "[x](index.md#nowhere)", "[x](../nowhere.py)", "![x](nowhere.png)"],
)
def test_what_leads_nowhere_is_no_site(wrong: str, small: Path) -> None:
    with (small / "docs" / "one.md").open("a") as page:
        page.write(f"\n{wrong}\n")
    made = _make_docs(small, small / "site")
    assert made.returncode != 0
    assert "docs/one.md:5: WARNING" in made.stderr
    assert "nowhere" in made.stderr


def test_a_page_that_the_index_does_not_list_is_no_site(small: Path) -> None:
    (small / "docs" / "two.md").write_text("# Two\n")
    made = _make_docs(small, small / "site")
    assert made.returncode != 0
    assert "docs/two.md: WARNING: document isn't included in any toctree" in made.stderr


def test_a_docstring_that_names_what_is_not_there_is_no_site(small: Path) -> None:
    (small / "docs" / "reference").mkdir()
    (small / "docs" / "reference" / "api-x.md").write_text(
        "# X\n\n| [`penstock.nowhere`](../../setup.cfg) | x |\n"
    )
    with (small / "docs" / "index.md").open("a") as index:
        index.write("- [X](reference/api-x.md)\n")
    made = _make_docs(small, small / "site")
    assert made.returncode != 0
    assert "No module named 'penstock.nowhere'" in made.stderr
