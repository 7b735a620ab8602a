"""A Tango database without a database server: pytango-db over one SQLite file, as a child process."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tango

from penstock.hosts.child import PYTHON, Child, ProcessFailed

FILE_NAME = "tango_database.db"
LISTENING = re.compile(r"Database DS listening on:.*, port=(\d+)\.")
ANSWERS_WITHIN = 20.0
"""Seconds within which a database that is started must answer."""


def start_database(folder: Path, *, port: int = 0) -> Child[int]:
    """Start the database; the child's `answer` is its port on 127.0.0.1.

    Args:
        folder: folder of the SQLite file; created if it does not exist.
        port: its TCP port; 0 lets the system choose.

    Raises:
        ProcessFailed: the folder or the port cannot be used; the sentence quotes the process.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ProcessFailed(f"the Tango database cannot use the folder {folder}: {error.strerror}") from error
    child = Child(
        "the Tango database",
        [
            *PYTHON, "-c", "from databaseds.database import main; main()",
            "--host", "127.0.0.1", "--port", str(port), "--print-host-port", "2",
        ],
        _port, deadline=ANSWERS_WITHIN, environment={"PYTANGO_DATABASE_NAME": str(folder / FILE_NAME)},
    )  # fmt: skip
    try:
        wait_until_answers(
            child, lambda: tango.Database("127.0.0.1", child.answer).get_info(), ANSWERS_WITHIN
        )
    except BaseException:
        child.stop()
        raise
    return child


def _port(line: str) -> int | None:
    found = LISTENING.search(line)
    return int(found[1]) if found else None


def wait_until_answers(child: Child[Any], ask: Callable[[], object], deadline: float) -> None:
    """Wait until a Tango server answers: some listen a moment earlier, others do not say that they are ready.

    Args:
        child: the server.
        ask: raises `tango.DevFailed` as long as it does not answer.
        deadline: in seconds.

    Raises:
        ProcessFailed: it ended, or did not answer in time.
    """
    limit = time.monotonic() + deadline
    while True:
        try:
            ask()
            return
        except tango.DevFailed as error:
            ended = child.ended()
            if ended is not None:
                raise ProcessFailed(ended) from error
            if time.monotonic() > limit:
                raise ProcessFailed(f"{child.name} does not answer within {deadline:g} s") from error
            time.sleep(0.1)  # each attempt is a load on the database
