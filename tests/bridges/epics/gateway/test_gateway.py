"""An IOC that others arm, a real bridge with `in`, and a real receiver that writes its series."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import hdf5plugin  # noqa: F401  (registers the filters)
import numpy as np
import pytest
from p4p import Type, Value

from penstock.beamline.stage import json_line
from penstock.bridges.epics.models import In
from penstock.cli.main import main
from penstock.devices._areadetector.simulated import SimulatedIoc
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.receiver.models import FrameStatus
from tests.bridges.epics.bridge_process import BridgeProcess
from tests.receiver.processes import ReceiverProcess

DRIVER, IMAGE = "SIM:cam1:", "SIM:Pva1:Image"
ROWS, COLUMNS = 64, 80


class Stage(NamedTuple):
    """The three of them."""

    ioc: SimulatedIoc
    bridge: BridgeProcess
    receiver: ReceiverProcess

    def take(self, name: str, frames: int, *, mode: int = 1, period: float = 0.005) -> None:
        """Let somebody arm the driver, and wait for the end of the acquisition."""
        self.ioc.put("NDAttributesFile", f"{self.receiver.root}/{name}.h5" if name else "")
        for record, value in (
            ("NumImages", frames), ("ImageMode", mode), ("AcquireTime", period / 2),
            ("AcquirePeriod", period), ("Acquire", 1),
        ):  # fmt: skip
            self.ioc.put(record, value)

    def until(self, **wanted: Any) -> In:
        """Wait until the bridge says so of its acquisitions."""
        status = self.bridge.wait(
            lambda status: (
                status.gateway is not None
                and all(getattr(status.gateway, key) == value for key, value in wanted.items())
            )
        )
        assert status.gateway is not None
        return status.gateway

    @property
    def now(self) -> In:
        """What the bridge says of its acquisitions."""
        gateway = self.bridge.client.status().gateway
        assert gateway is not None
        return gateway

    def file(self, name: str) -> h5py.File:
        """Wait for the file of an acquisition to be closed, and open it."""
        self.receiver.wait(
            lambda status: (
                status.series is not None
                and status.series.filename == f"{self.receiver.root}/{name}.h5"
                and not status.series.active
            )
        )
        return h5py.File(self.receiver.root / f"{name}.h5")


def entry(server: str, endpoint: str, **keys: Any) -> dict[str, Any]:
    """What `in` says."""
    return {
        "driver": DRIVER, "image": IMAGE, "name_servers": [server], "endpoint": endpoint,
        "filename_record": f"{DRIVER}NDAttributesFile", **keys,
    }  # fmt: skip


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    ioc = SimulatedIoc(shape=(ROWS, COLUMNS))
    endpoint = f"tcp://127.0.0.1:{free_port()}"
    bridge = BridgeProcess(tmp_path, **{"in": entry(ioc.address, endpoint)})
    receiver = ReceiverProcess(tmp_path, endpoint)
    stage = Stage(ioc, bridge, receiver)
    stage.until(state="idle", receivers=1)
    yield stage
    receiver.close()
    bridge.close()
    ioc.close()


def counted_by_hand(file: h5py.File, first: int, lost: set[int], frames: int) -> None:
    """Each frame has the pixels of its array, whose number is the counter's; a lost one has none."""
    status = file["entry/instrument/sim_1/frame_status"][()]
    data = file["entry/data/data"]
    assert len(status) == max(set(range(frames)) - lost) + 1  # a file ends with the last frame that it has
    for index in range(len(status)):
        if index in lost:
            assert status[index] == FrameStatus.MISSING
        else:
            assert status[index] == FrameStatus.STORED
            assert (data[index][1:] == (first + index) % 100).all(), index


