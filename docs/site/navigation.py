"""The navigation is made of docs/index.md: what it lists, in its order, under its headings.

Its headings of the second level are the parts of the site, those of the third the groups of a part; of each
entry the first link is the page. A page that lists others in the same way (the decisions) is their parent.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any, NamedTuple

from sphinx.application import Sphinx

INDEX = "docs/index"
LISTS = ("docs/explanation/decisions/README",)
"""Pages whose own lists are the navigation below them."""


class Page(NamedTuple):
    """An entry of the navigation."""

    title: str
    name: str
    """Name of Sphinx: the path without ".md"."""
    below: tuple[Page, ...]

    def has(self, name: str) -> bool:
        """Tell whether a page is this one, or below it."""
        return name == self.name or name in (page.name for page in self.below)


class Group(NamedTuple):
    """Pages under one heading."""

    title: str
    """ "" directly below the part."""
    pages: list[Page]

    def has(self, name: str) -> bool:
        """Tell whether a page is in this group."""
        return any(page.has(name) for page in self.pages)


class Part(NamedTuple):
    """A part of the site."""

    title: str
    groups: list[Group]

    def has(self, name: str) -> bool:
        """Tell whether a page is in this part."""
        return any(group.has(name) for group in self.groups)


def parts_of(root: Path) -> list[Part]:
    """Read the navigation from the index of the pages.

    Args:
        root: folder of the checkout.
    """
    parts: list[Part] = []
    for line in (root / f"{INDEX}.md").read_text().splitlines():
        if line.startswith("## "):
            parts.append(Part(line.removeprefix("## "), [Group("", [])]))
        elif line.startswith("### "):
            parts[-1].groups.append(Group(line.removeprefix("### "), []))
        elif entry := _entry(INDEX, line):
            below = _entries(root, entry[1]) if entry[1] in LISTS else ()
            parts[-1].groups[-1].pages.append(Page(*entry, below))
    return [Part(part.title, [group for group in part.groups if group.pages]) for part in parts]


def _entries(root: Path, page: str) -> tuple[Page, ...]:
    lines = (root / f"{page}.md").read_text().splitlines()
    return tuple(Page(*entry, ()) for line in lines if (entry := _entry(page, line)))


def _entry(page: str, line: str) -> tuple[str, str] | None:
    """Return title and name of the page that an entry of a list leads to."""
    found = re.match(r"(?:-|\d+\.) \[(.+?)\]\(([^)#]+)\.md\)", line)
    return found and (found[1], posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2])))


def _add_lists(app: Sphinx, name: str, source: list[str]) -> None:
    """Add to a page what Sphinx calls its toctrees."""
    if name == INDEX:
        groups = [
            (group.title or part.title, group.pages) for part in app.config.parts for group in part.groups
        ]
    elif name in LISTS:
        groups = [("all", list(_entries(Path(app.srcdir), name)))]
    else:
        return
    for title, pages in groups:
        lines = "\n".join(f"{page.title} </{page.name}>" for page in pages)
        source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n{lines}\n```\n"


def _add_context(app: Sphinx, name: str, template: str, context: dict[str, Any], tree: object) -> None:
    """Give the templates of header and side bar what they show."""
    context["parts"] = app.config.parts
    context["part"] = next((part for part in app.config.parts if part.has(name)), None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.add_config_value("parts", parts_of(Path(app.srcdir)), "html", list)
    app.connect("source-read", _add_lists)
    app.connect("html-page-context", _add_context)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
