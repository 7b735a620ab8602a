"""The scan's entries in the detector's Metadata: merged into it and removed again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class ScanMetadata:
    """Remembers the scan's entries, so that the user's own stay."""

    def __init__(self) -> None:
        self._merged = ""
        self._before = ""
        self._ours: dict[str, Any] = {}

    def merged(self, present: str, context: Mapping[str, Any]) -> str:
        """Return the text for the attribute Metadata.

        Args:
            present: what it is now; JSON object, "" for none.
            context: the channel's ScanContext; empty outside a scan.
        """
        before = self._before if self._merged and present == self._merged else self._without_ours(present)
        ours = _added(_parsed(before), of_scan(context))
        merged = json.dumps(_merged(_parsed(before), ours)) if ours else before
        self._before, self._merged, self._ours = before, merged, ours
        return merged

    def _without_ours(self, present: str) -> str:
        """Return a text that the user has changed since, without our own entries."""
        found = _parsed(present)
        left = _less(found, self._ours)
        if left == found:
            return without_scan(present)  # nothing is remembered after a restart of the Pool
        return json.dumps(left) if left else ""


def without_scan(present: str) -> str:
    """Return the text of Metadata without a scan's entries; the same text if it has none.

    Args:
        present: what it is now; it names the scan's entries in `scan.entries`.
    """
    found = _parsed(present)
    scan = found.get("scan")
    entries = scan.get("entries") if isinstance(scan, dict) else None
    if not isinstance(entries, list):
        return present
    for entry in entries:
        key, _, inner = str(entry).partition(".")
        value = found.get(key)
        if not inner:
            found.pop(key, None)
        elif isinstance(value, dict):
            value.pop(inner, None)
            if not value:
                del found[key]
    return json.dumps(found) if found else ""


def of_scan(context: Mapping[str, Any]) -> dict[str, Any]:
    """Return the context of a scan under the keys that have a place in the file."""
    if not context:
        return {}
    entries: dict[str, Any] = {
        "title": context.get("title"),
        "entry_identifier": str(context["scan_id"]) if context.get("scan_id") else None,
        "collection_identifier": context.get("scan_file"),
        "user": {"name": context["user"]} if context.get("user") else None,
        "scan": {key: context[key] for key in ("macro", "motors", "points") if context.get(key)},
    }
    return {key: value for key, value in entries.items() if value}


def _added(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return our entries that the user has not set, with the list of their names in `scan.entries`."""
    if not ours:
        return {}
    added: dict[str, Any] = {}
    for key, value in {**ours, "scan": {**ours.get("scan", {}), "entries": []}}.items():
        there = theirs.get(key, {} if isinstance(value, dict) else None)
        if isinstance(value, dict) and isinstance(there, dict):
            if rest := {name: each for name, each in value.items() if name not in there}:
                added[key] = rest
        elif key not in theirs:
            added[key] = value
    if "entries" in added.get("scan", {}):
        added["scan"]["entries"] = [
            name
            for key, value in added.items()
            for name in ([f"{key}.{inner}" for inner in value] if isinstance(value, dict) else [key])
        ]
    return added


def _parsed(text: str) -> dict[str, Any]:
    found = json.loads(text) if text.strip() else {}
    return found if isinstance(found, dict) else {}


def _merged(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Return both; where both have a key, the user's value stays."""
    merged = dict(theirs)
    for key, value in ours.items():
        there = merged.get(key)
        if isinstance(there, dict) and isinstance(value, dict):
            merged[key] = {**value, **there}
        else:
            merged.setdefault(key, value)
    return merged


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