def test_what_is_lost_in_epics_is_missing_at_its_index_and_the_series_around_it_are_clean(
    stage: Stage, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.take("before", 3)
    with stage.file("before") as file:
        counted_by_hand(file, 1, set(), 3)
    lost = {0, 1, 5, 38, 39}
    stage.ioc.lost = lost
    stage.take("lost", 40)
    with stage.file("lost") as file:
        counted_by_hand(file, 4, lost, 40)
        detector = file["entry/instrument/sim_1"]
        assert detector["count_time"][()] == pytest.approx(0.0025)
        assert detector["frame_time"][()] == pytest.approx(0.005)
        assert detector["description"].asstr()[()] == "Penstock Simulated areaDetector"
    stage.ioc.lost = ()
    stage.take("after", 5)
    with stage.file("after") as file:
        counted_by_hand(file, 44, set(), 5)
    assert main(["check", f"{stage.receiver.root}/lost.h5"]) == 1
    assert "missing at index 0-1, 5, 38-39" in capsys.readouterr().out
    for name in ("before", "after"):
        assert main(["check", f"{stage.receiver.root}/{name}.h5"]) == 0
    found = stage.until(taken=3)
    assert (found.not_taken, found.strays, found.problem) == (0, 0, "")
    stage.bridge.kill()  # another one, which first gets the last array of before
    bridge = BridgeProcess(tmp_path, **{"in": entry(stage.ioc.address, found.endpoint)})
    again = stage._replace(bridge=bridge)
    again.until(state="idle", receivers=1)
    again.take("again", 4)
    with again.file("again") as file:
        counted_by_hand(file, 49, set(), 4)
    assert again.until(taken=1).strays == 0
    bridge.close()


@pytest.mark.slow
@pytest.mark.parametrize("frames", [1, 3])
def test_the_array_that_was_there_at_connecting_is_of_no_series(
    frames: int, stage: Stage, tmp_path: Path
) -> None:
    made = stage.ioc.pixels
    stage.ioc.pixels = lambda counter: np.full_like(made(counter), 77)  # type: ignore[method-assign]
    stage.take("old", frames)
    endpoint = stage.until(taken=1).endpoint
    stage.ioc.pixels = made  # type: ignore[method-assign]
    stage.bridge.kill()
    bridge = BridgeProcess(tmp_path, **{"in": entry(stage.ioc.address, endpoint)})
    again = stage._replace(bridge=bridge)
    again.until(state="idle", receivers=1)
    again.ioc.put("ArrayCounter", 0)  # as scan programs do: numbers are those of before
    again.take("new", frames)
    with again.file("new") as file:
        counted_by_hand(file, 1, set(), frames)
    assert again.until(taken=1).strays == 0
    bridge.close()


@pytest.mark.slow
def test_an_acquisition_whose_settings_are_read_too_late_is_not_taken_and_none_has_its_frames(
    stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    os.kill(stage.bridge.process.pid, signal.SIGSTOP)
    for name, period in (("a", 0.004), ("b", 0.01), ("c", 0.02)):
        stage.ioc.put("ArrayCounter", 0)
        begun = time.time()
        stage.take(name, 5, period=period)
        while stage.ioc.value("Acquire"):
            time.sleep(0.001)
    os.kill(stage.bridge.process.pid, signal.SIGCONT)
    found = stage.until(state="idle", taken=1, not_taken=2)
    with stage.file("c") as file:
        counted_by_hand(file, 1, set(), 5)
        detector = file["entry/instrument/sim_1"]
        assert detector["frame_time"][()] == pytest.approx(0.02)
        stamps = detector["timestamp_hw"][()]
        assert stamps.min() >= begun  # those of the others are older
    assert [each.name for each in stage.receiver.root.glob("*.h5")] == ["c.h5"]
    assert main(["check", found.file]) == 0, capsys.readouterr().out
    said = stage.bridge.log.read_text()
    assert said.count("an acquisition was not taken: its settings were read too late: ") == 2


@pytest.mark.slow
def test_a_receiver_that_comes_back_gets_no_frame_of_an_acquisition_under_the_name_of_another(
    stage: Stage, tmp_path: Path
) -> None:
    endpoint = stage.now.endpoint
    assert stage.receiver.stop() == 0
    stage.until(receivers=0)
    periods = {"a": 0.004, "b": 0.01, "c": 0.02}
    for name, period in periods.items():
        stage.ioc.put("ArrayCounter", 0)
        stage.take(name, 5, period=period)
        while stage.ioc.value("Acquire"):
            pass
    with closing(ReceiverProcess(tmp_path, endpoint)) as receiver:
        again = stage._replace(receiver=receiver)
        # "a" waits for a receiver for some seconds, in which this one may not have come; "b" waits for "a".
        # On a busy machine others may be noticed only once the next one has begun: they are not taken either.
        status = stage.bridge.wait(
            lambda status: (
                status.gateway is not None
                and status.gateway.state == "idle"
                and status.gateway.taken + status.gateway.not_taken == 3
            )
        )
        assert status.gateway is not None
        again.file("c").close()
        names = {file.stem for file in receiver.root.glob("*.h5")}
        assert "c" in names and len(names) == status.gateway.taken
        for name in names:
            with h5py.File(receiver.root / f"{name}.h5") as file:
                counted_by_hand(file, 1, set(), 5)
                detector = file["entry/instrument/sim_1"]
                assert detector["frame_time"][()] == pytest.approx(periods[name])
    said = stage.bridge.log.read_text()
    why = ("its settings were read too late: ", "no receiver is connected")
    assert sum(said.count(f"an acquisition was not taken: {each}") for each in why) == 3 - len(names)


@pytest.mark.slow
def test_all_frames_lost_is_a_series_of_missing_frames_and_never_a_complete_one(stage: Stage) -> None:
    stage.ioc.lost = range(4)
    stage.take("none", 4)
    stage.until(taken=1)
    status = stage.receiver.wait(lambda status: status.series is not None and not status.series.active)
    assert status.series is not None and not status.series.complete
    assert (status.counts.planned, status.counts.missing, status.counts.received) == (4, 4, 0)


@pytest.mark.slow
def test_an_acquisition_that_is_stopped_a_single_one_and_one_behind_the_other(stage: Stage) -> None:
    stage.take("stopped", 10_000)
    stage.receiver.wait(lambda status: (status.counts.received or 0) > 3)
    stage.ioc.put("Acquire", 0)
    taken = stage.ioc.value("ArrayCounter_RBV")
    with stage.file("stopped") as file:
        series = file["entry/instrument/sim_1/series"]
        assert series["reason"].asstr()[()].endswith(f"ended after {taken} of 10,000 frames")
        counted_by_hand(file, 1, set(), taken)
    stage.take("single", 7, mode=0)
    with stage.file("single") as file:
        counted_by_hand(file, taken + 1, set(), 1)
    before = stage.ioc.value("ArrayCounter_RBV")
    for number in range(5):  # the driver ends an acquisition before it begins the next one
        stage.take(f"row{number}", 3, period=0.002)
        while stage.ioc.value("Acquire"):
            pass
    # on a busy machine one may be noticed only once the next one has begun: it is not taken
    found = stage.bridge.wait(
        lambda status: status.gateway is not None and status.gateway.taken + status.gateway.not_taken == 7
    ).gateway
    stage.file("row4").close()
    rows = [number for number in range(5) if (stage.receiver.root / f"row{number}.h5").exists()]
    assert found is not None and len(rows) + 2 == found.taken
    for number in rows:
        with h5py.File(stage.receiver.root / f"row{number}.h5") as file:
            counted_by_hand(file, before + 1 + 3 * number, set(), 3)


@pytest.mark.slow
def test_what_is_not_taken_is_said(stage: Stage) -> None:
    stage.take("continuous", 1, mode=2)
    found = stage.until(not_taken=1)
    assert found.problem == (
        "an acquisition was not taken: ImageMode is Continuous, which is taken with continuous: true only"
    )
    stage.ioc.put("Acquire", 0)
    stage.until(state="idle")
    for number, frames in enumerate((0, -1), 2):
        stage.take("unplanned", frames)
        assert stage.until(not_taken=number, state="idle").problem == (
            f"an acquisition was not taken: {DRIVER}NumImages_RBV is {frames}: set NumImages to 1 or more"
        )
    stage.take("", 3)  # live only
    stage.until(taken=1, problem="")
    status = stage.receiver.wait(lambda status: status.counts.received == 3)
    assert status.series is not None and not status.series.filename


@pytest.mark.slow
def test_a_counter_that_is_set_back_in_an_acquisition_ends_it_as_a_fault(stage: Stage) -> None:
    stage.take("set-back", 10_000, period=0.01)
    stage.receiver.wait(lambda status: (status.counts.received or 0) > 3)
    stage.ioc.put("ArrayCounter", 0)
    stage.ioc.records["ArrayCounter_RBV"].post(0)
    with stage.file("set-back") as file:
        reason = file["entry/instrument/sim_1/series/reason"].asstr()[()]
        assert "was ArrayCounter set back?" in reason
    stage.ioc.put("Acquire", 0)
    stage.until(state="idle")
    stage.take("next", 3)
    with stage.file("next") as file:
        assert (file["entry/instrument/sim_1/frame_status"][()] == FrameStatus.STORED).all()


@pytest.mark.slow
@pytest.mark.parametrize("codec", ["bslz4", "lz4hdf5"])
def test_packed_arrays_stay_packed(codec: str, stage: Stage) -> None:
    stage.ioc.codec = codec
    stage.take("packed", 3)
    with stage.file("packed") as file:
        counted_by_hand(file, 1, set(), 3)
        assert file["entry/data/data"].id.get_create_plist().get_nfilters() == 1


@pytest.mark.slow
def test_arrays_that_no_file_can_have_end_their_series_and_the_next_one_is_taken(stage: Stage) -> None:
    made = stage.ioc._array

    def packed(counter: int) -> Value:
        array = made(counter)
        array["codec.name"], array["codec.parameters"] = "bslz4", Value(Type([("a", "i")]), {"a": 5})
        return array

    stage.ioc._array = packed  # type: ignore[method-assign]
    stage.take("packed", 3)
    found = stage.until(taken=1)
    assert found.problem.startswith("packed arrays do not say of which type their pixels are")

    def undated(counter: int) -> Value:
        array = made(counter)
        array["codec.name"], array["codec.parameters"] = "", 0
        array["dataTimeStamp.secondsPastEpoch"], array["dataTimeStamp.nanoseconds"] = 631_152_000, 0
        return array

    stage.ioc._array = undated  # type: ignore[method-assign]
    stage.take("undated", 3)
    with stage.file("undated") as file:
        counted_by_hand(file, 4, set(), 3)
        assert np.isnan(file["entry/instrument/sim_1/timestamp_hw"][()]).all()


@pytest.mark.slow
def test_frames_that_change_within_a_series_end_it_and_no_receiver_is_named(stage: Stage) -> None:
    stage.take("changed", 10_000, period=0.01)
    stage.receiver.wait(lambda status: (status.counts.received or 0) > 3)
    stage.ioc.put("SizeX", 40)
    with stage.file("changed") as file:
        reason = file["entry/instrument/sim_1/series/reason"].asstr()[()]
        assert "frames were 64 x 80 uint16, and are 64 x 40 uint16 now, at index" in reason
    stage.ioc.put("Acquire", 0)
    stage.until(state="idle")
    stage.receiver.close()
    stage.until(receivers=0)
    stage.take("nobody", 3)
    found = stage.until(not_taken=1)
    assert found.problem.startswith(
        "an acquisition was not taken: no receiver is connected to tcp://127.0.0.1"
    )


@pytest.mark.slow
def test_a_continuous_acquisition_is_one_series_if_it_is_wanted(tmp_path: Path) -> None:
    ioc, endpoint = SimulatedIoc(shape=(ROWS, COLUMNS)), f"tcp://127.0.0.1:{free_port()}"
    bridge = BridgeProcess(
        tmp_path, **{"in": entry(ioc.address, endpoint, continuous=True, filename="/nowhere/{record}.h5")}
    )
    receiver = ReceiverProcess(tmp_path, endpoint, path_map={"/nowhere": str(tmp_path / "data")})
    stage = Stage(ioc, bridge, receiver)
    stage.until(state="idle", receivers=1)
    ioc.put("NDAttributesFile", "live")
    ioc.put("ImageMode", 2)
    ioc.put("AcquirePeriod", 0.01)
    ioc.put("Acquire", 1)
    status = receiver.wait(lambda status: (status.counts.received or 0) > 5)
    assert status.counts.planned is None
    ioc.put("Acquire", 0)
    taken = ioc.value("ArrayCounter_RBV")
    with stage.file("live") as file:
        counted_by_hand(file, 1, set(), taken)
        assert file["entry/instrument/sim_1/series/state"].asstr()[()] == "complete"
    ioc.put("NDAttributesFile", "set-back")
    ioc.put("Acquire", 1)
    receiver.wait(
        lambda status: (
            status.series is not None
            and (status.series.filename or "").endswith("set-back.h5")
            and (status.counts.received or 0) > 5
        )
    )
    ioc.put("ArrayCounter", 0)
    found = stage.until(series=None, taken=2)
    assert found.problem.endswith("is none of the acquisition that runs: was ArrayCounter set back?")
    receiver.close()
    bridge.close()
    ioc.close()


@pytest.mark.slow
def test_a_receiver_that_leaves_in_an_acquisition_costs_that_one_and_the_next_is_taken(
    stage: Stage, tmp_path: Path
) -> None:
    stage.take("cut", 10_000)
    stage.receiver.wait(lambda status: (status.counts.received or 0) > 3)
    endpoint = stage.now.endpoint
    assert stage.receiver.stop() == 0
    problem = stage.until(series=None).problem
    assert problem.startswith("no receiver took frame ")
    stage.ioc.put("Acquire", 0)
    assert stage.until(state="idle").not_taken == 1
    receiver = ReceiverProcess(tmp_path / "again", endpoint)
    again = stage._replace(receiver=receiver)
    again.until(receivers=1)
    again.take("next", 4)
    with again.file("next") as file:
        counted_by_hand(file, stage.ioc.value("ArrayCounter_RBV") - 3, set(), 4)
    assert again.until(taken=1).not_taken == 1
    receiver.close()


@pytest.mark.slow
def test_two_receivers_would_share_the_frames_out_so_that_no_series_begins_or_goes_on(
    stage: Stage, tmp_path: Path
) -> None:
    endpoint = stage.now.endpoint
    said = f"two receivers are connected to {endpoint}, which would share the frames out: end one"
    stage.take("alone", 10_000, period=0.02)
    stage.receiver.wait(lambda status: (status.counts.received or 0) > 3)
    other = ReceiverProcess(tmp_path / "other", endpoint)
    found = stage.until(series=None)
    assert (found.problem, found.taken) == (said, 1)
    with stage.file("alone") as file:
        assert file["entry/instrument/sim_1/series/reason"].asstr()[()].endswith(said)
    stage.ioc.put("Acquire", 0)
    stage.until(state="idle")
    assert stage.bridge.client.status().waits_for == f"{said}."
    stage.take("both", 3)
    assert stage.until(not_taken=1).problem == f"an acquisition was not taken: {said}"
    other.close()
    stage.until(receivers=1, state="idle")
    stage.take("one", 3)
    with stage.file("one") as file:
        counted_by_hand(file, stage.ioc.value("ArrayCounter_RBV") - 2, set(), 3)
    assert not list(other.root.glob("*.h5"))


@pytest.mark.slow
def test_a_record_that_has_no_arrays_is_named(tmp_path: Path) -> None:
    ioc = SimulatedIoc(shape=(ROWS, COLUMNS))
    keys = entry(ioc.address, f"tcp://127.0.0.1:{free_port()}") | {"image": f"{DRIVER}Model_RBV"}
    bridge = BridgeProcess(tmp_path, **{"in": keys})
    try:
        status = bridge.wait(lambda status: "NTNDArray" in status.waits_for)
        said = f"in.image is {DRIVER}Model_RBV, which is no NTNDArray: give what PvName_RBV of the PVA plugin"
        assert status.waits_for.startswith(said)
        checked = subprocess.run(
            ["penstock", "epics", str(bridge.file), "--check"],
            check=False, capture_output=True, text=True, timeout=30,
        )  # fmt: skip
        assert (checked.returncode, said in checked.stdout) == (2, True)
    finally:
        bridge.close()
        ioc.close()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_an_ioc_that_is_killed_or_hangs_ends_the_series_and_the_next_one_is_taken(
    number: signal.Signals, tmp_path: Path
) -> None:
    port, endpoint = free_port(), f"tcp://127.0.0.1:{free_port()}"
    command = [
        *PENSTOCK, "areadetector", "--tcp", f"127.0.0.1:{port}", "--sensor", f"{ROWS}x{COLUMNS}", "--json"
    ]  # fmt: skip
    bridge = BridgeProcess(tmp_path, **{"in": entry(f"127.0.0.1:{port}", endpoint)})
    receiver = ReceiverProcess(tmp_path, endpoint)
    context = Client(port)
    try:
        with Child("IOC", command, json_line) as ioc:
            bridge.wait(lambda status: status.gateway is not None and status.gateway.state == "idle")
            receiver.connected()
            context.take(f"{receiver.root}/killed.h5", 10_000)
            receiver.wait(lambda status: (status.counts.received or 0) > 3)
            os.kill(ioc.pid, number)
            status = receiver.wait(lambda status: status.series is not None and not status.series.active)
            assert status.series is not None and "the IOC is lost at index" in status.series.reason
            os.kill(ioc.pid, signal.SIGKILL)
        with Child("IOC", command, json_line):
            bridge.wait(lambda status: status.gateway is not None and status.gateway.state == "idle")
            context.take(f"{receiver.root}/next.h5", 4)
            bridge.wait(lambda status: status.gateway is not None and status.gateway.taken == 2)
        receiver.wait(lambda status: status.counts.stored == 4)
        assert np.shape(h5py.File(receiver.root / "next.h5")["entry/data/data"]) == (4, ROWS, COLUMNS)
    finally:
        context.close()
        receiver.close()
        bridge.close()


class Client:
    """A client that arms the driver.

    Args:
        port: of the IOC.
    """

    def __init__(self, port: int) -> None:
        from p4p.client.thread import Context

        conf = {"EPICS_PVA_NAME_SERVERS": f"127.0.0.1:{port}", "EPICS_PVA_AUTO_ADDR_LIST": "NO"}
        self._context = Context("pva", conf=conf | {"EPICS_PVA_ADDR_LIST": ""}, useenv=False, nt=False)

    def take(self, file: str, frames: int) -> None:
        """Begin an acquisition."""
        put = self._context.put
        put(f"{DRIVER}NDAttributesFile", file, timeout=20.0)
        put(f"{DRIVER}NumImages", frames)
        put(f"{DRIVER}ImageMode", {"value.index": 1})
        put(f"{DRIVER}AcquirePeriod", 0.02)
        put(f"{DRIVER}Acquire", {"value.index": 1}, wait=False)

    def close(self) -> None:
        """End it."""
        self._context.close()
