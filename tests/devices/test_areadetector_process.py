"""An IOC in a process of its own that is killed, or hangs; and the demonstration with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import h5py
import hdf5plugin
import numpy as np
import pytest

from penstock.beamline.stage import json_line
from penstock.devices._areadetector import payload
from penstock.devices._areadetector.ioc import Ioc
from penstock.devices.areadetector import AreaDetector
from penstock.hosts.child import PENSTOCK, Child, free_port
from penstock.streamer.camera.settings import Limits, TriggerMode
from penstock.streamer.camera.unit import CameraError
from tests.receiver.processes import DEADLINE
from tests.streamer.rig import Rig
from tests.system.beamline import until
from tests.third_party import program_of

pytestmark = pytest.mark.slow


@pytest.fixture
def port() -> int:
    """Of the IOC."""
    return free_port()


def started(port: int) -> Child:
    """The IOC."""
    command = [*PENSTOCK, "areadetector", "--tcp", f"127.0.0.1:{port}", "--sensor", "64x80", "--json"]
    return Child("IOC", command, json_line)


@pytest.fixture
def ioc(port: int) -> Iterator[Child]:
    """It runs, or has been killed by the test."""
    with started(port) as child:
        yield child


@pytest.fixture
def rig(port: int, ioc: Child) -> Iterator[Rig]:
    """An engine with a camera that is connected to it."""
    unit = {
        "NameServers": f"127.0.0.1:{port}", "DriverPrefix": "SIM:cam1:", "ImageRecord": "SIM:Pva1:Image",
        "ModeExternalMulti": "External",
    }  # fmt: skip
    found = Rig(AreaDetector(unit), buffers=2**24)
    found.connect()
    yield found
    found.__exit__(None, None, None)


def whole(rig: Rig) -> None:
    """The next series is."""
    rig.engine.reset()
    rig.arm(n_triggers=3, exposure_time=0.001)
    assert [frame.image.frame for frame in rig.receive_series()[1]] == [0, 1, 2]
    rig.until_state("idle")


@pytest.mark.parametrize("mode", [TriggerMode.INTERNAL, TriggerMode.EXTERNAL_MULTI])
def test_an_ioc_that_is_killed_in_a_series_is_a_fault_at_once(
    mode: TriggerMode, rig: Rig, ioc: Child, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.arm(n_triggers=1000, exposure_time=0.02, trigger_mode=mode)
    if mode is TriggerMode.INTERNAL:
        rig.until(lambda status: status.acquired > 2)
    puts: list[str] = []  # each would be waited for, for seconds
    with monkeypatch.context() as patched:
        patched.setattr(Ioc, "put_choice", lambda self, name, *_, **__: puts.append(name))
        os.kill(ioc.pid, signal.SIGKILL)
        message = rig.until_state("fault").message
    assert "the IOC is lost at index" in message  # not that it has not answered for seconds
    assert not puts
    rig.receive_series()
    with started(port):
        whole(rig)


def test_an_ioc_that_hangs_is_a_fault_within_ten_seconds(rig: Rig, ioc: Child) -> None:
    rig.arm(n_triggers=1000, exposure_time=0.02)
    rig.until(lambda status: status.acquired > 2)
    os.kill(ioc.pid, signal.SIGSTOP)
    try:
        message = rig.until_state("fault").message
        assert "the IOC has not answered for 8 s, at index" in message
    finally:
        os.kill(ioc.pid, signal.SIGCONT)
    rig.receive_series()
    whole(rig)


def test_the_demonstration_writes_a_clean_file(tmp_path: Path) -> None:
    argv = [
        *PENSTOCK,
        "demo",
        "--detector",
        "areadetector",
        "--frames",
        "20",
        "--out",
        str(tmp_path),
        "--json",
    ]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    path = json.loads(ended.stdout)["file"]
    with h5py.File(path) as written:
        detector = written["entry/instrument/areadetector"]
        data = detector["data"][()]
        assert detector["description"].asstr()[()] == "Penstock Simulated areaDetector"
        assert (np.diff(detector["timestamp_hw"][()]) > 0).all()
        assert detector["x_pixel_size"][()] == 5.5e-6
        assert {name: each[()] for name, each in detector["region"].items()} == {
            "left": 0, "top": 0, "width": data.shape[2], "height": data.shape[1], "binning_x": 1,
            "binning_y": 1,
        }  # fmt: skip
    for number, pixels in enumerate(data, 1):  # the number of the array, which begins with 1
        assert (pixels[1:] == number % 100).all()
    checked = subprocess.run(["penstock", "check", path], capture_output=True, text=True, timeout=DEADLINE)
    assert checked.returncode == 0, checked.stdout


def test_records_of_a_real_ioc_are_read_set_and_read_back(port: int) -> None:
    environment = {
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": str(port),
        "EPICS_PVAS_BROADCAST_PORT": str(free_port()), "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_CA_SERVER_PORT": str(free_port()),
    }  # fmt: skip
    command = [sys.executable, str(Path(__file__).with_name("real_ioc.py"))]
    with Child("softioc", command, json_line, lifeline=True, environment=environment):
        ioc = Ioc([f"127.0.0.1:{port}"])
        exposure, mode, model, file, curve, temperature = ioc.require(
            ["R:AcquireTime", "R:TriggerMode", "R:Model_RBV", "R:File_RBV", "R:Curve_RBV", "R:Temperature"]
        )
        assert (exposure.value, exposure.unit, exposure.limits) == (0.1, "s", Limits(1e-5, 100.0))
        assert (exposure.doc, mode.text, mode.choices) == ("exposure", "Internal", ("Internal", "External"))
        assert (model.value, file.value, curve.value) == ("X", "/data/x.xml", "3 values")
        assert (temperature.severity, temperature.message) == (2, "HIHI")
        ioc.put("R:AcquireTime", 0.12345)
        assert ioc.settled({"R:AcquireTime_RBV": 0.123})[0].value == 0.123
        ioc.choose("R:TriggerMode", "External")
        ioc.put_choice("R:Acquire", 1)
        ioc.put("R:NumImages", 9)
        mode, acquire, number = ioc.require(["R:TriggerMode", "R:Acquire", "R:NumImages"])
        assert (mode.text, acquire.text, number.value) == ("External", "Acquire", 5)
        with pytest.raises(CameraError, match="R:Temperature does not take 1.0"):
            ioc.put("R:Temperature", 1.0)
        with pytest.raises(CameraError, match="R:TriggerMode has no choice Soft; it has Internal, External"):
            ioc.choose("R:TriggerMode", "Soft")
        refusals: list[str] = []
        sent = [ioc.send(name, 0, refusals.append) for name in ("R:Acquire", "R:NumImages", "R:Temperature")]
        now = ["Done", "1"]  # of images the fewest that it takes
        until(lambda: [each.text for each in ioc.require(["R:Acquire", "R:NumImages"])] == now, "set")
        until(lambda: refusals, "refused")
        assert len(refusals) == 1 < len(sent) and refusals[0].startswith("R:Temperature does not take 0: ")
        ioc.close()


CLIENT = """
import asyncio, json
from ophyd_async.epics.adcore import ADBaseIO

