"""Folders of the receiver's data root, as this side names them."""

from __future__ import annotations

from pathlib import PurePosixPath


def client_root(root: str, sent: str, seen: str) -> str:
    """Return the data root as clients name it: the receiver may map their paths to its own (`path_map`).

    Args:
        root: as the receiver sees it.
        sent: a file's path as a client gave it.
        seen: the same as the receiver sees it; "" where it has not said.
    """
    below = seen.removeprefix(root.rstrip("/"))
    if below != seen and below.startswith("/") and sent.endswith(below):
        return sent.removesuffix(below) or "/"
    return root


def relative(folder: str, root: str) -> str:
    """Return a folder relative to the data root; "" for the root itself, and for folders outside."""
    path = PurePosixPath(folder)
    return str(path.relative_to(root)) if path.is_relative_to(root) and path != PurePosixPath(root) else ""


def join_path(*parts: str) -> str:
    """Return the parts as one path, without those that are empty."""
    return str(PurePosixPath(*(part for part in parts if part)))
