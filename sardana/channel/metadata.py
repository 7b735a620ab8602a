"""What the scan tells of itself, merged into the detector's Metadata and taken out again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ScanMetadata:
    """Remembers what it has put there, so that what the user has put there stays."""

    def __init__(self) -> None:
        self._merged = ""
        self._before = ""
        self._ours: dict[str, Any] = {}

    def merged(self, present: str, context: Mapping[str, Any]) -> str:
        """The text for the attribute Metadata.

        Args:
            present: what it is now; JSON object, "" for none.
            context: the channel's ScanContext; empty outside a scan.
        """
        before = self._before if self._merged and present == self._merged else self._without_ours(present)
        ours = of_scan(context)
        if ours:
            merged = json.dumps(_joined(_parsed(before), ours))
        else:
            merged = before
        self._before, self._merged, self._ours = before, merged, ours
        return merged

    def _without_ours(self, present: str) -> str:
        """The user has changed the text since: our own entries leave it, all others stay."""
        found = _parsed(present)
        left = _less(found, self._ours)
        return present if left == found else json.dumps(left) if left else ""


def of_scan(context: Mapping[str, Any]) -> dict[str, Any]:
    """The context of a scan under the keys that have a place in the file."""
    if not context:
        return {}
    told: dict[str, Any] = {
        "title": context.get("title"),
        "entry_identifier": str(context["scan_id"]) if context.get("scan_id") else None,
        "collection_identifier": context.get("scan_file"),
        "user": {"name": context["user"]} if context.get("user") else None,
        "scan": {key: context[key] for key in ("macro", "motors", "points") if context.get(key)},
    }
    return {key: value for key, value in told.items() if value}


def _parsed(text: str) -> dict[str, Any]:
    found = json.loads(text) if text.strip() else {}
    return found if isinstance(found, dict) else {}


def _joined(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Both; where both have a key, the user's goes first."""
    joined = dict(theirs)
    for key, value in ours.items():
        there = joined.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            joined[key] = {**value, **there}
        else:
            joined.setdefault(key, value)
    return joined


def _less(text: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    left: dict[str, Any] = {}
    for key, value in text.items():
        own = ours.get(key)
        if isinstance(value, dict) and isinstance(own, dict):
            if rest := _less(value, own):
                left[key] = rest
        elif value != own:
            left[key] = value
    return left
