"""What `penstock check --json` says of a file, in a sentence."""

from __future__ import annotations

import json

MOST_FINDINGS = 4


def verdict(output: str, errors: str) -> tuple[str, bool]:
    """Return what `penstock check --json` says of one file, in words, and whether it is clean."""
    try:
        answer = json.loads(output)
        (found,) = answer["files"]
    except (ValueError, KeyError, TypeError):
        last = errors.strip().splitlines()[-1:] or ["it said nothing"]
        return f"The check ended unexpectedly: {last[0]}", False
    if "error" in found:
        return str(found["error"]), False
    sentences = [str(finding["sentence"]) for finding in found.get("findings", [])]
    more = f" (and {len(sentences) - MOST_FINDINGS} more)" if len(sentences) > MOST_FINDINGS else ""
    words = "; ".join(sentences[:MOST_FINDINGS]) + more
    if answer["clean"]:
        return f"The file is clean.{' ' + words if words else ''}", True
    return f"The file is not clean: {words}", False
