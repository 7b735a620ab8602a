"""What the path of its last image says of an exposure: whether it went as it was set at Arm.

Whoever types at camserver's window may change that between Arm and a trigger, and nothing else tells.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

NUMBER = re.compile(r"_(\d+)$")


def number_of(path: str) -> int | None:
    """Return the number in the name of an image; `None` if there is none."""
    found = NUMBER.search(PurePosixPath(path).stem)
    return None if found is None else int(found[1])


def fewer(path: str, planned: int) -> str:
    """Return, in words, how an exposure has ended before the image of number `planned`; "" if it has not."""
    number = number_of(path)
    if number is None or number >= planned:
        return ""
    return (
        f"has taken images up to {number}, not {planned}: somebody has changed NImages since Arm, or has "
        "ended the exposure at camserver"
    )


def is_elsewhere(path: str, folder: str) -> bool:
    """Return whether an image is in another folder than this one; "": it is not known."""
    return path.startswith("/") and folder not in ("", str(PurePosixPath(path).parent))


def unlike(path: str, planned: int, folder: str) -> str:
    """Return, in words, what somebody has changed since Arm so that there are too many images, or they are
    not where they are looked for; "" for nothing.

    Args:
        path: of the last image, as camserver says it.
        planned: number of the last image as it was set.
        folder: into which camserver was told to write.
    """
    number = number_of(path)
    if number is not None and number > planned:
        return f"has taken images up to {number}, not {planned}: somebody has changed NImages since Arm"
    if is_elsewhere(path, folder):
        where = PurePosixPath(path).parent
        return f"has written into {where}, not {folder}: somebody has changed ImgPath since Arm"
    return ""
