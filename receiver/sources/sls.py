"""The stream of the SLS detector software: EIGER, JUNGFRAU, MOENCH … of PSI, PUB on ports 30001 and up.

Source: slsDetectorPackage 6 to 10, "ZMQ: Json Header Format", `ZmqSocket::SendHeader` and `DataStreamer`.
One port carries one module (JUNGFRAU) or half module (EIGER). Each message is a JSON header, followed by a
raw blob if the header has `"data": 1`.

There is no start message: the first frame of an acquisition begins a series. Another acquisition has another
file index or name, another first frame, or a frame index that goes back. `acqIndex` does not help: it is the
detector's frame number. An acquisition ends with a header without data, which is repeated until the SLS
software's own client has received it.

Frames of a series that a device has armed bear the id of that arming, under the key `arm` of the additional
JSON header (`rx_jsonpara`); file and plan are in the receiver's entry for it (`expected`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec
import numpy as np

from penstock.receiver.sources import Decoded, _vendor
from penstock.receiver.sources._user import announced
from penstock.receiver.sources.expected import ExpectedSeries
from penstock.stins import blobs
from penstock.stins.errors import RemoteError
from penstock.stins.messages import Buffer, Frame, Header, Image, SeriesEnd, Start
from penstock.stins.texts import plural
from penstock.stins.user_part import UserPart

TYPES: Mapping[int, str] = {4: "uint8", 8: "uint8", 16: "uint16", 32: "uint32"}
"""Pixel types by `bitmode`, little endian. Pixels of 4 bits are unpacked to one byte each."""

EIGER = 1
DETECTORS: Mapping[int, str] = {
    EIGER: "EIGER", 2: "GOTTHARD", 3: "JUNGFRAU", 4: "CHIPTESTBOARD", 5: "MOENCH", 6: "MYTHEN3",
    7: "GOTTHARD2",
}  # fmt: skip
"""Names of detectors, by `detType`."""

ARM = "arm"
"""Key of the additional JSON header under which a device sends the id of its arming."""

CLOCK = 10_000_000
"""Ticks per second of `timestamp` and of an exposure time in `expLength`."""

EXTENSIONS = (".h5", ".hdf5", ".nxs", ".nx5")

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=_vendor.MAX_NUMBER)]
_Length: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]


class _Kind(msgspec.Struct, frozen=True):
    data: int
    """1: a blob follows; 0: the acquisition has ended, and the rest of the header is meaningless."""


class _Header(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    bitmode: int
    shape: tuple[_Length, _Length]
    """Shape of this port's frames as [x, y]: columns first."""
    frame_index: _Number
    """Index from 0. Lost frames leave a gap."""
    frame_number: _Number | None = None
    """The detector's own counter."""
    file_index: _Number = 0
    fname: Annotated[str, msgspec.Meta(max_length=4096)] = ""
    """Path and prefix of the file that the SLS software writes, without index and extension."""
    progress: float | None = None
    """Percentage of the acquisition including this frame, six digits."""
    complete_image: int = 1
    packet_number: _Number | None = None
    """Packets of this frame that arrived."""
    timestamp: _Number = 0
    exp_length: _Number = 0
    """Exposure time in ticks; for EIGER with 32 bits the number of subframes."""
    detshape: tuple[_Length, _Length] = (1, 1)
    """Size of the detector as [x, y], in ports."""
    row: _Length = 0
    column: _Length = 0
    det_type: int = 0
    flip_rows: int = 0
    rx_roi: Any = msgspec.field(name="rx_roi", default=None)
    """Region of interest (since package 8); -1 for none."""
    user: Any = msgspec.field(name="addJsonHeader", default=None)


_kind = msgspec.json.Decoder(_Kind)
_header = msgspec.json.Decoder(_Header)
_whole = msgspec.json.Decoder(dict[str, Any])

_PER_SERIES = (
    "jsonversion", "version", "bitmode", "fileIndex", "fname", "detshape", "shape", "modId", "row", "column",
    "detType", "flipRows", "quad", "rx_roi",
)  # fmt: skip
"""Keys that do not change within an acquisition; they are stored as sent."""


