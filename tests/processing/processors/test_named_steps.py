"""Two steps of the same built-in in one pipeline: their names begin those of their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.azimuthal import kept
from penstock.processing.config import classes, pipeline_file
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.config.pipeline_file import PipelineError
from penstock.processing.results.read import Results
from penstock.processing.worker.configuring import Refusal
from penstock.processing.worker.parameters import ParameterError
from penstock.receiver.files.writer import SeriesWriter
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.running_series import RunningSeries
from penstock.stins.messages import Frame, Header, SeriesEnd, Start
from tests.processing.azimuthal.compared import make_here
from tests.processing.azimuthal.counted import DISTANCE, PIXEL, points
from tests.processing.processors.built_in import Made, begun_by, saved
from tests.streams import image as head

SHAPE, BEAM, FRAMES = (60, 70), (33.3, 27.8), 3
HEADER = {
    "distance": DISTANCE, "beam_center_x": BEAM[0], "beam_center_y": BEAM[1], "x_pixel_size": PIXEL,
    "y_pixel_size": PIXEL,
}  # fmt: skip
IMAGES = np.random.default_rng(4).poisson(50, (FRAMES, *SHAPE)).astype(np.uint16)
SECTORS = {"right": (-60.0, 60.0), "left": (120.0, 240.0)}
POINTS = 8


def masks() -> dict[str, np.ndarray[Any, Any]]:
    """A mask in each sector, which leaves out what the other one counts."""
    found = {name: np.zeros(SHAPE, np.uint8) for name in SECTORS}
    found["right"][:, 40:50] = found["left"][:, 10:20] = 1
    return found


def steps(folder: Path) -> list[dict[str, Any]]:
    given = {"unit": "2th_deg", "points": POINTS, "splitting": "no", "solid_angle": False}
    return [
        {
            "processor": "azimuthal", "name": name,
            "parameters": {
                **given, "azimuth_range": SECTORS[name], "mask": str(saved(folder / f"{name}.npy", mask)),
            },
        }
        for name, mask in masks().items()
    ]  # fmt: skip


def counted(name: str, edges: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """Curves of all frames, pixel by pixel."""
    places = points(SHAPE, BEAM)
    kept_ones = places._replace(radius=np.where(mask, -1.0, places.radius))
    return [kept_ones.counted(edges, np.array(SECTORS[name]), each)[1][0] for each in IMAGES]


def config_of(given: Sequence[dict[str, Any]]) -> PipelineConfig:
    config = pipeline_file.parse({"name": "a", "steps": list(given)}, "a.yaml")
    return PipelineConfig(name="a", steps=config.steps)


def raw_file(path: Path) -> None:
    header = Header(filename=str(path), series="s1", frames=FRAMES, shape=SHAPE, type="uint16")
    series = RunningSeries(Start(header, HEADER))
    writer = SeriesWriter(path, "sim", series, "a test")
    for number, pixels in enumerate(IMAGES):
        said = head(number, pixels, series="s1")
        writer.add(series.numbering.index(said), Frame(said, [pixels.tobytes()]))
        series.account.take(number, FrameStatus.STORED)
    series.end = SeriesEnd()
    writer.close(series.close(None), synced=False)


@pytest.mark.slow
def test_curves_of_two_sectors_are_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    raw_file(tmp_path / "x.h5")
    path = tmp_path / "two.yaml"
    path.write_bytes(msgspec.yaml.encode({"http": "127.0.0.1:0", "workers": 1, "steps": steps(tmp_path)}))
    assert main(["process", str(path), str(tmp_path / "x.h5")]) == 0

    rows = {name: Results(tmp_path / "x.two.h5").rows(f"{name}_I", 0, FRAMES).values for name in SECTORS}
    with h5py.File(tmp_path / "x.two.h5", locking=False) as file:
        for number, (name, mask) in enumerate(masks().items(), 1):
            data = file[f"entry/{name}_azint1d/data"]
            assert data.attrs["signal"] == f"{name}_I" and f"{name}_I_errors" in data
            assert list(data.attrs["axes"]) == [".", f"{name}_radial_axis"]
            assert f"step {name}" in file[f"entry/process/step_{number}/description"].asstr()[()]
            middles = data[f"{name}_radial_axis"][:]
            width = middles[1] - middles[0]
            edges = np.append(middles - width / 2, middles[-1] + width / 2 + 1e-7)
            edges[0] -= 1e-7  # of rounding: the image's own limits are places of pixels
            np.testing.assert_allclose(rows[name], counted(name, edges, mask), rtol=1e-6)


def test_parameters_of_one_step_change_that_one_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_make", make_here)
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    config = config_of(steps(tmp_path))
    made = begun_by(classes.steps(config), config, HEADER, shape=SHAPE, type="uint16").take(IMAGES[:1])
    made.change(**config.parameters | {"left.mask": ""})
    made.take(IMAGES[1:2], first=1)

    (right, left) = made.run._steps
    for step, name, after in ((right, "right", masks()["right"]), (left, "left", np.zeros(SHAPE))):
        edges = step._matrix.radial_edges  # type: ignore[attr-defined]
        curves = made.of(f"{name}_I")
        np.testing.assert_allclose(curves[0], counted(name, edges, masks()[name])[0], rtol=1e-6)
        np.testing.assert_allclose(curves[1], counted(name, edges, after)[1], rtol=1e-6)
    for key, says in (
        (
            "points",
            r"several steps have a parameter points: write right.points \(Azimuthal \(right\)\) or left",
        ),
        ("0.points", "there is no parameter 0.points"),
    ):
        with pytest.raises(ParameterError, match=says):
            made.change(**{key: 5})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([{"processor": "azimuthal"}] * 2, "steps 0 and 1 are both azimuthal, .* such as name: inner"),
        (
            [{"processor": "images"}, {"processor": "images", "parameters": {"images": ["max"]}}],
            r"their results max_image would .* name: inner, with .* \(inner_max_image\)",
        ),
        ([{"processor": "peaks", "name": "a"}] * 2, "two steps have the name a"),
        (
            [{"processor": "electrons", "name": name} for name in ("a_b", "c", "a")],
            "steps have the names a and a_b: .* begin with a_b_ could be .*; give one .* another name",
        ),
        ([{"processor": "electrons", "name": name} for name in ("a", "ab")], ""),
        ([{"processor": "peaks", "name": "1a"}], "name"),
        ([{"processor": "correct"}] * 2, ""),
        ([{"processor": "images", "parameters": {"images": [kind]}} for kind in ("min", "max")], ""),
        ([{"processor": "azimuthal"}, {"processor": "azimuthal", "name": "inner"}], ""),
    ],
)
def test_results_that_would_have_one_name_are_refused_when_the_file_is_read(
    given: list[dict[str, Any]], says: str
) -> None:
    if not says:
        config_of(given)
        return
    with pytest.raises(PipelineError, match=f"a.yaml: .*{says}"):
        config_of(given)


def test_a_step_with_a_name_gets_its_own_totals_and_names_what_it_makes_of_them() -> None:
    config = config_of([{"processor": "electrons", "name": name} for name in ("a", "b")])
    made = begun_by(classes.steps(config), config, {}, shape=SHAPE, type="uint16").take(IMAGES)
    described, arrays = made.run.finish(made.totals())
    assert [each.name for each in described] == ["a_frame_shape", "b_frame_shape"]
    assert [array.tolist() for array in arrays] == [list(SHAPE)] * 2
    assert set(made.values) == {
        f"{name}_{result}" for name in "ab" for result in ("electrons", "electron_count")
    }


@pytest.mark.parametrize(("step", "most"), [("", 53), ("s" * 30, 22)])
def test_a_region_whose_results_would_have_too_long_names_is_refused_before_the_first_frame(
    step: str, most: int
) -> None:
    """63 characters: 30 and "_" of the step, of the region, 10 of "_saturated"."""

    def made(length: int) -> Made:
        region = {"r" * length: {"x": 0, "y": 0, "width": 2, "height": 1}}
        given = {"processor": "regions", "name": step, "parameters": {"regions": region}}
        config = config_of([given])
        return begun_by(classes.steps(config), config, {}, shape=SHAPE, type="uint16")

    of_step = f" in a step of the name {step}" if step else ""
    with pytest.raises(Refusal, match=f" {most + 1} characters, and {most} are the most{of_step}: rename"):
        made(most + 1)
    taken = made(most).take(IMAGES[:1])
    assert not taken.errors and len(max(taken.values, key=len)) == 63
