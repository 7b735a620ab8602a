"""Links of the documentation lead somewhere, and what it names in the code is there."""

from __future__ import annotations

import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FOLDERS = (
    "bridges", "checks", "cli", "cluster", "codecs", "devices", "gui", "processing", "receiver",
    "resources", "stins", "streamer",
)  # fmt: skip


def _short(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_short)
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path) if path else page
        assert file.exists(), f"{target} is not there"
        if anchor:
            there = file.read_text()
            titles = re.findall(r"^#+ (.*)$", there, re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            anchors |= set(re.findall(r'<a id="([^"]+)"></a>', there))
            assert anchor in anchors, f"{target}: no such title"


def test_every_page_is_reached_from_the_index() -> None:
    reached, waiting = set(), [ROOT / "docs/index.md"]
    while waiting:
        page = waiting.pop().resolve()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)#\s]+)", page.read_text())
        waiting += [page.parent / link for link in links if not link.startswith("http")]
    assert set(PAGES) <= reached


HOW_TO = sorted((ROOT / "docs" / "how-to").glob("*.md"))


@pytest.mark.parametrize("page", [ROOT / "docs/reference/accounting.md", *HOW_TO], ids=_short)
def test_accounting_and_how_to_pages_link_to_the_code(page: Path) -> None:
    assert re.search(rf"\]\(\.\./\.\./({'|'.join((*FOLDERS, 'sardana', 'tests'))})/", page.read_text())


def test_what_happens_to_a_late_frame_is_two_clicks_from_the_readme() -> None:
    assert "docs/explanation/accounting.md" in (ROOT / "README.md").read_text()
    assert "receiver/series/account.py" in (ROOT / "docs/explanation/accounting.md").read_text()


@pytest.mark.parametrize("what", ["frame", "command"])
def test_the_functions_on_the_way_of_a_frame_or_command_are_in_their_files(what: str) -> None:
    page = (ROOT / f"docs/explanation/the-way-of-a-{what}.md").read_text()
    rows = re.findall(r"^\| .*?\| (`.*?`) \| (.*?) \| [^|]* \|$", page, re.MULTILINE)
    named = [(names, re.findall(r"\]\(\.\./\.\./([^)]*\.py)\)", files)) for names, files in rows]
    for names, files in named:
        code = "".join((ROOT / file).read_text() for file in files)
        methods = [each for each in re.findall(r"`(\w+)\.(\w+)`", names) if f"class {each[0]}" in code]
        functions = [] if methods else re.findall(r"`(\w+)`", names)
        assert methods or functions or not files, f"{names} is not in {files}"
        for function in functions:
            assert f"def {function}(" in code, f"{function} is not in {files}"
        for kind, method in methods:
            assert f"def {method}(" in code, f"{kind}.{method} is not in {files}"
    assert len(named) > 15


def test_the_time_limits_of_a_command_are_those_of_the_code() -> None:
    page = (ROOT / "docs/explanation/the-way-of-a-command.md").read_text()
    rows = re.findall(
        r"^\| .*? \| ([\d.]+)(?: each)? \| `([\w.]+)` in \[.*?\]\(\.\./\.\./(.*?)\.py\) \|",
        page,
        re.MULTILINE,
    )
    for seconds, name, file in rows:
        module = importlib.import_module(f"penstock.{file.replace('/', '.')}")
        unit = 1000 if name.endswith("_MS") else 1
        assert attrgetter(name)(module) == float(seconds) * unit, f"{name} in {file}"
    assert len(rows) > 20


@pytest.mark.parametrize("page", sorted((ROOT / "docs/reference").glob("api-*.md")), ids=_short)
def test_a_page_of_the_api_names_modules_by_the_files_that_it_links_to(page: Path) -> None:
    rows = re.findall(
        r"^\| \[`penstock\.([\w.]+)`\]\(\.\./\.\./(.*?)\.py\) \|", page.read_text(), re.MULTILINE
    )
    assert len(rows) > 3
    assert [module for module, file in rows if module.replace(".", "/") != file] == []