class SlsSource:
    """Decoder of the stream of one port.

    Args:
        expected: entry of the receiver, which the decoders of all its ports share.
    """

    def __init__(self, expected: ExpectedSeries | None = None) -> None:
        self._expected = expected or ExpectedSeries()
        self._running: tuple[object, ...] | None = None
        self._last = (-1, -1)
        self._part: UserPart | None = None
        """User part of the running acquisition; `None` if it is somebody else's."""

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """Decode one message: a frame, preceded by the start of its series if it is the first; or the end.

        The start is preceded by an error to be counted if the id of its arming is unknown.

        Raises:
            RemoteError: not JSON, missing key, wrong type, unknown bit mode, wrong number of parts.
        """
        if not parts:
            raise RemoteError("no_parts", "message has no parts; the peer is no SLS detector receiver")
        if not _vendor.decode(_kind, parts[0], "SLS header").data:
            running, self._running = self._running, None
            part, self._part = self._part, None
            return () if running is None else SeriesEnd(series=None if part is None else part.arm)
        header = _vendor.decode(_header, parts[0], "SLS header")
        acquisition = _acquisition(header)
        begins = acquisition != self._running or self._is_back(header)
        try:
            frame = _checked(header, parts)
        except RemoteError as error:
            if begins:
                raise
            frame = _vendor.refused(error, header.frame_index, self._part.arm if self._part else None)
        begun = self._begun(header, _start(header, parts[0])) if begins else ()
        # Set only now, for a valid message.
        self._running, self._last = acquisition, (header.frame_index, header.timestamp)
        if self._part is not None:
            frame = _of_series(frame, self._part)
        return (*begun, frame) if begun else frame

    def _begun(self, header: _Header, start: Start) -> tuple[Start | RemoteError, ...]:
        """Return the start of an acquisition with the file and plan of its arming, if it has one."""
        self._part = None
        arm = _arm(header)
        if not arm:
            return (start,)
        self._part = self._expected.begin(arm, self)
        if self._part is None:
            # Its name may be that of a file of ours: the settings of an earlier series are still there.
            return _stale(arm), msgspec.structs.replace(
                start, header=msgspec.structs.replace(start.header, filename=None)
            )
        metadata = {**self._part.metadata, **start.metadata}
        if "user" in self._part.metadata:  # the user's own, not what others have put into the stream
            metadata["user"] = self._part.metadata["user"]
        return (Start(announced(start.header, self._part), metadata),)

    def _is_back(self, header: _Header) -> bool:
        """Return whether a new acquisition has begun with the same number as the last, whose end was lost."""
        last_index, last_timestamp = self._last
        # Frames of one port arrive in order. The same index again is a duplicate, unless it was taken later.
        return header.frame_index < last_index or (
            header.frame_index == last_index and header.timestamp != last_timestamp
        )


def _acquisition(header: _Header) -> tuple[object, ...]:
    """Return the values that all frames of an acquisition share, and those of the next one rarely do."""
    first = None if header.frame_number is None else header.frame_number - header.frame_index
    arm = _arm(header)
    return (arm, first) if arm else (header.file_index, header.fname, first)


def _arm(header: _Header) -> str:
    """Return the id of the arming of a frame; "" if no device has armed it."""
    arm = header.user.get(ARM) if isinstance(header.user, Mapping) else None
    return arm if isinstance(arm, str) else ""


def _stale(arm: str) -> RemoteError:
    return RemoteError(
        "stale_arm",
        f"a series has the id {arm}, which is not expected here: either somebody else has started the "
        "detector after a series of ours, or this receiver was restarted since it was armed; the series is "
        "taken without a file name, and the file of that arming is left alone",
    )


def _of_series(frame: Frame, part: UserPart) -> Frame:
    """Return a frame as one of the series of this arming, with its trigger."""
    per_trigger, number = part.frames_per_trigger, frame.image.frame
    trigger = None if per_trigger is None or number is None else number // per_trigger
    return Frame(msgspec.structs.replace(frame.image, series=part.arm, trigger=trigger), frame.blobs)


def _checked(header: _Header, parts: Sequence[Buffer]) -> Frame:
    if header.bitmode not in TYPES:
        raise RemoteError(
            "unknown_type", f"frame {header.frame_index}: bitmode {header.bitmode}; known are 4, 8, 16 and 32"
        )
    blobs.blob_layout(header.shape[::-1], TYPES[header.bitmode])
    if len(parts) != 2:
        raise RemoteError(
            "wrong_parts",
            f"frame {header.frame_index} has {plural(len(parts), 'part')}; it must have "
            "two, header and pixels",
        )
    return _frame(header, parts[1])


