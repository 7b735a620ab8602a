"""The version of Penstock, and which code it is: "0.1.0+g1a2b3c4d5e6f.dirty"."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from importlib import metadata
from pathlib import Path

COMMIT = Path(__file__).with_name("commit")
"""Written by the build (`setup.py`) into wheels and source archives; a checkout has none."""
CHECKOUT = Path(__file__).resolve().parents[1]
GIT_SECONDS = 5.0
"""Seconds after which git is not waited for: a checkout may lie on a slow network."""


@cache
def version() -> str:
    """Return the version, with the commit where it is known.

    The first call in a checkout runs git for some 20 ms: make it where that delays nothing.
    """
    found = commit()
    return metadata.version("penstock") + (f"+{found}" if found else "")


def commit() -> str:
    """Return the commit, such as "g1a2b3c4d5e6f", with ".dirty" if files differ from it; "" if unknown."""
    if COMMIT.is_file():
        return COMMIT.read_text().strip()
    # Elsewhere, git would find whatever repository the environment happens to lie in.
    return _asked_of_git() if (CHECKOUT / ".git").exists() else ""


def _asked_of_git() -> str:
    # Within a hook of git, such variables name another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = "git --no-optional-locks describe --always --exclude=* --abbrev=12 --dirty=.dirty"
    try:
        done = subprocess.run(
            command.split(), cwd=CHECKOUT, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, timeout=GIT_SECONDS, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):  # no git, no commit yet, somebody else's checkout
        return ""
    return f"g{done.stdout.strip()}"
