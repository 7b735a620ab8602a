"""Built-in processors by `penstock process`, on files of a real receiver."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.results import as_stempy
from penstock.processing.results.as_stempy import Settings
from penstock.processing.results.errors import ResultError
from penstock.processing.results.read import Results
from penstock.receiver.config.rectangles import Rectangle
from tests.processing.processors.built_in import saved
from tests.processing.processors.test_electrons import SHAPE, frames, plainly
from tests.processing.service.pipeline_process import wait_until
from tests.processing.test_process import ENTRY, running
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer
from tests.third_party import program_of

FRAMES = 24
BAD = 5
"""A frame that fails: its pixels are those of another detector."""


def taken(receiver: ReceiverProcess, streamer: Streamer, images: np.ndarray[Any, Any], **keys: Any) -> Path:
    """A file with these images."""
    raw = receiver.root / "a.h5"
    streamer.start(str(raw), frames=len(images), shape=images.shape[1:], type=images.dtype.name, **keys)
    for number, image in enumerate(images):
        streamer.frame(number, image)
    streamer.end(reason="complete", triggered=len(images), sent=len(images))
    receiver.ended(streamer.series)
    return raw


def processed(folder: Path, name: str, raw: Path, *options: str, **keys: Any) -> int:
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"processor": name, "http": "127.0.0.1:0", "workers": 1, **keys}))
    return main(["process", str(path), str(raw), *options])


@pytest.mark.slow
def test_regions_have_the_figures_that_the_receiver_has_written(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path
) -> None:
    region = {"x": 3, "y": 2, "width": 30, "height": 99}
    receiver = start_receiver(rois={"spot": region})
    receiver.connected()
    raw = taken(receiver, streamer, frames(FRAMES))
    assert processed(tmp_path, "regions", raw, parameters={"regions": {"spot": region}}) == 0
    results = Results(receiver.root / "a.regions.h5")
    with h5py.File(raw) as file:
        (group,) = [each["rois/spot"] for each in file["entry/instrument"].values() if "rois" in each]
        assert Rectangle(**{name: int(group[name][()]) for name in region}) == Rectangle(**region)
        for value in ("sum", "mean", "max"):
            ours = results.rows(f"spot_{value}", 0, FRAMES).values
            np.testing.assert_array_equal(ours, group[value][:])
    said = {each.name: (each.unit, each.label) for each in results.names()}
    assert said["spot_mean"] == ("counts", "spot: mean of the pixels")
    totals = results.rows("total", 0, FRAMES).values
    assert totals.tolist() == frames(FRAMES).sum(axis=(1, 2)).tolist()


def electrons(folder: Path, raw: Path, scan: list[int] | None, **keys: Any) -> int:
    dark = saved(folder / "dark.npy", np.full(SHAPE, 2.6, np.float32))
    return processed(
        folder, "electrons", raw, "--set", f"dark={os.path.relpath(dark)}",
        parameters={"background": 18.5, "xray": 1000},
        exports=[{"as": "stempy"} | ({"scan": scan} if scan else {})], **keys,
    )  # fmt: skip


@pytest.fixture
def raw(start_receiver: Callable[..., ReceiverProcess], streamer: Streamer) -> Path:
    """A file of a receiver, of which one frame did not come."""
    receiver = start_receiver()
    receiver.connected()
    path = receiver.root / "a.h5"
    streamer.start(str(path), frames=FRAMES, shape=SHAPE, type="uint16")
    for number, image in enumerate(frames(FRAMES)):
        if number != BAD:
            streamer.frame(number, image)
    streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
    receiver.ended(streamer.series)
    return path


def truth() -> list[list[int]]:
    dark = np.full(SHAPE, 2.6, np.float32)
    return [
        [] if number == BAD else plainly(image, dark, None, 18.5, 1000)
        for number, image in enumerate(frames(FRAMES))
    ]


@pytest.mark.slow
def test_electrons_become_a_file_for_stempy_when_the_series_is_over(
    raw: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert electrons(tmp_path, raw, [5, 6], workers=2) == 0
    said = "what is missing is empty: 1 frame not done, 24 frames for 5 x 6 positions"
    assert said in capfd.readouterr().out
    results = Results(raw.with_name("a.electrons.h5")).rows("electrons", 0, FRAMES)
    assert np.split(results.values, np.cumsum(results.counts)[:-1])[7].tolist() == truth()[7]
    with h5py.File(raw.with_name("a.electrons.stempy.h5")) as file:
        events = file["electron_events"]
        assert [each.tolist() for each in events["frames"][:]] == truth() + [[]] * 6
        assert dict(events["frames"].attrs) == {"Nx": SHAPE[0], "Ny": SHAPE[1]}
        assert dict(events["scan_positions"].attrs) == {"Nx": 6, "Ny": 5}
        assert file.attrs["version"] == 3
        assert file["metadata/penstock/not_done"][:].tolist() == [BAD]
    assert sorted(each.name for each in raw.parent.glob("*a.electrons*")) == [
        "a.electrons.h5", "a.electrons.stempy.h5"
    ]  # fmt: skip

    result_file = raw.with_name("a.electrons.h5")
    with pytest.raises(
        ResultError, match="a.electrons.stempy.h5 exists and is not overwritten: move it away"
    ):
        as_stempy.write(result_file, Settings(result="electrons"))
    assert as_stempy.write(result_file, Settings(result="electrons", overwrite=True)) == (
        "what is missing is empty: 1 frame not done"
    )
    with h5py.File(raw.with_name("a.electrons.stempy.h5")) as file:
        assert dict(file["electron_events/scan_positions"].attrs) == {"Nx": FRAMES, "Ny": 1}
    with pytest.raises(ResultError, match="24 frames of .*are no multiple of the 3 x 3 positions of scan"):
        as_stempy.write(result_file, Settings(result="electrons", scan=(3, 3), overwrite=True))
    with pytest.raises(ResultError, match="a.electrons.h5 has no events spots for stempy"):
        as_stempy.write(result_file, Settings(result="spots", overwrite=True))


@pytest.mark.slow
@pytest.mark.parametrize("scan", [None, [4, 6], [3, 4], [7, 5]])
def test_stempy_reads_the_file(raw: Path, tmp_path: Path, scan: list[int] | None) -> None:
    assert electrons(tmp_path, raw, scan) == 0
    script = (
        "import json, sys, stempy.io\n"
        "found = stempy.io.SparseArray.from_hdf5(sys.argv[1])\n"
        "frames = [each.tolist() for each in found.data.ravel()]\n"
        "print(json.dumps([found.scan_shape, found.frame_shape, found.data.shape, frames], default=int))\n"
    )
    command = [program_of("processing", "python"), "-c", script, raw.with_name("a.electrons.stempy.h5")]
    told = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    rows, columns = scan or (1, FRAMES)
    each = -(-FRAMES // (rows * columns))
    expected = truth() + [[]] * (rows * columns * each - FRAMES)
    assert json.loads(told.stdout) == [[rows, columns], list(SHAPE), [rows * columns, each], expected]


@pytest.mark.slow
def test_series_that_follow_each_other_live_each_have_a_file_for_stempy(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer, tmp_path: Path
) -> None:
    receiver = start_receiver(forward=[ENTRY])
    receiver.connected()
    parameters, exports = {"background": 18.5, "xray": 1000}, [{"as": "stempy", "scan": [4, 6]}]
    images = frames(FRAMES)
    with running(tmp_path, receiver, processor="electrons", parameters=parameters, exports=exports) as made:
        made.wait(lambda status: [each.state for each in status.workers] == ["ready"] * 2)
        for number in range(3):
            raw = receiver.root / f"{number}.h5"
            series = streamer.start(str(raw), frames=FRAMES, shape=SHAPE, type="uint16")
            for index in range(FRAMES - number):  # some of the later series do not come
                streamer.frame(index, images[index])
            streamer.end(reason="complete", triggered=FRAMES, sent=FRAMES)
        made.over(series)
        files = [receiver.root / f"{number}.spots.stempy.h5" for number in range(3)]
        wait_until(lambda: all(file.exists() for file in files), made.log.read_text())
        made.wait(
            lambda status: (
                status.series is not None
                and status.series.reason.endswith("what is missing is empty: 2 frames not done")
            )
        )
    for number, file in enumerate(files):
        expected = [plainly(image, None, None, 18.5, 1000) for image in images[: FRAMES - number]]
        with h5py.File(file) as opened:
            found = [each.tolist() for each in opened["electron_events/frames"][:]]
        assert found == expected + [[]] * number
