"""Figures and page say what the results say."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from penstock.bench.page import write_page
from penstock.bench.plots import FIGURES, draw_all
from tests.bench.canned import MACHINE, results

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
    """All figures and the page, of canned results."""
    found = tmp_path_factory.mktemp("performance")
    draw_all(results(), found)
    write_page(results(), found / "results.md")
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


def test_the_page_has_the_machine_every_figure_and_every_bar(folder: Path) -> None:
    text = (folder / "results.md").read_text()

    assert MACHINE.processor in text and "tmpfs" in text and "ext4" in text
    assert set(re.findall(r"\((\w+)\.svg\)", text)) == set(FIGURES)
    assert "| 20 kB | frame rate | C: receive, pwrite | 1.29 | ≥ 1 | reached |" in text
    assert "| 20 kB | frame rate | naive | 17.67 | ≥ 15 | reached |" in text
    assert "| 2 MB, plain | 100 ± 0 | 121 ± 1 | 1.20 | 1.3 | 2.41 | yes | reached |" in text
    assert "| 20 MB | penstock | 901 ± 1 | 18.02 |" in text
    for name in ("penstock, unannounced", "penstock, live only"):
        assert f"| 20 kB | {name} | 901 ± 1 |" in text
    assert "| 20 kB | frame rate, unannounced | penstock | 1.00 | ≥ 0.85 | reached |" in text


def test_what_was_not_measured_is_left_out(tmp_path: Path) -> None:
    some = results()
    some.measurements = {"contenders": some.measurements["contenders"]}
    some.files, some.latency, some.profiles = [], [], []

    drawn = draw_all(some, tmp_path)
    write_page(some, tmp_path / "results.md")

    assert {file.stem for file in drawn} == {"contenders", "cpu"}
    assert set(re.findall(r"\((\w+)\.svg\)", (tmp_path / "results.md").read_text())) == {"contenders", "cpu"}