def _frame(header: _Header, blob: Buffer) -> Frame:
    columns, rows = header.shape
    compression = "none"
    if header.bitmode == 4:
        if 2 * len(blob) == rows * columns:
            blob = unpack(blob)
        else:
            # Nothing accepts this name: the frame is counted as corrupt at its index, with this sentence.
            compression = f"4 bits per pixel, in {plural(len(blob), 'byte')}"
    if header.det_type == EIGER and header.flip_rows and len(blob) == rows * columns * _bytes(header):
        blob = flip(blob, rows)
    subframes = header.det_type == EIGER and header.bitmode == 32
    return Frame(
        Image(
            shape=(rows, columns),
            type=TYPES[header.bitmode],
            compression=compression,
            frame=header.frame_index,
            exposure_time=header.exp_length / CLOCK if header.exp_length and not subframes else None,
            timestamp_hw=header.timestamp / CLOCK,
            partial=None if header.complete_image else _lost(header),
        ),
        (blob,),
    )


def _start(header: _Header, part: Buffer) -> Start:
    columns, rows = header.shape
    filename, user = _vendor.user_data(header.user, "addJsonHeader")
    sent = _vendor.decode(_whole, part, "SLS header")
    metadata: dict[str, Any] = {
        "bit_depth_readout": header.bitmode,
        "vendor": {key: sent[key] for key in _PER_SERIES if key in sent},
        **_place(header),
    }
    if header.det_type in DETECTORS:
        metadata["description"] = DETECTORS[header.det_type]
    if isinstance(user, Mapping):
        user = {key: value for key, value in user.items() if key != ARM} or None
    if user is not None:
        metadata["user"] = user
    frames = planned(header.frame_index, header.progress)
    nbytes = rows * columns * _bytes(header)
    return Start(
        Header(
            filename=_file_name(header) if filename is None else filename,
            frames=frames,
            shape=header.shape[::-1],
            type=TYPES[header.bitmode],
            compression="none",
            frame_bytes=nbytes,
        ),
        metadata,
    )


def planned(index: int, progress: float | None) -> int | None:
    """Return the number of frames of an acquisition from its progress in percent; `None` if not exact.

    Six digits are enough for up to some hundred thousand frames.
    """
    # Less than one frame of the longest series: dividing by it may overflow.
    if progress is None or not 100 / _vendor.MAX_NUMBER < progress <= 100:
        return None
    frames = round(100 * (index + 1) / progress)
    fitting = [n for n in (frames - 1, frames, frames + 1) if n > index and _progress(index, n) == progress]
    return frames if fitting == [frames] else None


def _progress(index: int, frames: int) -> float:
    return float(f"{100 * (index + 1) / frames:.6g}")


def unpack(blob: Buffer) -> bytes:
    """Unpack pixels of 4 bits to one byte each; the left pixel of two is in the lower half of its byte."""
    packed = np.frombuffer(blob, np.uint8)
    pixels = np.empty(2 * len(packed), np.uint8)
    np.bitwise_and(packed, 15, out=pixels[::2])
    np.right_shift(packed, 4, out=pixels[1::2])
    return pixels.tobytes()


def flip(blob: Buffer, rows: int) -> bytes:
    """Reverse the order of rows: EIGER's lower half modules are read from their lower edge."""
    return np.frombuffer(blob, np.uint8).reshape(rows, -1)[::-1].tobytes()


def _lost(header: _Header) -> str:
    arrived = "some" if header.packet_number is None else f"only {header.packet_number}"
    return f"{arrived} of its packets arrived at the SLS receiver; the pixels of the others are its padding"


def _bytes(header: _Header) -> int:
    return max(1, header.bitmode // 8)


def _place(header: _Header) -> dict[str, Any]:
    """Return the position of this port's pixels in the detector, as metadata; empty for a whole detector.

    The pixels of all ports lie side by side: wide pixels at the edges of chips are not corrected.
    """
    across, down = header.detshape
    columns, rows = header.shape
    cut = isinstance(header.rx_roi, list) and any(edge not in (-1, None) for edge in header.rx_roi)
    if across * down <= 1 or cut:
        return {}
    row = header.row
    if header.det_type == EIGER and header.rx_roi is None:
        row = down - 1 - row  # before package 8, an EIGER's rows of ports were numbered from below
    return {
        "x": header.column * columns,
        "y": row * rows,
        "rotation": 0,
        "full_shape": [down * rows, across * columns],
    }


def _file_name(header: _Header) -> str | None:
    """Return the series' file name, derived from the SLS software's own; `None` if that was not set."""
    folder, name = os.path.split(os.path.normpath(header.fname))
    # The default, "run" in the root folder, means that no name was set.
    if not header.fname.startswith("/") or not folder.strip("/"):
        return None
    path = os.path.join(f"/{folder.lstrip('/')}", name)
    return path if name.endswith(EXTENSIONS) else f"{path}_{header.file_index}.h5"
