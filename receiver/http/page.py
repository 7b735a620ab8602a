"""The page of a receiver, with what all pages share."""

from __future__ import annotations

from penstock.service.assets import SHARED, Asset

_OURS = "penstock.receiver.http"
ASSETS = {
    "/": Asset(_OURS, "page.html", "text/html"),
    "/assets/page.js": Asset(_OURS, "page.js", "text/javascript"),
    "/assets/words.js": Asset(_OURS, "words.js", "text/javascript"),
    **SHARED,
}
"""Assets by path."""
