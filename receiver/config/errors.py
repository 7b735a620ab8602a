"""Errors of the receiver's configuration in the user's words."""

from __future__ import annotations

from functools import partial

from penstock.service import setting_errors

WORDS = setting_errors.Words(
    schema="`penstock receiver --schema`",
    removed={
        "write_with": "leave it out",
        "writers": "leave it out, or set files: several threads write one file no faster than one does",
        "write_queue_mb": "leave it out: what waits for a file follows from the size of its frames",
    },
    texts={"http": "HOST:PORT, such as 127.0.0.1:5000", "data_root": "an absolute path, such as /data"},
)
sentence = partial(setting_errors.sentence, words=WORDS)
"""`setting_errors.sentence` for settings of the receiver."""
