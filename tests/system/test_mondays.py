"""What every detector has to bear between its device and the file: a restart in a series, and two at once."""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tango

from penstock.beamline import stage
from penstock.beamline.stage import Staged, json_line
from penstock.devices._server.registry import camera_class
from penstock.hosts.child import Child, children, free_port
from penstock.streamer.camera.own_stream import StreamingDetector
from tests.devices._genicam.exposing_camera import PATIENCE
from tests.devices._genicam.turns import turn
from tests.devices.sls_box import VENDOR, box
from tests.system.accounts import file_counts
from tests.system.beamline import FAULT, INIT, MOVING, ON, RUNNING, Beamline, refusal, until, wait_state

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MODELS = ("Simulator", "Eiger", "Pilatus", "GenICam", "Jungfrau", "AreaDetector")
NUMBERS = itertools.count(1)
"""Of files."""
LONG = 60.0
"""Seconds: some are initialised, and one waits for the only fake camera of this computer."""


class MondayStation:
    """One simulated detector of any model, with its device and its receiver."""

    def __init__(self, beamline: Beamline, model: str, stack: ExitStack) -> None:
        if model == "GenICam":
            stack.enter_context(turn())
        staged = _staged(model, stack)
        for each in staged.stand_ins:
            patience = ("--wait", str(PATIENCE)) if model == "GenICam" else ()
            command = (*each.command, *patience)
            stack.enter_context(Child(each.name, command, json_line, deadline=LONG + PATIENCE))
        self.model = model
        name = model.lower()
        self.beamline = beamline
        self.receiver = beamline.receiver(name, free_port(), source=dict(staged.source), **staged.receiver)
        stack.callback(self.receiver.stop)
        self.server = f"{model}/monday"
        beamline.register(
            self.server, model, f"{name}/det/1", ReceiverUrl=self.receiver.url, **staged.properties
        )
        stack.callback(lambda: beamline.end(self.server))
        self.process = beamline.serve(self.server)
        self.detector = beamline.device(f"{name}/det/1")
        self.rest()
        self.set(**{name: 64 for name in staged.look if name.startswith("AOI")})

    def rest(self) -> None:
        """Bring it to rest; a detector that is armed, or was just switched on, says that it needs Reset."""
        wait_state(self.detector, ON, FAULT, deadline=LONG)
        if self.detector.State() == FAULT:
            assert "Reset" in self.detector.Status()
            self.detector.Reset()
        wait_state(self.detector, ON, deadline=LONG)
        until(lambda: self.receiver.client.status().state == "idle", "receiver idle", LONG)
        until(lambda: self.receiver.client.status().connections[0].connections == 1, "connected", LONG)

    def set(self, **values: Any) -> None:
        for name, value in values.items():
            self.detector.write_attribute(name, value)

    def arm(self, frames: int) -> Path:
        """Arm a series at the detector's own pace; its file."""
        file = self.receiver.root / f"{self.receiver.name}-{next(NUMBERS)}.h5"
        self.set(TriggerMode="INTERNAL", ExposureTime=0.02, nTriggers=frames, DestinationFilename=str(file))
        self.detector.Arm()
        return file

    def stored(self, file: Path) -> int:
        """Frames stored so far of the series that has this file; 0 before it begins."""
        status = self.receiver.client.status()
        is_this = status.series is not None and status.series.filename == str(file)
        return status.counts.stored if is_this else 0

    def check_whole(self, file: Path, frames: int) -> None:
        """Wait for the end of the series, which is whole."""
        wait_state(self.detector, ON, deadline=LONG)
        assert file_counts(file, frames)["stored"] == frames, self.detector.LastSeries


def _staged(model: str, stack: ExitStack) -> Staged:
    if model == "Jungfrau":  # PSI's own need a build
        fake = stack.enter_context(box())
        fake.initialise()
        source = {"type": "sls", "endpoints": [f"tcp://127.0.0.1:{fake.stream_port}"]}
        return Staged(server=model, source=source, properties=fake.properties)
    return stage.MODELS[model]()


class Stations(dict[str, MondayStation]):
    """All of them; each is there from its first use on."""

    def __init__(self, beamline: Beamline) -> None:
        self._beamline = beamline
        self._stacks: dict[str, ExitStack] = {}

    def __missing__(self, model: str) -> MondayStation:
        stack = self._stacks[model] = ExitStack()
        self[model] = MondayStation(self._beamline, model, stack)
        return self[model]

    def end(self, model: str) -> None:
        if model in self._stacks:
            self._stacks.pop(model).close()
            self.pop(model, None)

    def end_for_others(self) -> None:
        """End what only one test of this computer can have."""
        self.end("GenICam")


