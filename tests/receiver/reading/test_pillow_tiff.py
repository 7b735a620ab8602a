"""TIFF files in colours are shown in their colours, or refused in a sentence; never as something else."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.reader import ReaderError

COLOURS = np.zeros((3, 4, 3), np.uint8)
COLOURS[0, 0], COLOURS[1, 1], COLOURS[2, 3] = (10, 20, 30), (255, 0, 0), (200, 100, 50)
GREY, RGB = 1, 2


def tiff(
    image: np.ndarray[Any, Any],
    *,
    meaning: int = RGB,
    packing: int = 1,
    planar: bool = False,
    order: str = "<",
    sample_format: int = 1,
    big: bool = False,
) -> bytes:
    """A TIFF of one page with one strip for each plane (TIFF 6.0, sections 2, 6 and 13), or a BigTIFF."""
    place, count, head = ("Q", "Q", "HHHQ") if big else ("I", "H", "HI")
    width, first = (8, 16) if big else (4, 8)
    rows, columns, samples = image.shape if image.ndim == 3 else (*image.shape, 1)
    planes = [image[..., sample] for sample in range(samples)] if planar else [image]
    strips = [
        np.ascontiguousarray(plane.astype(plane.dtype.newbyteorder(order))).tobytes() for plane in planes
    ]
    strips = [zlib.compress(strip) for strip in strips] if packing == 8 else strips
    entries = {
        256: ("I", [columns]), 257: ("I", [rows]), 258: ("H", [8 * image.dtype.itemsize] * samples),
        259: ("H", [packing]), 262: ("H", [meaning]), 273: ("I", [0] * len(strips)), 277: ("H", [samples]),
        278: ("I", [rows]), 279: ("I", [len(strip) for strip in strips]), 284: ("H", [2 if planar else 1]),
        339: ("H", [sample_format] * samples),
    }  # fmt: skip
    # Behind the list of contents come the values that are too long for it.
    end = first + struct.calcsize(f"<{count}") + (4 + 2 * width) * len(entries) + width

    def contents() -> tuple[bytes, bytes]:
        listed, behind = b"", b""
        for tag, (form, values) in entries.items():
            packed = struct.pack(f"{order}{len(values)}{form}", *values)
            if len(packed) > width:
                packed, behind = struct.pack(f"{order}{place}", end + len(behind)), behind + packed
            kind = {"H": 3, "I": 4}[form]
            listed += struct.pack(f"{order}HH{place}", tag, kind, len(values)) + packed.ljust(width, b"\0")
        return listed, behind

    at = end + len(contents()[1])
    for number, strip in enumerate(strips):
        entries[273][1][number], at = at, at + len(strip)
    listed, behind = contents()
    numbers = (43, 8, 0, first) if big else (42, first)
    beginning = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}{head}", *numbers)
    listed = struct.pack(f"{order}{count}", len(entries)) + listed + struct.pack(f"{order}{place}", 0)
    return beginning + listed + behind + b"".join(strips)


@pytest.mark.parametrize("packing", [None, "tiff_lzw", "tiff_adobe_deflate", "packbits"])
@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK"])
def test_colours_are_right_however_they_are_packed(mode: str, packing: str | None, tmp_path: Path) -> None:
    image = PIL.Image.fromarray(COLOURS)
    made = image.quantize(8) if mode == "P" else image.convert(mode)
    made.save(tmp_path / "a.tif", compression=packing)
    with open_frames(tmp_path / "a.tif") as file:
        assert (file.interpretation, file.shape, file.dtype) == ("rgba-image", (1, 3, 4, 3), np.uint8)
        assert np.array_equal(file.frame(0), COLOURS)


def test_damaged_big_tiff_is_refused(tmp_path: Path) -> None:
    PIL.Image.fromarray(COLOURS).save(tmp_path / "a.tif", big_tiff=True)
    content = (tmp_path / "a.tif").read_bytes()
    assert content[:4] == b"II+\0"
    damaged = {"cut": content[:100], "far": content[:8] + b"\xff" * 8 + content[16:]}
    for name, said in damaged.items():
        (tmp_path / f"{name}.tif").write_bytes(said)
        with pytest.raises(ReaderError, match=rf"{name}\.tif .*damaged, or still being written"):
            open_frames(tmp_path / f"{name}.tif")


def test_grey_counts_in_big_tiff_are_read_as_they_are(tmp_path: Path) -> None:
    counts = np.array([[1, 2, 3], [200, 60_000, 200]], np.uint16)
    PIL.Image.fromarray(counts).save(tmp_path / "a.tif", big_tiff=True)
    with open_frames(tmp_path / "a.tif") as file:
        assert (file.interpretation, file.dtype) == ("image", np.dtype(np.uint16))
        assert file.frame(0).tolist() == counts.tolist()


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"order": ">"},
        {"packing": 8},
        {"planar": True},
        {"planar": True, "packing": 8},
        {"big": True},
        {"big": True, "order": ">"},
        {"big": True, "packing": 8},
    ],
    ids=[
        "plain",
        "big endian",
        "deflate",
        "planes",
        "packed planes",
        "BigTIFF",
        "BigTIFF, big endian",
        "BigTIFF, deflate",
    ],
)
def test_colours_are_right_however_they_are_ordered(keys: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(tiff(COLOURS, **keys))
    with open_frames(tmp_path / "a.tif") as file:
        assert file.interpretation == "rgba-image" and np.array_equal(file.frame(0), COLOURS)


@pytest.mark.parametrize("order", ["<", ">"])
def test_plain_colours_of_sixteen_bits_keep_all_of_them(order: str, tmp_path: Path) -> None:
    (tmp_path / "a.tif").write_bytes(tiff(COLOURS.astype(np.uint16) * 257, order=order))
    with open_frames(tmp_path / "a.tif") as file:
        assert file.frame(0)[2, 3].tolist() == [51400, 25700, 12850]


@pytest.mark.parametrize(
    ("dtype", "keys", "how"),
    [
        ("uint16", {"packing": 8}, "16 bits, deflate"),
        ("uint16", {"planar": True}, "16 bits, not packed, one colour behind the other"),
        ("float32", {"sample_format": 3}, "32 bits, not packed"),
    ],
)
def test_colours_that_nobody_reads_are_refused(
    dtype: str, keys: dict[str, Any], how: str, tmp_path: Path
) -> None:
    (tmp_path / "a.tif").write_bytes(tiff(COLOURS.astype(dtype), **keys))
    with pytest.raises(ReaderError, match=rf"a\.tif is a TIFF in colours that is not read here \({how}\)"):
        open_frames(tmp_path / "a.tif")


def test_all_pages_are_in_colours_or_none_is(tmp_path: Path) -> None:
    pages = [PIL.Image.fromarray(COLOURS), PIL.Image.fromarray(COLOURS[::-1].copy())]
    pages[0].save(tmp_path / "two.tif", save_all=True, append_images=pages[1:], compression="tiff_lzw")
    with open_frames(tmp_path / "two.tif") as file:
        assert file.shape == (2, 3, 4, 3)
        assert np.array_equal(file.frame(1), COLOURS[::-1])
    grey = PIL.Image.fromarray(COLOURS[..., 0].copy())
    grey.save(tmp_path / "mixed.tif", save_all=True, append_images=pages)
    with pytest.raises(ReaderError, match="has grey pages and pages in colours: save them as files of their"):
        open_frames(tmp_path / "mixed.tif")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_grey_counts_in_packbits_are_read_as_they_are(dtype: str, tmp_path: Path) -> None:
    counts = np.array([[1, 2, 3], [200, 200, 200]], dtype)
    PIL.Image.fromarray(counts).save(tmp_path / "a.tif", compression="packbits")
    with open_frames(tmp_path / "a.tif") as file:
        assert (file.interpretation, file.dtype) == ("image", np.dtype(dtype))
        assert file.frame(0).tolist() == counts.tolist()
