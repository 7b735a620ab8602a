"""A folder with one file per message of a DECTRIS stream V2, in the form of DECTRIS' published examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import cbor2

SUFFIX = ".cbor"
ORDER = ("start", "image", "end")
"""Types of messages in the order of a series; names of files need not follow it."""


class NoMessageError(Exception):
    """The folder has no messages, or a file in it is none; the sentence names it."""


def messages(folder: Path) -> Iterator[bytes]:
    """Yield the messages, one after another: each series' start, its images by their number, and its end.

    Every file is read twice, so that no more than one message is in memory.

    Raises:
        NoMessageError: there are no messages, or a file is none.
        OSError: a file cannot be read.
    """
    paths = [path for path in sorted(folder.iterdir()) if path.suffix == SUFFIX]
    if not paths:
        raise NoMessageError(
            f"{folder} is a folder without {SUFFIX} files; it should have one for each message of a DECTRIS "
            "stream V2"
        )
    # Files of equal place, such as those of a frame that was sent twice, stay in the order of their names.
    for path in sorted(paths, key=_place):
        yield path.read_bytes()


def _place(path: Path) -> tuple[int, int, int]:
    """Return the place of a message: series, type, number of the image."""
    try:
        content: Any = cbor2.loads(path.read_bytes())
    except OSError:
        raise
    except Exception as error:  # cbor2 raises almost anything for what is no CBOR
        raise NoMessageError(f"{path} is no message of a DECTRIS stream V2 ({error})") from error
    kind = content.get("type") if isinstance(content, Mapping) else None
    if kind not in ORDER:
        raise NoMessageError(f"{path} is no message of a DECTRIS stream V2: its type is {kind!r:.60}")
    series, image = (content.get(key) for key in ("series_id", "image_id"))
    return _number(series), ORDER.index(kind), _number(image)


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
