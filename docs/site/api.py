"""The pages docs/reference/api-*.md end with the docstrings of the modules that their tables list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import GoogleDocstring

PAGES = "docs/reference/api-"


def all_modules(root: Path) -> list[str]:
    """Return the modules that these pages list.

    Args:
        root: folder of the checkout.
    """
    return [module for page in sorted(root.glob(f"{PAGES}*.md")) for module in _modules_of(page.read_text())]


def _modules_of(text: str) -> list[str]:
    return re.findall(r"^\| \[`(penstock\.[\w.]+)`\]", text, re.MULTILINE)


def _add_docstrings(app: Sphinx, name: str, source: list[str]) -> None:
    if name.startswith(PAGES):
        for module in _modules_of(source[0]):
            source[0] += f"\n\n## {module}\n\n```{{eval-rst}}\n.. automodule:: {module}\n```\n"


class _Docstring(GoogleDocstring):
    """A docstring whose section "Returns" describes: the type is in the signature.

    Napoleon would read "Its number and its memory: uint8, …" as a type and its description.
    """

    def _consume_returns_section(self, preprocess_types: bool = False) -> list[tuple[str, str, list[str]]]:
        lines = self._dedent(self._consume_to_next_section())
        return [("", "", lines)] if lines else []


def _read_sections(app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Make of Args, Returns and Raises what Sphinx knows; attributes have none, and colons of their own."""
    if what not in ("attribute", "data", "property"):
        lines[:] = _Docstring(lines, app.config, app, what, name, thing, options).lines()


def _without_signature(
    app: Sphinx, what: str, name: str, thing: object, options: Any, signature: str | None, *returns: object
) -> tuple[str, None] | None:
    """Leave out the signature of a class that nobody calls, such as a protocol."""
    return ("", None) if what == "class" and signature == "(*args, **kwargs)" else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register it with Sphinx."""
    app.connect("source-read", _add_docstrings)
    app.connect("autodoc-process-docstring", _read_sections)
    app.connect("autodoc-process-signature", _without_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
