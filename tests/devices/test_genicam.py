"""GenICam against the fake camera of libaravis: the contract of every camera, and what only this one does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest

from penstock.devices.genicam import GenICam
from tests.contract.test_camera_contract import CameraContract
from tests.devices._genicam.exposing_camera import Bench
from tests.streamer.rig import Rig


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


class TestGenICam(CameraContract):
    """Against the fake camera, made to expose."""

    camera = GenICam
    library = "libaravis"
    properties: ClassVar = {"Address": "127.0.0.1"}
    sees_exposures = False
    bench: Bench

    @pytest.fixture(autouse=True)
    def _the_camera(self, bench: Bench) -> None:
        self.bench = bench

    def edge(self, rig: Rig, seconds: float) -> None:
        self.bench.say("edge")

    def lose(self, rig: Rig, index: int) -> None:
        self.bench.say(f"lose {index}")
