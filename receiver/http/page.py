"""The page of a receiver, with what all pages share."""

from __future__ import annotations

from penstock.service import assets

ASSETS = assets.of(
    "penstock.receiver.http", "receiver", "page.js", "words.js", links={"series": "Past series (JSON)"}
)
"""What a browser loads, by path."""
