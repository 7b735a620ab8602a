"""Text as it comes out of a clipboard: what a line of text cannot hold is taken out."""

from __future__ import annotations

import re
import unicodedata

_BREAK = re.compile(r"\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+\s*")


def one_line(text: str, cursor: int) -> tuple[str, int]:
    """Return a text without line ends and control characters, and the cursor's place in it.

    A line end before the cursor, where a paste ends, or at either end of the text goes; one between words
    becomes a space. Letters that were sent in parts, as file names of a Mac are, become whole: Tango knows no
    others.

    Args:
        text: what stands in the line now.
        cursor: place behind what was inserted.
    """
    before, after = text[:cursor], text[cursor:]
    before = _clean(re.sub(rf"{_BREAK.pattern}$", "", before))
    after = _clean(re.sub(rf"{_BREAK.pattern}$", "", after))
    return before + after, len(before)


def _clean(text: str) -> str:
    text = _BREAK.sub(lambda found: " " if found.start() else "", text)
    text = "".join(" " if each == "\t" else each for each in text if each == "\t" or _is_shown(each))
    return unicodedata.normalize("NFC", text)


def _is_shown(character: str) -> bool:
    return unicodedata.category(character) not in ("Cc", "Cs")
