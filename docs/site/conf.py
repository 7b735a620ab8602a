"""The site: the pages of docs/ as they lie, with navigation, search, and the public API from its docstrings.

`make docs` builds it. The source folder is the checkout, so that every relative link of a page means the same
here as on a code host; what is read of it are the pages alone.
"""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parent.parent
LOGO = "docs/site/static/logo.svg"
sys.path.insert(0, str(SITE))

from api import all_modules  # noqa: E402

_setup = configparser.ConfigParser()
_setup.read(ROOT / "setup.cfg")

project = "Penstock"
release = _setup["metadata"]["version"]
html_title = f"Penstock {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "anchors",
    "api",
    "navigation",
    "sources",
    "tables",
]

root_doc = "docs/index"
include_patterns = ["docs/**.md", "CHANGELOG.md", "CONTRIBUTING.md", "README.md"]
# Sphinx would look for pages in .venv and in what it has built.
exclude_patterns = [path.name for path in ROOT.iterdir() if path.is_dir() and path.name != "docs"]

nitpicky = True
nitpick_ignore_regex = [
    # Single backticks in docstrings are code; what of it is documented here becomes a link.
    ("py:obj", ".*"),
    # What is not documented here. Other packages have sites of their own; this one needs no network.
    ("py:.*", rf"(?!({'|'.join(map(re.escape, all_modules(ROOT)))})\.[A-Z]).*"),
]
default_role = "py:obj"
# Excerpts, such as a part of a YAML file with "…", are shown without colours.
suppress_warnings = ["misc.highlighting_failure"]

myst_heading_anchors = 4

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
# api.py calls it.
napoleon_google_docstring = napoleon_numpy_docstring = False
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "logo": {"text": "Penstock", "image_light": LOGO, "image_dark": LOGO},
    "navbar_center": ["parts.html"],
    "article_header_start": [],
    "secondary_sidebar_items": ["page-toc.html"],
    "show_toc_level": 2,
    "footer_start": ["sphinx-version.html"],
    "footer_end": [],
}
html_favicon = "static/logo.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
templates_path = ["templates"]
html_sidebars = {"**": ["pages.html"]}
html_copy_source = False
html_show_copyright = False
