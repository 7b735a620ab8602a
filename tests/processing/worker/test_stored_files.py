"""Frames that a worker reads in their file: plain, packed, in modules; a file that is another one, or cut."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.processing import wire
from penstock.processing.worker import stored_files
from penstock.processing.worker.session import Session
from penstock.stins.messages import Header
from tests.processing.worker.worker_process import PIXELS, Router, frame, step, worker

LOOKS = """
    import sys
    class Mine(Processor):
        def process(self, frame):
            return {
                "first": int(frame.pixels.flat[0]), "last": int(frame.pixels.flat[-1]),
                "missing": len(frame.missing), "h5py": "h5py" in sys.modules,
            }
    """


def write(path: Path, *blobs: bytes) -> list[tuple[int, int, int]]:
    """Write blobs behind each other, each behind a byte of something else; return where they lie."""
    places, at = [], 0
    with path.open("wb") as file:
        for blob in blobs:
            file.write(b"?" + blob)
            places.append((0, at + 1, len(blob)))
            at += 1 + len(blob)
    return places


def said(path: Path) -> wire.StoredFile:
    state = path.stat()
    return wire.StoredFile(str(path), state.st_dev, state.st_ino)


def test_a_worker_reads_plain_and_packed_frames_and_modules_without_h5py(
    router: Router, tmp_path: Path
) -> None:
    two = np.stack([PIXELS, PIXELS + 100])
    packed = bslz4.compress(PIXELS + 50)
    one, low, high, small = write(
        tmp_path / "a", PIXELS.tobytes(), PIXELS.tobytes(), (PIXELS + 100).tobytes(), packed
    )
    (alone,) = write(tmp_path / "b", (PIXELS + 7).tobytes())
    with worker(router):
        router.welcome(step(LOOKS))
        router.begin()
        frames = [
            (0, (one,)),
            (1, (low, high)),
            (2, ((0, 0, 0), high)),
            (3, (small,)),
            (4, ((1, *alone[1:]),)),
        ]
        heads = [frame(PIXELS), *[frame(two)] * 2, frame(PIXELS, compression="bslz4"), frame(PIXELS)]
        router.say(
            wire.Work(
                series=1, bunch=1, stored=tuple(wire.StoredFrame(*each) for each in frames),
                files=(said(tmp_path / "a"), said(tmp_path / "b")),
            ),
            *(head[0] for head in heads),
        )  # fmt: skip
        done, arrays = router.done()
    assert not done.errors and not done.unopened
    # PIXELS are 0 to 11; a missing module is 65535 everywhere.
    assert arrays["first"].tolist() == [0, 0, 65535, 50, 7]
    assert arrays["last"].tolist() == [11, 111, 111, 61, 18]
    assert arrays["missing"].tolist() == [0, 0, 1, 0, 0]
    assert not arrays["h5py"].any()


class Told:
    """A session, and what it answers."""

    def __init__(self, source: str) -> None:
        self.done: list[wire.Done] = []
        self.arrays: list[dict[str, Any]] = []
        self._session = Session(self._hear, True)
        self.say(wire.Welcome(pipeline="p", steps=(step(source),), version=1, parameters={}))
        for series in (1, 2):
            self.say(wire.Begin(series=series, header=Header(filename="")), b"{}")

    def say(self, message: wire.MessageOfDistributor, *parts: bytes) -> None:
        self._session.take([wire.encode(message), *parts])

    def work(self, file: wire.StoredFile, *places: tuple[int, int, int], series: int = 1) -> wire.Done:
        stored = tuple(wire.StoredFrame(index, (place,)) for index, place in enumerate(places))
        heads = [frame(PIXELS)[0]] * len(places)
        self.say(wire.Work(series=series, bunch=len(self.done) + 1, stored=stored, files=(file,)), *heads)
        return self.done[-1]

    def _hear(self, message: wire.MessageOfWorker, arrays: Any = ()) -> None:
        if isinstance(message, wire.Done):
            self.done.append(message)
            parts = [array.tobytes() for array in arrays]
            self.arrays.append(dict(wire.arrays(message.arrays, parts)))


def gone(path: Path) -> wire.StoredFile:
    return wire.StoredFile(f"{path}-of-another-machine", 1, 1)


def replaced(path: Path) -> wire.StoredFile:
    before = said(path)
    path.rename(path.with_suffix(".old"))
    write(path, PIXELS.tobytes())
    return before


def pipe(path: Path) -> wire.StoredFile:
    before = replaced(path)
    path.unlink()
    os.mkfifo(path)
    return before


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (gone, "a-of-another-machine cannot be opened: No such file or directory"),
        (replaced, "a is another file than the distributor has open: it was replaced, or this worker is in"),
        (pipe, "a is another file than the distributor has open"),
    ],
)
def test_a_file_that_is_not_there_or_another_one_is_said_and_nothing_more_of_the_series_is_read(
    change: Callable[[Path], wire.StoredFile], why: str, tmp_path: Path
) -> None:
    (place,) = write(tmp_path / "a", PIXELS.tobytes())
    write(tmp_path / "good", PIXELS.tobytes())
    there = said(tmp_path / "good")
    told = Told(LOOKS)
    bad = change(tmp_path / "a")

    first = told.work(bad, place)
    assert why in first.unopened and not first.errors and not first.arrays
    assert told.work(there, place).unopened == first.unopened, "frames keep their order"
    assert not told.work(there, place, series=2).unopened
    told.say(wire.Work(series=1, bunch=9, indices=(0,), parts=(2,)), *frame(PIXELS + 3))
    assert [each.get("last", np.zeros(0)).tolist() for each in told.arrays] == [[], [], [11], [14]]


def test_a_file_of_another_user_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place,) = write(tmp_path / "a", PIXELS.tobytes())
    (tmp_path / "a").chmod(0)
    if os.geteuid() == 0:  # who may read everything

        def refuse(path: str, flags: int) -> int:
            raise PermissionError(13, "Permission denied", path)

        monkeypatch.setattr(stored_files.os, "open", refuse)
    assert (
        Told(LOOKS)
        .work(said(tmp_path / "a"), place)
        .unopened.endswith("a cannot be opened: Permission denied")
    )


def test_a_frame_of_a_file_that_is_cut_fails_and_names_it_and_others_do_not(tmp_path: Path) -> None:
    places = write(tmp_path / "a", PIXELS.tobytes(), PIXELS.tobytes(), PIXELS.tobytes())
    told = Told(LOOKS)
    assert not told.work(said(tmp_path / "a"), places[0]).errors
    os.truncate(tmp_path / "a", 1 + 24 + 1 + 10)
    done = told.work(said(tmp_path / "a"), *places)
    assert done.errors == {
        1: f"frame 1 cannot be read: {tmp_path / 'a'} is truncated: 10 of 24 bytes",
        2: f"frame 2 cannot be read: {tmp_path / 'a'} is truncated: 0 of 24 bytes",
    }
    assert told.arrays[-1]["last"].tolist() == [11]


def test_what_is_kept_of_a_frame_is_a_copy_or_the_frame_fails(tmp_path: Path) -> None:
    source = """
        class Mine(Processor):
            kept = ()
            def process(self, frame):
                self.kept = (*self.kept, frame.pixels if frame.index == 1 else frame.pixels.copy())
                return {"view": frame.pixels[0], "kept": [int(each[0, 0]) for each in self.kept[:1]]}
        """
    places = write(tmp_path / "a", *((PIXELS + 10 * number).tobytes() for number in range(4)))
    told = Told(source)
    done = told.work(said(tmp_path / "a"), *places)
    assert list(done.errors) == [1] and "keeps a view of the pixels of frame 1" in done.errors[1]
    (arrays,) = told.arrays
    assert arrays["view"].tolist() == [[0, 1, 2, 3], [20, 21, 22, 23], [30, 31, 32, 33]]
    assert arrays["kept"].tolist() == [[0]] * 3


def opened(folder: Path) -> list[int]:
    """The files of a folder that this process has open; their names are numbers."""
    links = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return sorted(int(path.name) for path in map(Path, map(os.readlink, links)) if path.parent == folder)


def test_files_are_closed_with_their_series(tmp_path: Path) -> None:
    told = Told(LOOKS)
    for number in range(20):
        (place,) = write(tmp_path / str(number), PIXELS.tobytes())
        assert told.work(said(tmp_path / str(number)), place).errors == {}
    assert opened(tmp_path) == list(range(4, 20)), "the last 16"
    told.say(wire.End(series=1))
    assert opened(tmp_path) == []


@pytest.mark.parametrize(
    ("stored", "files", "heads"),
    [
        ((wire.StoredFrame(0, ((0, 1, 24),)),), 1, 2),
        ((wire.StoredFrame(0, ((1, 1, 24),)),), 1, 1),
    ],
    ids=["one header too many", "no such file"],
)
def test_what_does_not_agree_is_refused(
    stored: tuple[wire.StoredFrame, ...], files: int, heads: int, tmp_path: Path
) -> None:
    write(tmp_path / "a", PIXELS.tobytes())
    with pytest.raises(wire.WireError, match="bunch 1"):
        Told(LOOKS).say(
            wire.Work(series=1, bunch=1, stored=stored, files=(said(tmp_path / "a"),) * files),
            *[frame(PIXELS)[0]] * heads,
        )
