"""Errors of the receiver's configuration in the user's words."""

from __future__ import annotations

from functools import partial

from penstock.receiver.service import setting_errors

sentence = partial(
    setting_errors.sentence,
    words=setting_errors.Words(
        schema="`penstock receiver --schema`",
        removed={"write_with": "several writers are threads: leave it out"},
        texts={"http": "HOST:PORT, such as 127.0.0.1:5000", "data_root": "an absolute path, such as /data"},
    ),
)
"""`setting_errors.sentence` for settings of the receiver."""
