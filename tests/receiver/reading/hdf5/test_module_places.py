"""What lies between the modules of one image has no value in the file either, whoever has put it together.

Two modules of 2 by 3 pixels, with the counts 1 to 6 and 7 to 12, and one row between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.results.read import Results
from penstock.processing.sources.file import FileFrames
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.merge import messages
from penstock.receiver.models import FrameStatus
from penstock.receiver.reading.frame_files import open_frames
from penstock.receiver.reading.stored_image import stored_mean
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.receiver.transforms.steps.assemble import Assemble
from penstock.receiver.transforms.steps.format import Step
from penstock.receiver.transforms.steps.orientation import Flip, Rotate
from penstock.stins.messages import Header, Image, SeriesEnd, Start
from tests.processing.processors.built_in import begun

DETECTOR = "entry/instrument/sim"
NAMES = ["tcp://a:1", "tcp://b:1"]
PLACES = [{"x": 0, "y": 0}, {"x": 0, "y": 3}]
COUNTS = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
ROW = [[0, 0, 0], [0, 0, 0], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
COLUMN = [[0, 0, 1, 0, 0]] * 3


def joined(
    path: Path, dtype: str, steps: Sequence[Step] = (), places: Sequence[dict[str, Any]] = PLACES,
    *, announced: bool = True, here: Sequence[int] = (0, 1),
) -> None:  # fmt: skip
    """One frame, by the processor and the writer of the receiver."""
    format: dict[str, Any] = {"shape": (2, 3), "type": dtype, "compression": "none"}
    header = Header(filename=str(path), series="a", frames=1, **(format if announced else {}))
    opening, _ = messages.start(NAMES, [Start(header, place) for place in places], "a")
    worker = ModuleProcessor(steps)
    begun, _ = worker.begin(opening)
    series = RunningSeries(begun)
    series.joined, series.modules = opening.joined, ModuleStatus(2)
    writer = SeriesWriter(path, "sim", series, "a test")
    came = {
        module: (Image(frame=0, **format), [np.array(COUNTS[module], dtype).tobytes()]) for module in here
    }
    frame = worker.process(messages.frame(opening.joined, "a", 0, came))
    writer.add(series.numbering.index(frame.image), frame)
    series.account.take(0, series.modules.enter(0, dict.fromkeys(here, FrameStatus.STORED)))
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)


@pytest.mark.parametrize(
    ("dtype", "steps", "places", "announced", "gaps"),
    [
        ("int32", (), PLACES, True, ROW),  # a virtual dataset of the modules
        ("uint16", (), PLACES, False, ROW),
        ("int32", (Assemble(),), PLACES, True, ROW),
        ("uint16", (Assemble(),), PLACES, False, ROW),
        ("uint16", (Assemble(), Rotate(quarter_turns=1)), PLACES, True, COLUMN),
        ("int32", (Assemble(), Flip(direction="up-down")), [{"x": 0, "y": 0}, {"x": 0, "y": 2}], True, None),
        # The second module stands upright below the first: 3 rows of 2 pixels.
        ("uint16", (Assemble(),), [PLACES[0], {"x": 0, "y": 2, "rotation": 90}], True,
         [[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 1]]),
        # The modules are 3 by 2 each then, side by side, with a column between them.
        ("int32", (Rotate(quarter_turns=1),), [{"x": 0, "y": 0}, {"x": 3, "y": 0}], False, COLUMN),
    ],
)  # fmt: skip
def test_gaps_between_modules_are_in_the_mask_of_the_file(
    dtype: str, steps: Sequence[Step], places: Sequence[dict[str, Any]], announced: bool, gaps: Any,
    tmp_path: Path,
) -> None:  # fmt: skip
    joined(tmp_path / "a.h5", dtype, steps, places, announced=announced)
    with open_frames(tmp_path / "a.h5") as file, FileFrames(tmp_path / "a.h5") as frames:
        mask = file.mask()
        if gaps is None:
            assert mask is None and frames.mask is None
            return
        assert mask is not None and (mask.dtype, mask.tolist()) == (np.uint32, gaps)
        assert frames.mask is not None and frames.mask.tolist() == gaps
        gap = -1 if dtype == "int32" else 65535
        assert ((file.frame(0) == gap) == (mask == 1)).all()
        mean = stored_mean(file).image
        assert (np.isnan(mean) == (mask == 1)).all() and sorted(mean[mask == 0]) == list(range(1, 13))


@pytest.mark.parametrize("places", [[PLACES[0], {"x": 0, "y": 0}], [PLACES[0], {}]])
def test_modules_whose_places_make_no_image_have_no_mask(
    places: list[dict[str, Any]], tmp_path: Path
) -> None:
    joined(tmp_path / "a.h5", "uint16", places=places)
    with open_frames(tmp_path / "a.h5") as file:
        assert file.shape == (1, 2, 2, 3) and file.mask() is None


@pytest.mark.parametrize("module", [0, 1])
def test_gaps_come_to_the_mask_of_the_file_unless_a_place_is_not_known(module: int, tmp_path: Path) -> None:
    joined(tmp_path / "a.h5", "uint16", (Assemble(),))
    own = np.zeros((5, 3), np.uint8)
    own[0, 1], own[2, 2] = 8, 2
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        file[f"{DETECTOR}/pixel_mask"] = own
    with open_frames(tmp_path / "a.h5") as frames:
        mask = frames.mask()
        assert mask is not None and mask.tolist() == [[0, 8, 0], [0, 0, 0], [1, 1, 2], [0, 0, 0], [0, 0, 0]]
    with h5py.File(tmp_path / "a.h5", "r+") as file:
        del file[f"{DETECTOR}/module_{module}/data_origin"]
    with open_frames(tmp_path / "a.h5") as frames:
        mask = frames.mask()
        assert mask is not None and mask.tolist() == own.tolist()


def test_of_an_assembled_frame_the_pixels_of_a_module_that_is_missing_are_known(tmp_path: Path) -> None:
    joined(tmp_path / "a.h5", "uint16", (Assemble(), Rotate(quarter_turns=1)), here=(1,))
    with open_frames(tmp_path / "a.h5") as file:
        missing = file.missing(0)
        assert missing is not None and missing.tolist() == [[True, True, False, False, False]] * 3


REGIONS = {
    "all": {"x": 0, "y": 0, "width": 3, "height": 5}, "middle": {"x": 0, "y": 1, "width": 3, "height": 3},
}  # fmt: skip
SAID = {
    "all_sum": 78, "all_mean": 6.5, "all_max": 12, "all_saturated": 0, "middle_sum": 39, "middle_mean": 6.5,
    "middle_max": 9, "middle_saturated": 0, "total": 78, "total_saturated": 0,
}  # fmt: skip
"""Of 1 to 12 the mean is 6.5; rows 1 and 3 have 4 to 9."""


@pytest.mark.parametrize("dtype", ["int32", "uint16"])
def test_regions_of_the_frames_of_a_file_leave_the_gap_out(dtype: str, tmp_path: Path) -> None:
    joined(tmp_path / "a.h5", dtype, (Assemble(),))
    with FileFrames(tmp_path / "a.h5") as frames:
        assert frames.mask is not None
        made = begun("regions", {"regions": REGIONS}, {"pixel_mask": frames.mask.tolist()})
        header, blob = frames.parts(0)
        made.take([(bytes(header), bytes(blob))])
    assert {name: each[0] for name, each in made.values.items()} == SAID and not made.errors


def test_penstock_process_leaves_the_gap_out(tmp_path: Path) -> None:
    joined(tmp_path / "a.h5", "uint16", (Assemble(),))
    config = {
        "http": "127.0.0.1:0", "workers": 1, "processor": "regions", "parameters": {"regions": REGIONS}
    }  # fmt: skip
    (tmp_path / "p.yaml").write_bytes(msgspec.yaml.encode(config))
    assert main(["process", str(tmp_path / "p.yaml"), str(tmp_path / "a.h5")]) == 0
    results = Results(tmp_path / "a.p.h5")
    assert {name: float(results.rows(name, 0, 1).values[0]) for name in SAID} == SAID
