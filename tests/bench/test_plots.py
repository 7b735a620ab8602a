"""Figures say what the results say."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from penstock_bench.plots import FIGURES, draw_all
from tests.bench.canned import results

pytestmark = pytest.mark.slow

SVG = "{http://www.w3.org/2000/svg}"
UNITS = {
    "contenders": ("frames/s", "GB/s"),
    "offered": ("frames/s offered", "frames/s received", "GB/s", "C: receive, pwrite", "RAM disk", "disk"),
    "cpu": ("µs of processor time per frame", "ZeroMQ's I/O threads"),
    "sockets": ("PULL sockets × ZeroMQ I/O threads", "frames/s", "C: receive only (1 × 1)"),
    "workers": ("workers (threads)", "frames/s"),
    "latency": ("Arm → RUNNING", "last frame → ON"),
    "profile": ("% of the processor time of the process that receives", "kernel: copies"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All figures of canned results."""
    found = tmp_path_factory.mktemp("performance")
    draw_all(results(), found)
    return found


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_names_its_axes_with_units_and_its_lines(name: str, folder: Path) -> None:
    words = [text.text for text in ElementTree.parse(folder / f"{name}.svg").iter(f"{SVG}text")]

    for wanted in UNITS[name]:
        assert any(wanted in (word or "") for word in words), f"{wanted} is not in {words}"


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_has_a_background_of_its_own_so_that_dark_pages_do_not_swallow_its_ink(
    name: str, folder: Path
) -> None:
    first = next(ElementTree.parse(folder / f"{name}.svg").iter(f"{SVG}path"))

    assert "fill: #ffffff" in first.attrib["style"]


@pytest.mark.slow
def test_a_figure_is_the_same_whenever_it_is_drawn(folder: Path, tmp_path: Path) -> None:
    draw_all(results(), tmp_path)

    assert (tmp_path / "offered.svg").read_bytes() == (folder / "offered.svg").read_bytes()
