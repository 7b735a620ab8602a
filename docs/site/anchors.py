"""Anchors that a page sets with `<a id="…"></a>` are targets of links, as those of its headings are."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_ANCHOR = re.compile(r'<a id="([^"]+)">')


class Anchors(SphinxTransform):
    """Adds these anchors to the ones that MyST knows of a page's headings."""

    default_priority = 500
    """Before MyST resolves the links within the page, at 879."""

    def apply(self, **kwargs: Any) -> None:
        """Add those of one page."""
        slugs = getattr(self.document, "myst_slugs", {})
        for node in self.document.findall(nodes.raw):
            for anchor in _ANCHOR.findall(node.astext()):
                slugs[anchor] = (node.line, anchor, anchor)
        self.env.metadata[self.env.docname]["myst_slugs"] = slugs


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.add_transform(Anchors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
