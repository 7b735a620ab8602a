"""Tables of many columns are legible on a narrow screen, too.

A column of sentences keeps a width in which they can be read, and long names break where a reader expects it.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

_SENTENCE = 60
"""Characters from which on the text of a cell is one."""
_LONG_NAME = 16
"""Characters from which on a name may break."""


class Tables(SphinxTransform):
    """Marks cells with sentences for the style sheet, and adds places for breaks to names."""

    default_priority = 410
    """After the links to sources, whose text it changes."""

    def apply(self, **kwargs: Any) -> None:
        """Change the tables of one page."""
        for cell in self.document.findall(nodes.entry):
            if len(cell.astext()) > _SENTENCE:
                cell["classes"].append("sentence")
            for name in list(cell.findall(nodes.literal)):
                if len(name.astext()) > _LONG_NAME:
                    _add_breaks(name)


def _add_breaks(name: nodes.literal) -> None:
    # A <wbr> is not copied with the name, as a space of no width would be.
    pieces = re.split(r"(?<=[/_.,])(?=\w)", name.astext())
    name.clear()
    for number, piece in enumerate(pieces):
        if number:
            name += nodes.raw("", "<wbr>", format="html")
        name += nodes.Text(piece)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.add_transform(Tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
