"""DECTRIS stream V1 ("legacy" stream interface): EIGER and PILATUS control units, PUSH on port 9999.

Source: SIMPLON API 1.8, "Stream"; recordings of an EIGER 1M. A frame's blob is passed
through unchanged: "bs8-lz4", "bs16-lz4<" and "bs32-lz4<" are what HDF5 filter 32008 stores. "lz4<" is one LZ4
block without a header: it gets the header of filter 32004. A frame in any other encoding keeps that
encoding's name, which `stins.blobs.check` refuses: since its number is known, it is counted as corrupt at its
index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Annotated, Any, Literal, TypeAlias, assert_never

import msgspec
import numpy as np

from penstock.codecs import lz4
from penstock.receiver.sources import Decoded, _vendor
from penstock.receiver.sources._user import Armings
from penstock.stins.blobs import ITEM_BYTES, MAX_FRAME_BYTES
from penstock.stins.errors import RemoteError, StinsError
from penstock.stins.messages import Buffer, Frame, Header, Image, IndexSource, SeriesEnd
from penstock.stins.texts import plural

_UNCHANGED = (
    "beam_center_x", "beam_center_y", "bit_depth_readout", "count_time", "countrate_correction_applied",
    "description", "detector_readout_time", "frame_time", "pixel_mask_applied", "sensor_material",
    "sensor_thickness", "threshold_energy", "x_pixel_size", "y_pixel_size",
)  # fmt: skip
NAMES: Mapping[str, str] = {key: key for key in _UNCHANGED} | {
    "countrate_correction_count_cutoff": "saturation_value",
    "detector_distance": "distance",
    "detector_number": "serial_number",
    "flatfield_correction_applied": "flatfield_applied",
    "photon_energy": "incident_energy",
    "virtual_pixel_correction_applied": "virtual_pixel_interpolation_applied",
    "wavelength": "incident_wavelength",
}
"""NeXus names of keys of the detector configuration. Units agree: s, m, eV, pixel, angstrom."""

AXES = ("omega", "kappa", "chi", "phi", "two_theta")
"""Axes of goniometer and detector in keys such as `omega_start`."""
NANOSECOND = 1e-9

_Number: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=_vendor.MAX_NUMBER)]


class _Header(msgspec.Struct, frozen=True, tag_field="htype", tag="dheader-1.0"):
    series: _Number
    header_detail: Literal["none", "basic", "all"]


class _Image(msgspec.Struct, frozen=True, tag_field="htype", tag="dimage-1.0"):
    series: _Number
    frame: _Number


class _End(msgspec.Struct, frozen=True, tag_field="htype", tag="dseries_end-1.0"):
    series: _Number


class _Data(msgspec.Struct, frozen=True, tag_field="htype", tag="dimage_d-1.0"):
    shape: tuple[int, int]
    """Shape as [x, y]: columns first."""
    type: str
    encoding: str
    size: Any = None
    """Bytes of the blob, needed for a lone LZ4 block only, which says nothing about its length."""


class _Times(msgspec.Struct, frozen=True, tag_field="htype", tag="dconfig-1.0"):
    """Times in nanoseconds; the start is relative to the start of the series or of the detector."""

    start_time: int | float | None = None
    real_time: int | float | None = None


class _Table(msgspec.Struct, frozen=True):
    shape: tuple[int, int]
    type: str


_TABLES: Mapping[str, str] = {
    "dflatfield-1.0": "flatfield",
    "dpixelmask-1.0": "pixel_mask",
    "dcountrate_table-1.0": "countrate_correction_lookup_table",
}
"""NeXus names of the tables of a start message, by htype."""

_first = msgspec.json.Decoder(_Header | _Image | _End)
_data = msgspec.json.Decoder(_Data)
_times = msgspec.json.Decoder(_Times)
_table = msgspec.json.Decoder(_Table)


class DectrisV1Source:
    """Decoder of a V1 stream; it learns the number of frames per trigger from the start message."""

    def __init__(self) -> None:
        self._frames_per_trigger: int | None = None
        self._series: int | None = None
        self._armings = Armings()

    def decode(self, parts: Sequence[Buffer]) -> Decoded:
        """Decode one multi-part message; unknown parts of a start message are returned as errors before it.

        Raises:
            RemoteError: not JSON, unknown htype, missing key, wrong type, wrong number of parts.
        """
        if not parts:
            raise RemoteError("no_parts", "message has no parts; the peer does not speak DECTRIS stream V1")
        first = _vendor.decode(_first, parts[0], "first part")
        match first:
            case _Image():
                return self._frame(first, parts)
            case _Header():
                try:
                    return self._start(first, parts)
                except RemoteError as error:
                    raise _vendor.not_taken(error, self._armings.name(str(first.series))) from error
            case _End():
                if len(parts) > 1:
                    raise RemoteError("extra_parts", f"series end has {plural(len(parts), 'part')}; V1 has 1")
                return SeriesEnd(series=self._armings.name(str(first.series)))
            case _:
                assert_never(first)

    def _start(self, header: _Header, parts: Sequence[Buffer]) -> Decoded:
        rest = list(parts[1:])
        config: dict[str, Any] = {}
        if header.header_detail != "none":
            if not rest:
                raise RemoteError(
                    "missing_parts",
                    f"start message with header_detail {header.header_detail} has no configuration",
                )
            config = _vendor.read_object(rest.pop(0), "detector configuration")
        metadata = _vendor.translate(config, NAMES)
        if axes := _goniometer(config):
            metadata["goniometer"] = axes
        left_out: list[StinsError] = []
        while len(rest) >= 2 and (described := _described(rest[0])) is not None:
            part = rest.pop(0)
            if (name := _TABLES.get(described["htype"])) is not None:
                metadata[name] = _array(name, part, rest.pop(0))
                continue
            blob = ""
            if "shape" in described:
                rest.pop(0)
                blob = " and the blob that it describes"
            sentence = (
                f'start message: parts of htype "{described["htype"]:.60}" are unknown; this one{blob} is '
                "left out, the series is taken"
            )
            left_out.append(RemoteError("unknown_part", sentence))
        if len(rest) > 1:
            raise RemoteError(
                "extra_parts",
                f"start message has {plural(len(parts), 'part')} with header_detail {header.header_detail}",
            )
        images = _vendor.count(config, "nimages", "detector configuration")
        triggers = _vendor.count(config, "ntrigger", "detector configuration")
        self._series = header.series
        mode = config.get("trigger_mode")
        compression = config.get("compression")
        stated = Header(
            filename=None,
            series=str(header.series),
            frames=None if images is None or triggers is None else images * triggers,
            # The configuration has the size of the detector, not that of a region of interest:
            # the first frame says what frames look like.
            compression=compression if isinstance(compression, str) else None,
            # In the other modes a missed edge shifts all later frames unnoticed.
            index_source=IndexSource.HARDWARE_COUNTER.value if mode == "ints" else None,
            # `trigger_mode` stays unknown unless our own device gives it: even "ints" waits for a command
            # after arming, so only the receiver's idle limit can call a silence too long.
            frame_time=_vendor.seconds(config, "frame_time"),
        )
        start = self._armings.start(stated, metadata, rest[0] if rest else None, "header appendix")
        self._frames_per_trigger = self._armings.frames_per_trigger or images
        return (*left_out, *start) if isinstance(start, tuple) else (*left_out, start) if left_out else start

    def _frame(self, image: _Image, parts: Sequence[Buffer]) -> Frame:
        try:
            return self._with_pixels(image, parts)
        except RemoteError as error:
            return _vendor.refused(error, image.frame, self._armings.name(str(image.series)))

    def _with_pixels(self, image: _Image, parts: Sequence[Buffer]) -> Frame:
        # A fifth part is the image appendix: the user's own text, not needed for the frame.
        if len(parts) not in (4, 5):
            raise RemoteError(
                "wrong_parts",
                f"frame {image.frame} has {plural(len(parts), 'part')}; V1 has 4, or 5 with an appendix",
            )
        data = _vendor.decode(_data, parts[1], "second part of a frame")
        times = _vendor.decode(_times, parts[3], "fourth part of a frame")
        per_trigger = self._frames_per_trigger if image.series == self._series else None
        columns, rows = data.shape
        # `stins.blobs.check` finds a truncated blob, and knows its frame.
        compression, blob = _compression(data.encoding, data.type), parts[2]
        if compression == "lz4":
            compression, blob = _lz4(blob, data.size, rows * columns * ITEM_BYTES.get(data.type, 0))
        return Frame(
            Image(
                shape=(rows, columns),
                type=data.type,
                compression=compression,
                frame=image.frame,
                exposure_time=None if times.real_time is None else times.real_time * NANOSECOND,
                series=self._armings.name(str(image.series)),
                trigger=None if per_trigger is None else image.frame // per_trigger,
                timestamp_hw=None if times.start_time is None else times.start_time * NANOSECOND,
            ),
            (blob,),
        )


def _goniometer(config: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the axes by name, each with its values, as stream V2 sends them; they stay in "vendor", too."""
    found = {
        name: {
            key: config[f"{name}_{key}"]
            for key in ("start", "increment", "axis")
            if f"{name}_{key}" in config
        }
        for name in AXES
    }
    return {name: values for name, values in found.items() if values}


