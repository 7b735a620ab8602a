"""docs/reference/processors.md: each built-in processor is described, and its example runs."""

from __future__ import annotations

import re
import shutil
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.processing.azimuthal import kept
from penstock.processing.config import classes, pipeline_file
from penstock.processing.config.built_in import BUILT_IN
from penstock.processing.worker.loading import load
from penstock.processing.worker.parameters import declared
from tests.processing.azimuthal.compared import make_here
from tests.processing.processors.built_in import begun_by, saved

PAGE = Path(__file__).parents[3] / "docs/reference/processors.md"
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
PIPELINES = Path(str(files("penstock.resources") / "pipelines"))
SHIPPED = [PIPELINES / f"{name}.yaml" for name in (*BUILT_IN, "pvapy")]
SHAPE = (64, 80)
GEOMETRY = {
    "distance": 0.1, "beam_center_x": 40.5, "beam_center_y": 30.5, "x_pixel_size": 75e-6,
    "y_pixel_size": 75e-6, "incident_energy": 12_400.0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_make", make_here)


def marked(text: str, name: str) -> object:
    """A test of an example; one with PvaPy is slow, as are all that need judges."""
    return pytest.param(text, id=name, marks=[pytest.mark.slow] if "pvapy" in text else [])


def runs(path: Path, request: pytest.FixtureRequest) -> None:
    if "pvapy" in path.read_text():
        request.getfixturevalue("pvapy")
        shutil.copy(PIPELINES / "pvapy_flip.py", path.parent)
    saved(path.parent / "dark.npy", np.ones(SHAPE, np.float32))
    saved(path.parent / "flat.npy", np.full(SHAPE, 2.0, np.float32))
    config = pipeline_file.load(path)
    images = np.random.default_rng(1).poisson(20, (3, *SHAPE)).astype(np.uint16)
    made = begun_by(classes.steps(config), config, GEOMETRY, shape=SHAPE).take(images)
    assert not made.errors
    assert made.values or made.totals()


@pytest.mark.parametrize("text", [marked(text, str(number)) for number, text in enumerate(EXAMPLES)])
def test_an_example_runs(tmp_path: Path, request: pytest.FixtureRequest, text: str) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(text)
    runs(path, request)


@pytest.mark.parametrize("text", [marked(path.read_text(), path.stem) for path in SHIPPED])
def test_what_is_shipped_runs(tmp_path: Path, request: pytest.FixtureRequest, text: str) -> None:
    path = tmp_path / "shipped.yaml"
    path.write_text(text)
    runs(path, request)


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_processor_is_described_with_every_parameter_and_shipped(name: str) -> None:
    _, title, section = PAGE.read_text().partition(f"\n## `{name}`")
    assert title, f"{PAGE.name} has no section `{name}`"
    section = section.partition("\n## ")[0]
    module, _, kind = BUILT_IN[name].target.partition(":")
    for parameter in declared(load(classes.Step(name=kind, module=module))):
        assert f"\n| `{parameter}` |" in section


def test_the_names_are_listed_with_what_they_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["process", "--list"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == [*sorted(BUILT_IN), "pvapy:FILE.py:CLASS"]
    assert all(len(line.split()) > 3 for line in said)
