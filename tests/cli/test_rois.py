"""`penstock rois`: regions of interest from a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from penstock.cli.main import main
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ReceiverProcess, Streamer]]:
    streamer = Streamer()
    running = ReceiverProcess(tmp_path_factory.mktemp("rois"), streamer.endpoint)
    running.connected()
    yield running, streamer
    running.close()
    streamer.close()


@pytest.fixture
def rois(
    receiver: tuple[ReceiverProcess, Streamer], capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs the command; exit status, words and complaints."""
    receiver[0].client.put_rois({})

    def run(*options: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = main(["rois", receiver[0].client.url, *options])
        return status, *capsys.readouterr()

    return run


def test_regions_are_set_listed_and_removed(rois: Callable[..., tuple[int, str, str]]) -> None:
    assert rois()[:2] == (0, "no regions of interest; add one with --set REGION=X,Y,WIDTH,HEIGHT\n")
    status, words, _ = rois("--set", "peak=1,2,3,4", "--set", "bg=0,0,1,1")
    heading, peak, background, kept = words.splitlines()
    assert status == 0
    assert heading.split() == [
        "region",
        "x",
        "y",
        "width",
        "height",
        "frame",
        "sum",
        "mean",
        "max",
        "saturated",
    ]
    assert (peak.split(), background.split()) == (["peak", "1", "2", "3", "4"], ["bg", "0", "0", "1", "1"])
    assert "until the receiver is restarted" in kept
    assert "kept over restarts" in rois("--set", "peak=1,2,3,5", "--keep")[1]
    assert rois("--clear", "--set", "bg=0,0,2,1")[1].splitlines()[1].split() == ["bg", "0", "0", "2", "1"]
    assert "no regions of interest" in rois("--clear", "--keep")[1]


def test_the_newest_values_stand_beside(
    rois: Callable[..., tuple[int, str, str]], receiver: tuple[ReceiverProcess, Streamer]
) -> None:
    rois("--set", "peak=0,0,2,1")
    running, streamer = receiver
    running.ended(streamer.series_of("", 3))
    assert rois()[1].splitlines()[1].split() == ["peak", "0", "0", "2", "1", "2", "97", "48.5", "49", "0"]
    (line,) = rois("--json")[1].splitlines()
    said = json.loads(line)
    assert said["rois"] == {"peak": {"x": 0, "y": 0, "width": 2, "height": 1}}
    assert (said["values"][0]["sum"], said["values"][0]["saturated"]) == (97, 0)
    assert rois("--set", "peak=1,0,2,1")[1].splitlines()[1].split() == ["peak", "1", "0", "2", "1"]


def test_what_cannot_be_set_is_said(rois: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    status, _, complaint = rois("--set", "peak=1,2,3")
    assert (status, "such as peak=10,20,30,40" in complaint) == (2, True)
    status, _, complaint = rois("--set", "peak=1,2,3,0")
    assert (status, complaint) == (
        2, "penstock rois: region of interest peak: height is 0; give a whole number from 1 on\n",
    )  # fmt: skip
