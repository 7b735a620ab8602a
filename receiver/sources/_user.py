"""The user part of a DECTRIS start message: what it makes of the start, and which arming it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.receiver.sources import Decoded, _vendor
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Header, Start
from penstock.stins.user_part import UserPart

REMEMBERED = 10_000
"""Armings that are remembered: a box would have to be armed so often before an old one were taken again."""


class Armings:
    """The armings of one box: each is the id of one series, and of no other."""

    def __init__(self) -> None:
        self._seen: dict[str, str] = {}
        self._armed: tuple[str, str] = ("", "")

    def start(self, header: Header, metadata: dict[str, Any], user: object, where: str) -> Decoded:
        """The start message with what the user part says.

        Args:
            header: as the box says it; its series is the box's own.
            metadata: likewise.
            user: the user part as sent: JSON text or a mapping, of Penstock or of anybody else.
            where: name of its place, for errors.

        Returns:
            The start; with an error to be counted where the user part belongs to a series before.

        Raises:
            RemoteError: the user part has a wrong "filename", or says "arm" and is none of Penstock's.
        """
        # A box numbers its series from 1 again once it was initialised: the number may be that of an arming.
        self._armed = "", ""
        filename, rest = _vendor.user_data(user, where)
        if isinstance(rest, Mapping) and "arm" in rest:
            part = _part({**rest, "filename": filename}, where)
            series = header.series or ""
            if self._seen.setdefault(part.arm, series) != series:
                return _stale(part, series, where), Start(header, metadata)
            while len(self._seen) > REMEMBERED:
                del self._seen[next(iter(self._seen))]
            self._armed = series, part.arm
            return Start(_announced(header, part), {**part.metadata, **metadata})
        if rest is not None:
            metadata["user"] = rest
        return Start(msgspec.structs.replace(header, filename=filename), metadata)

    def name(self, series: str) -> str:
        """Id of a series: its arming where it has one, else the box's own."""
        armed, arm = self._armed
        return arm if series == armed and arm else series


def _part(value: Mapping[str, Any], where: str) -> UserPart:
    try:
        return msgspec.convert(value, UserPart)
    except msgspec.ValidationError as error:
        raise RemoteError(
            "wrong_type", f'{where}: it has the key "arm", as those of Penstock have, but {error}'
        ) from error


def _announced(header: Header, part: UserPart) -> Header:
    """The header; what the box itself says of frames counts for more than what was asked of it."""
    return msgspec.structs.replace(
        header,
        filename=part.filename,
        series=part.arm,
        overwrite=part.overwrite,
        frames=header.frames if part.frames is None else part.frames,
        index_source=part.index_source or header.index_source,
        trigger_mode=part.trigger_mode,
        frame_time=header.frame_time if part.frame_time is None else part.frame_time,
    )


def _stale(part: UserPart, series: str, where: str) -> RemoteError:
    return RemoteError(
        "stale_arm",
        f"{where}: series {series} comes with the user part of an earlier one (arm {part.arm}, "
        f"{part.filename or 'live only'}): somebody else has armed the detector; it is taken as if without, "
        "and that file is left alone",
    )
