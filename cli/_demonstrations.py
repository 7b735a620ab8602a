"""What `demo` and `sardana-demo` have in common: their end, their windows, and how to look at a file."""

from __future__ import annotations

import signal
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from penstock.hosts.child import Child


def leave_when_asked_to_end() -> None:
    """Let SIGTERM and SIGHUP leave every `with`."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, frame: sys.exit(128 + number))


def viewer(receiver_url: str, **environment: str) -> Child[bool]:
    """Return the live viewer in a process of its own, which the user closes."""
    return window("the viewer", "watching ", "view", receiver_url, "--log", **environment)


def window(name: str, ready: str, *command: str, **environment: str) -> Child[bool]:
    """Return a window in a process of its own, which the user closes.

    Args:
        name: of the window.
        ready: the beginning of the line that its command prints once it is there.
        command: of `penstock`.
        environment: variables that it has besides.
    """
    from penstock.hosts.child import PENSTOCK, Child

    return Child(
        name, (*PENSTOCK, *command), lambda line: line.startswith(ready) or None, deadline=60.0,
        environment=environment,
    )  # fmt: skip


def needs_windows() -> str:
    """Return what to install for windows, as a comment behind a command; "" if it is there."""
    from penstock.cli.extras import install_command

    return "" if find_spec("silx") else f"   # needs: {install_command('gui')}"


def print_views(words: Console, file: Path, *commands: str) -> None:
    """Print commands that show a file, after those that are given."""
    lines = [*commands, f"penstock view {file}{needs_windows()}", f"silx view {file}{needs_windows()}"]
    words.print("\n".join(f"  {each}" for each in lines), markup=False)