def _compression(encoding: str, dtype: str) -> str:
    """Return the STINS name of an encoding; an encoding unknown to STINS is returned unchanged."""
    bits = 8 * ITEM_BYTES.get(dtype, 0)
    if bits == 8:
        encoding = encoding.rstrip("<>")  # a single byte has no order
        return {"bs8-lz4": "bslz4", "": "none"}.get(encoding, encoding)
    return {f"bs{bits}-lz4<": "bslz4", "lz4<": "lz4", "<": "none"}.get(encoding, encoding)


def _lz4(block: Buffer, size: Any, nbytes: int) -> tuple[str, Buffer]:
    """Return compression and blob of a frame whose blob is one LZ4 block.

    Filter 32004 takes a block of its unpacked length for plain bytes, so the rare LZ4 block of that length is
    unpacked. What is no block at all, or no frame, is left to `stins.blobs.check`.
    """
    if not 0 < nbytes <= MAX_FRAME_BYTES:
        return "lz4", block
    if len(block) != nbytes:
        announced = size if isinstance(size, int) and 0 < size < MAX_FRAME_BYTES else None
        return "lz4", lz4.frame_block(block, nbytes, announced)
    try:
        return "none", lz4.decompress_block(block, nbytes)
    except ValueError:
        return "lz4 that cannot be unpacked", block


def _described(part: Buffer) -> dict[str, Any] | None:
    """Return the header in this part of a start message; `None` if the part is not a header."""
    try:
        found = _vendor.read_object(part, "header")
    except RemoteError:
        return None
    return found if isinstance(found.get("htype"), str) else None


def _array(name: str, part: Buffer, blob: Buffer) -> np.ndarray[Any, Any]:
    """Return a flatfield, pixel mask or count rate table as an array, rows first, not copied."""
    table = _vendor.decode(_table, part, name)
    if table.type not in ITEM_BYTES:
        raise RemoteError("unknown_type", f'{name}: type "{table.type}"; known are {", ".join(ITEM_BYTES)}')
    if min(table.shape) < 1:
        raise RemoteError("bad_shape", f"{name}: shape {list(table.shape)}; each length must be at least 1")
    expected = prod(table.shape) * ITEM_BYTES[table.type]
    if len(blob) != expected:
        raise RemoteError("blob_length", f"{name}: {plural(len(blob), 'byte')}, {expected} expected")
    columns, rows = table.shape
    return np.frombuffer(blob, np.dtype(table.type).newbyteorder("<")).reshape(rows, columns)