@pytest.fixture(scope="module")
def stations(beamline: Beamline) -> Iterator[Stations]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(VENDOR))  # the fake slsdet
        stations = Stations(beamline)
        yield stations
        for model in MODELS:
            stations.end(model)


@pytest.fixture
def station(stations: Stations, model: str) -> Iterator[MondayStation]:
    """At rest."""
    station = stations[model]
    station.rest()
    yield station
    stations.end_for_others()


@pytest.mark.parametrize("how", ["stopped", "killed"])
@pytest.mark.parametrize("model", MODELS)
def test_a_device_server_that_is_restarted_in_a_series_leaves_its_account_and_takes_the_next(
    station: MondayStation, how: str
) -> None:
    planned = 5000
    file = station.arm(planned)
    until(lambda: station.stored(file) >= 2, "some frames", LONG)
    if how == "killed":
        for pid in (*children(station.process.pid), station.process.pid):
            os.kill(pid, signal.SIGKILL)
    station.beamline.end(station.server)
    station.process = station.beamline.serve(station.server)
    station.rest()
    stored = file_counts(file, planned)["stored"]
    assert 2 <= stored < planned
    until(lambda: station.detector.LastSeries, "the receiver says how it has ended")
    last = json.loads(station.detector.LastSeries)
    assert (last["file"], last["complete"], last["counts"]["stored"]) == (str(file), False, stored)
    assert station.detector.Status().endswith(f"Last series of the receiver: {last['verdict']}")
    station.check_whole(station.arm(3), 3)
    assert "of the receiver" not in station.detector.Status()


@pytest.mark.parametrize(
    ("model", "how"),
    [
        *((model, "Init") for model in MODELS),
        *itertools.product(("Simulator", "Eiger"), ("DevRestart", "RestartServer")),
    ],
)
def test_a_device_that_is_restarted_in_a_series_says_how_it_ended_once_the_file_is_closed(
    station: MondayStation, how: str
) -> None:
    planned = 5000
    station.set(ArmedTimeLimit=1234.5)
    file = station.arm(planned)
    until(lambda: station.stored(file) >= 2, "some frames", LONG)
    name = station.detector.dev_name()
    admin = station.beamline.device(f"dserver/{station.server}")
    begun = time.monotonic()
    {
        "Init": station.detector.Init,
        "DevRestart": lambda: admin.DevRestart(name),
        "RestartServer": admin.RestartServer,
    }[how]()
    assert time.monotonic() - begun < 2.5
    until(lambda: state_of(station) != RUNNING, "RestartServer answers before it begins")
    until(lambda: is_back(station), "ON")
    last = json.loads(station.detector.LastSeries)
    stored = file_counts(file, planned)["stored"]
    assert (last["file"], last["complete"], last["counts"]["stored"]) == (str(file), False, stored)
    assert 2 <= stored < planned
    assert last["verdict"].startswith(f"{stored} of 5,000 frames stored in {file}, ")
    assert last["verdict"].endswith(f": ended by {how}.")
    assert station.detector.Status() == f"Ready. Last series: {last['verdict']}"
    assert station.detector.ArmedTimeLimit == 1234.5, "memorized"
    station.check_whole(station.arm(3), 3)


def state_of(station: MondayStation) -> tango.DevState | None:
    """State; `None` if no device is there."""
    try:
        return station.detector.State()
    except tango.DevFailed:
        return None


def is_back(station: MondayStation) -> bool:
    """Whether State is ON; then the file is closed. Until then it is INIT, or no device is there; a box is
    reached after that."""
    state = state_of(station)
    if state != ON:
        reached = (INIT, MOVING)[: 1 + issubclass(camera_class(station.model), StreamingDetector)]
        assert state in (None, *reached)
        return False
    assert station.receiver.client.status().state == "idle"
    return True


@pytest.mark.parametrize("model", MODELS)
def test_a_second_client_is_refused_and_the_first_ones_series_is_whole(station: MondayStation) -> None:
    file = station.arm(50)
    second = station.beamline.device(station.detector.dev_name())
    assert "Arm" in refusal(second.Arm)
    refusal(lambda: second.write_attribute("nTriggers", 3))
    refusal(lambda: second.write_attribute("DestinationFilename", "/data/theirs.h5"))
    station.check_whole(file, 50)


def test_all_detectors_of_a_beamline_take_a_series_at_once(stations: Stations) -> None:
    try:
        for model in MODELS:
            stations[model].rest()
        files = {model: stations[model].arm(100) for model in MODELS}
        for model, file in files.items():
            stations[model].check_whole(file, 100)
    finally:
        stations.end_for_others()