async def main():
    driver = ADBaseIO("pva://SIM:cam1:", name="driver")
    await driver.connect(timeout=5)  # each record is there, of its type, with its choices
    await driver.num_images.set(7)
    await driver.acquire_time.set(0.002)
    print(json.dumps({name: await child.get_value() for name, child in driver.children()}))

asyncio.run(main())
"""


def test_the_client_of_ophyd_async_connects_to_the_stand_in(ioc: Child, port: int) -> None:
    environment = {
        "EPICS_PVA_NAME_SERVERS": f"127.0.0.1:{port}", "EPICS_PVA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVA_ADDR_LIST": "",
    }  # fmt: skip
    done = subprocess.run(
        [str(program_of("ophyd", "python")), "-c", CLIENT], env=os.environ | environment,
        capture_output=True, text=True, timeout=DEADLINE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["num_images"], found["acquire_time"], found["acquire"]) == (7, 0.002, False)
    assert (found["array_size_x"], found["data_type"], found["detector_state"]) == (80, "UInt16", "Idle")


@pytest.mark.parametrize("codec", ["bslz4", "lz4"])
def test_arrays_of_pvapys_simulator_are_the_chunks_of_its_file(
    codec: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, frames = tmp_path / "frames.h5", np.arange(10 * 64 * 80, dtype=np.uint16).reshape(10, 64, 80) % 1000
    filters = {"bslz4": hdf5plugin.Bitshuffle(cname="lz4"), "lz4": hdf5plugin.LZ4()}[codec]
    with h5py.File(path, "w") as file:
        data = file.create_dataset("data", data=frames, chunks=(1, 64, 80), **dict(filters))
        chunks = [data.id.read_direct_chunk((number, 0, 0))[1] for number in range(10)]
    monkeypatch.setenv("EPICS_PVA_ADDR_LIST", "127.0.0.1")
    monkeypatch.setenv("EPICS_PVA_AUTO_ADDR_LIST", "NO")
    monkeypatch.setenv("EPICS_PVA_BROADCAST_PORT", str(free_port()))
    environment = {
        "HDF5_PLUGIN_PATH": hdf5plugin.PLUGIN_PATH, "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1",
        "EPICS_PVAS_BROADCAST_PORT": os.environ["EPICS_PVA_BROADCAST_PORT"],
        "EPICS_PVA_SERVER_PORT": str(free_port()),
    }  # fmt: skip
    command = [
        str(program_of("processing", "pvapy-ad-sim-server")), "-cn", "SIM:Image", "-if", str(path),
        "-hds", "data", "-hcm", "-fps", "50", "-rt", "10", "-std", "3", "-shd", "1", "-dc",
    ]  # fmt: skip
    come = Event()
    with subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL) as server:
        ioc = Ioc([])
        arrays = ioc.subscribe("SIM:Image", come.set, 64)
        found: dict[int, bytes] = {}
        buffer = np.zeros(2 * frames[0].nbytes, np.uint8)
        end = time.monotonic() + DEADLINE
        while len(found) < 5 and time.monotonic() < end:
            come.wait(1.0)
            come.clear()
            while (array := arrays.take()) is not None:
                if array.value is not None:
                    used = payload.write(array.codec.name, np.asarray(array.value), frames[0].nbytes, buffer)
                    found[int(array.uniqueId)] = buffer[:used].tobytes()
                    assert array.codec.name == codec
        server.terminate()
        ioc.close()
    assert len(found) >= 5
    for number, blob in found.items():
        assert blob in chunks, number
