"""Logging of a service's processes: one line per message, whatever the names of series and files."""

from __future__ import annotations

import logging
import sys

from penstock.stins.texts import quoted

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MAX_LINE = 10_000
"""Most characters per message."""


class OneLine(logging.Formatter):
    """Escapes line breaks and control characters in messages; tracebacks keep their lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its traceback."""
        record.message = quoted(record.message, MAX_LINE)
        return super().formatMessage(record)


def begin() -> None:
    """Log to stderr, from INFO on; call it once per process, first."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
