"""Files of every kind are read by HDF5 before 2.0, which most programs still have."""

from __future__ import annotations

import errno
import math
from pathlib import Path
from typing import Any

import pytest

from penstock.codecs.packed import CODECS
from penstock.receiver.files import dealing
from penstock.receiver.files.stores import chunked, gaps, preallocated
from penstock.receiver.files.stores.channels import ChannelStore
from penstock.receiver.files.stores.parts.store import PartsStore
from penstock.receiver.files.stores.segments.store import SegmentStore
from penstock.stins.messages import Frame
from tests.receiver.files.stores.written import Written
from tests.receiver.merge.test_receiver import Detector
from tests.receiver.sample_series import start
from tests.streams import image, pixels
from tests.third_party import read_by_older_hdf5

SHAPE = (64, 64)
"""Large enough for places that are allocated ahead."""
METADATA = {
    "beam_center_x": 30.5, "beam_center_y": 31.5, "distance": 0.2, "x_pixel_size": 7.5e-5,
    "y_pixel_size": 7.5e-5, "incident_energy": 12_400.0, "user": {"sample": {"name": "größe"}},
}  # fmt: skip

pytestmark = pytest.mark.slow


def frame(number: int, compression: str = "none", images: int = 0) -> Frame:
    parts = [pixels(number + part, SHAPE) for part in range(images or 1)]
    head = image(number, parts[0], series="a", compression=compression)
    if images:
        head = image(number, pixels(number, (images, *SHAPE)), series="a", compression=compression)
    return Frame(
        head,
        [CODECS[compression].compress(part) if compression in CODECS else part.tobytes() for part in parts],
    )


def write(path: Path, header: dict[str, Any], writing: dict[str, Any], **kind: Any) -> type:
    """A series of eight frames, of which three are missing; returns what stored it."""
    series = Written(path, start(frames=8, metadata=METADATA, **header), **writing)
    series.add(*(frame(number, **kind) for number in (0, 1, 4, 5, 6)))
    series.writer.flush()
    store = type(series.store)
    series.close("enough")
    return store


PLAIN = {"shape": SHAPE, "type": "uint16", "compression": "none"}
PACKED = {**PLAIN, "compression": "bslz4"}
TWO = {"shape": (2, *SHAPE), "channels": ("threshold_1", "threshold_2")}


@pytest.mark.parametrize(
    ("header", "writing", "kind", "store"),
    [
        (PLAIN, {}, {}, preallocated.PreallocatedStore),
        ({}, {}, {}, preallocated.PreallocatedStore),
        (PACKED, {}, {"compression": "bslz4"}, chunked.ChunkedStore),
        ({}, {}, {"compression": "lz4"}, chunked.ChunkedStore),
        ({}, {"swmr": True}, {"compression": "lz4"}, chunked.ChunkedStore),
        (PACKED, {"queue_bytes": 2**20}, {"compression": "bslz4"}, chunked.ChunkedStore),
        (PLAIN, {"swmr": True}, {}, chunked.ChunkedStore),
        (PACKED, {"swmr": True}, {"compression": "bslz4"}, chunked.ChunkedStore),
        ({}, {"swmr": True}, {"compression": "bslz4"}, chunked.ChunkedStore),
        ({**PLAIN, "shape": (2, *SHAPE)}, {}, {"images": 2}, chunked.ChunkedStore),
        ({**PLAIN, "shape": (2, *SHAPE)}, {"swmr": True}, {"images": 2}, chunked.ChunkedStore),
        ({**PLAIN, **TWO}, {}, {"images": 2}, ChannelStore),
        ({**PACKED, **TWO}, {"swmr": True}, {"images": 2, "compression": "bslz4"}, ChannelStore),
        (PLAIN, {"frames_per_file": 3}, {}, SegmentStore),
        (PACKED, {"frames_per_file": 3}, {"compression": "bslz4"}, SegmentStore),
        (PLAIN, {"files": 3}, {}, PartsStore),
        (PACKED, {"files": 3}, {"compression": "bslz4"}, PartsStore),
    ],
)
def test_each_store(
    header: dict[str, Any],
    writing: dict[str, Any],
    kind: dict[str, Any],
    store: type,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dealing, "BLOCK_BYTES", 2 * math.prod(SHAPE))
    assert write(tmp_path / "x.h5", header, writing, **kind) is store
    files = sorted(tmp_path.glob("*.h5"))
    assert len(files) == (4 if store in (SegmentStore, PartsStore) else 1)
    read_by_older_hdf5(*files)


def test_the_view_of_the_stored_frames_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(gaps, "_fill", full)
    series = Written(tmp_path / "x.h5", start(frames=8, **PLAIN))
    series.add(*map(frame, (0, 4)))
    with pytest.raises(Exception, match="No space left"):
        series.close("enough")
    read_by_older_hdf5(tmp_path / "x.h5")


@pytest.mark.parametrize(
    "keys",
    [{}, {"files": 2}, {"transforms": [{"type": "assemble"}]}],
    ids=["virtual", "a-file-each", "assembled"],
)
def test_modules(tmp_path: Path, keys: dict[str, Any]) -> None:
    sim = Detector(tmp_path, **keys)
    try:
        sim.start("a.h5")
        sim.frame(0)
        sim.frame(2, 1)
        sim.end()
        sim.receiver.ended("a.h5")
    finally:
        sim.close()
    read_by_older_hdf5(*sorted(sim.receiver.root.glob("a*.h5")))
