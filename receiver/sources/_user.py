"""The user part of a vendor's start message, and the arming to which it belongs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.receiver.sources import Decoded, _vendor
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Header, Start
from penstock.stins.user_part import UserPart

REMEMBERED = 10_000
"""Number of armings that are remembered; an older one would be accepted again."""


class Armings:
    """The armings of one box: each belongs to one series, and to no other."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._armed: tuple[str, str] = ("", "")
        self.frames_per_trigger: int | None = None
        """Frames per trigger of the last series as its user part gives it; `None` if it does not."""

    def start(self, header: Header, metadata: dict[str, Any], user: object, where: str) -> Decoded:
        """Return the start message with the file name and settings of the user part.

        Args:
            header: header as the box sends it, with its own series number.
            metadata: metadata as the box sends them.
            user: the user part as sent: JSON text or a mapping, from Penstock or anybody else.
            where: name of its place in the message, for errors.

        Returns:
            The start; preceded by an error to be counted if the user part belongs to an earlier series.

        Raises:
            RemoteError: the user part has a wrong "filename", or has the key "arm" but is not Penstock's.
        """
        # A box numbers its series from 1 again after initialisation: the number may be an arming's.
        self._armed = "", ""
        self.frames_per_trigger = None
        filename, rest = _vendor.user_data(user, where)
        if isinstance(rest, Mapping) and "arm" in rest:
            try:
                part = msgspec.convert({**rest, "filename": filename}, UserPart)
            except msgspec.ValidationError as error:
                raise RemoteError(
                    "wrong_type", f'{where}: it has the key "arm", as those of Penstock have, but {error}'
                ) from error
            series = header.series or ""
            if self._seen.setdefault(part.arm, series) != series:
                return _stale(part, series, where), Start(header, metadata)
            while len(self._seen) > REMEMBERED:
                del self._seen[next(iter(self._seen))]
            self._armed = series, part.arm
            self.frames_per_trigger = part.frames_per_trigger
            return Start(announced(header, part), {**part.metadata, **metadata})
        if rest is not None:
            metadata["user"] = rest
        return Start(msgspec.structs.replace(header, filename=filename), metadata)

    def name(self, series: str) -> str:
        """Return the id of a series: its arming's id if it has one, otherwise the box's own."""
        armed, arm = self._armed
        return arm if series == armed and arm else series


def announced(header: Header, part: UserPart) -> Header:
    """Return the header with the user part's values, but the box's own number of frames where it has none."""
    return msgspec.structs.replace(
        header,
        filename=part.filename,
        series=part.arm,
        overwrite=part.overwrite,
        frames=header.frames if part.frames is None else part.frames or None,
        index_source=part.index_source or header.index_source,
        trigger_mode=part.trigger_mode,
        frame_time=header.frame_time if part.frame_time is None else part.frame_time,
    )


def _stale(part: UserPart, series: str, where: str) -> RemoteError:
    return RemoteError(
        "stale_arm",
        f"{where}: series {series} has the user part of an earlier one (arm {part.arm}, "
        f"{part.filename or 'live only'}): somebody else has armed the detector; the series is taken without "
        "the user part, and that file is left alone",
    )
