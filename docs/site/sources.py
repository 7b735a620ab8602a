"""Links to files of the checkout that are no pages lead to a page with the file's text.

So a link of a page to its code works wherever the site is, also at a beamline without a network.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_for_filename
from pygments.util import ClassNotFound
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.osutil import relative_uri

_KEY = "sources"
"""Key of a page's metadata in Sphinx's environment: paths of the files and folders that it links to."""
_NO_TEXT = {".png", ".svg"}


class Sources(SphinxTransform):
    """Leads links to sources to pages; MyST makes downloads of files, and does not know folders."""

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Change the links of one page."""
        root, page = Path(self.env.srcdir), self.env.docname
        linked = self.env.metadata[page].setdefault(_KEY, [])
        for node in list(self.document.findall(_may_lead_to_a_source)):
            path = (root / page).parent.joinpath(node["reftarget"].partition("#")[0]).resolve()
            if path.suffix in _NO_TEXT or not path.is_relative_to(root) or not path.exists():
                continue
            name = path.relative_to(root).as_posix()
            linked.append(name)
            link = nodes.reference("", "", *node.children, internal=True)
            link["refuri"] = relative_uri(f"{page}.html", f"{_page_of(path, name)}.html")
            node.replace_self(link)


def _may_lead_to_a_source(node: nodes.Node) -> bool:
    if isinstance(node, addnodes.pending_xref):
        target = node["reftarget"]
        return node.get("reftype") == "myst" and node["refdomain"] is None and not target.startswith("#")
    return isinstance(node, addnodes.download_reference)


def _page_of(path: Path, name: str) -> str:
    return f"{name}/index" if path.is_dir() else name


def _source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yield a page for each file that a page links to, and for each folder with the files in it."""
    root = Path(app.srcdir)
    linked = {root / name for page in app.env.metadata.values() for name in page.get(_KEY, [])}
    folders = [path for path in linked if path.is_dir()]
    files = linked.difference(folders).union(each for path in folders for each in _texts_in(path))
    for path in sorted(linked | files):
        name = path.relative_to(root).as_posix()
        page = _page_of(path, name)
        if page in app.env.all_docs:
            continue
        body = _list_of(path, linked) if path.is_dir() else _text_of(path)
        title = html.escape(name)
        yield page, {"title": title, "body": f"<h1>{title}</h1>{body}"}, "page.html"


def _texts_in(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.suffix not in _NO_TEXT]


def _list_of(folder: Path, linked: set[Path]) -> str:
    folders = [path for path in sorted(folder.iterdir()) if path.is_dir() and path in linked]
    pages = {f"{path.name}/": f"{path.name}/index.html" for path in folders}
    pages |= {path.name: f"{path.name}.html" for path in _texts_in(folder)}
    links = (
        f'<li><a href="{page}"><code>{html.escape(name)}</code></a></li>' for name, page in pages.items()
    )
    return f"<ul>{''.join(links)}</ul>"


def _text_of(path: Path) -> str:
    try:
        lexer = get_lexer_for_filename(path.name)
    except ClassNotFound:
        lexer = TextLexer()
    formatter = HtmlFormatter(linenos="inline", wrapcode=True)
    return f'<div class="highlight-default">{highlight(path.read_text(), lexer, formatter)}</div>'


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.add_transform(Sources)
    app.connect("html-collect-pages", _source_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
