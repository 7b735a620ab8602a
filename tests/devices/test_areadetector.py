"""AreaDetector: the contract of every camera, and what only an IOC does."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any

import h5py
import hdf5plugin
import numpy as np
import pytest

from penstock.codecs import lz4
from penstock.devices._areadetector import arrays, payload
from penstock.devices._areadetector.ioc import Ioc, Reading, Subscription
from penstock.devices._areadetector.simulated import DEAD_TIME, SimulatedIoc
from penstock.devices.areadetector import AreaDetector
from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.settings import TriggerMode, Value
from penstock.streamer.camera.unit import CameraError
from tests.contract.test_camera_contract import CameraContract
from tests.streamer.rig import DEADLINE, Rig, done, settings
from tests.system.beamline import until

MODES = {
    "ModeExternal": "External start", "ModeExternalMulti": "External", "ModeSoftware": "Software",
    "SoftwareTriggerRecord": "TriggerSoftware", "ReadoutTime": DEAD_TIME,
    "DriverPrefix": "SIM:cam1:", "ImageRecord": "SIM:Pva1:Image",
}  # fmt: skip


@pytest.fixture(autouse=True)
def ioc() -> Iterator[SimulatedIoc]:
    """The stand-in that the test's camera is connected to."""
    found = SimulatedIoc()
    TestAreaDetector.ioc = found
    TestAreaDetector.properties = MODES | {"NameServers": found.address}
    yield found
    found.close()


class TestAreaDetector(CameraContract):
    """Against the stand-in."""

    camera = AreaDetector
    sdk = "p4p.client.thread"
    shape = (256, 320)
    ioc: SimulatedIoc
    exposure = 0.002
    sees_exposures = False
    rounded = (1.4e-6, 1e-5)

    def edge(self, rig: Rig, seconds: float) -> None:
        self.ioc.edge()

    def lose(self, rig: Rig, index: int) -> None:
        self.ioc.lost = {index}

    def region(self, rows: int, cols: int) -> Mapping[str, Value]:
        return {"AOIHeight": rows, "AOIWidth": cols}

    def power(self, rig: Rig, on: bool) -> None:
        self.ioc.start() if on else self.ioc.stop()

    def leave_settings(self, rig: Rig) -> None:
        for name, value in (("AcquireTime", 0.5), ("AcquirePeriod", 1.0), ("TriggerMode", 1), ("SizeX", 10)):
            self.ioc.put(name, value)

    @pytest.mark.slow
    def test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        super().test_a_power_cut_in_a_series_is_a_fault_and_the_next_series_is_whole(rig, mode)

    @pytest.mark.slow
    def test_after_a_power_cut_between_series_the_next_one_is_whole(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        super().test_after_a_power_cut_between_series_the_next_one_is_whole(rig, mode)


@pytest.fixture
def rig(ioc: SimulatedIoc) -> Iterator[Rig]:
    """An engine with the camera."""
    found = Rig(TestAreaDetector().open(), buffers=64 * 2**20)
    found.connect()
    yield found
    found.__exit__(None, None, None)


def take(rig: Rig, frames: int, **changes: Any) -> tuple[list[Frame], SeriesEnd]:
    """An INTERNAL series; its frames and its end."""
    rig.arm(n_triggers=frames, exposure_time=0.001, **changes)
    _, found, end = rig.receive_series()
    rig.until_state("idle")
    return found, end


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param((0,), marks=pytest.mark.slow),
        (3, 50, 99),
        pytest.param((0, 1, 98, 99), marks=pytest.mark.slow),
    ],
)
def test_what_is_lost_in_epics_is_missing_at_its_index(
    lost: tuple[int, ...], ioc: SimulatedIoc, rig: Rig
) -> None:
    take(rig, 3)  # the counter runs on
    ioc.lost = lost
    frames, end = take(rig, 100)
    assert [frame.image.frame for frame in frames] == [n for n in range(100) if n not in lost]
    for frame in frames:  # each with its own pixels: the counter of the array, which begins with 1
        number = frame.image.frame
        assert number is not None
        pixels = np.frombuffer(frame.blobs[0], np.uint16).reshape(256, 320)
        assert (pixels[1:] == (3 + number + 1) % 100).all()
    assert (end.reason, end.triggered, end.lost) == ("complete", 100, {"camera": len(lost)})
    ioc.lost = ()
    assert take(rig, 3)[1].lost is None


@pytest.mark.slow
def test_one_series_of_large_frames_follows_the_other() -> None:
    """An IOC whose connection is full of a large array refuses subscriptions."""
    ioc = SimulatedIoc(shape=(4096, 4096), dtype="uint8")
    with Rig(AreaDetector({**MODES, "NameServers": ioc.address}), buffers=2**27) as rig:
        rig.connect()
        for _ in range(3):
            frames, end = take(rig, 2)
            assert (end.reason, len(frames)) == ("complete", 2)
    ioc.close()


def test_the_counter_wraps(ioc: SimulatedIoc, rig: Rig) -> None:
    ioc.put("ArrayCounter", 2**31 - 3)
    ioc.records["ArrayCounter_RBV"].post(2**31 - 3)
    ioc.lost = (4,)
    frames, end = take(rig, 6)
    assert [frame.image.frame for frame in frames] == [0, 1, 2, 3, 5]
    assert (end.triggered, end.lost) == (6, {"camera": 1})


@pytest.mark.parametrize(
    ("codec", "compression"), [("", "none"), ("bslz4", "bslz4"), ("lz4", "lz4"), ("lz4hdf5", "lz4")]
)
def test_packed_frames_are_chunks_of_hdf5_byte_by_byte(
    codec: str, compression: str, ioc: SimulatedIoc, rig: Rig, tmp_path: Path
) -> None:
    ioc.codec = codec
    ioc.show_codec(codec)  # as the last array before the series has it
    frames, end = take(rig, 3)
    assert end.reason == "complete"
    pixels = ioc.pixels(2)
    with h5py.File(tmp_path / "x.h5", "w") as file:  # as the library of HDF5's filters packs it
        filters = {} if compression == "none" else {
            "bslz4": dict(hdf5plugin.Bitshuffle(cname="lz4")), "lz4": dict(hdf5plugin.LZ4())
        }[compression]  # fmt: skip
        data = file.create_dataset("data", data=pixels, chunks=pixels.shape, **filters)
        chunk = data.id.read_direct_chunk((0, 0))[1]
    assert frames[1].image.compression == compression
    assert bytes(frames[1].blobs[0]) == chunk


def test_a_raw_lz4_block_as_long_as_its_pixels_is_not_taken_for_plain_pixels() -> None:
    library, pixels = lz4._library(), np.random.default_rng(1).integers(0, 256, 4096, np.uint8)
    block = np.zeros(8192, np.uint8)
    used = 0
    for repeated in range(200):  # until the block is as long as its pixels
        pixels[:repeated] = 7
        used = library.LZ4_compress_default(pixels.ctypes.data, block.ctypes.data, pixels.nbytes, len(block))
        if used == pixels.nbytes:
            break
    assert used == pixels.nbytes
    buffer = np.zeros(8192, np.uint8)
    end = payload.write("lz4", block[:used], pixels.nbytes, buffer)
    unpacked = lz4.decompress(buffer[:end].tobytes(), 4096, np.dtype("u1"))
    np.testing.assert_array_equal(unpacked, pixels)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda ioc: ioc.stop(), "the IOC is lost at index 1: SIM:Pva1:Image is disconnected; start"),
        (lambda ioc: ioc.records["ArrayCounter_RBV"].post(0), "ArrayCounter_RBV was set back to 0 at ind"),
        (lambda ioc: ioc.put("NumImages", 7), "NumImages_RBV was set to 7 at index 1, by another client"),
        (lambda ioc: ioc.put("AcquireTime", 0.5), "AcquireTime_RBV was set to 0.5 at index 1, by another cl"),
        (lambda ioc: setattr(ioc, "codec", "bslz4"), "frame 1 has codec bslz4, and those before none"),
        (lambda ioc: ioc.put("SizeX", 32), "SizeX was set to 32 at index 1, by another client: it was 320"),
        (lambda ioc: ioc.put("AcquirePeriod", 0.1), "AcquirePeriod was set to 0.1 at index 1, by another"),
        (lambda ioc: ioc.records["ArraySizeX_RBV"].post(32), "frame 1 has 256 x 32 pixels, and 256 x 320 w"),
        (lambda ioc: setattr(ioc, "dtype", np.dtype("int32")), "frame 1 has pixels of int32, and uint16 was"),
    ],
)  # fmt: skip
def test_what_others_change_in_a_series_ends_it_in_words(
    change: Callable[[SimulatedIoc], None], says: str, ioc: SimulatedIoc, rig: Rig
) -> None:
    ioc.put("ArrayCounter", 5)
    ioc.records["ArrayCounter_RBV"].post(5)
    rig.arm(n_triggers=9, exposure_time=0.001, trigger_mode=TriggerMode.EXTERNAL_MULTI)
    ioc.edge()
    rig.until(lambda status: status.acquired == 1)
    until(lambda: ioc.value("NumImagesCounter_RBV") == 1, "the driver has counted the frame")
    change(ioc)
    if "frame 1" in says:
        ioc.edge()
    message = rig.until_state("fault").message
    assert re.search(says, message), message
    assert "is lost" in says or ioc.value("Acquire") == 0  # it does not go on exposing


def one_frame_then_forward(ioc: SimulatedIoc, rig: Rig) -> None:
    """A series of which one frame has come when somebody sets the counter forward by three."""
    take(rig, 2)
    rig.arm(n_triggers=9, exposure_time=0.001, trigger_mode=TriggerMode.EXTERNAL_MULTI)
    ioc.edge()
    rig.until(lambda status: status.acquired == 1)
    until(lambda: ioc.value("NumImagesCounter_RBV") == 1, "the driver has counted the frame")
    ioc.put("ArrayCounter", ioc.value("ArrayCounter_RBV") + 3)


@pytest.mark.parametrize(
    ("goes_on", "says"),
    [
        (SimulatedIoc.edge, "it is 7, 5 frames after the begin, and the driver has made 2"),
        (lambda ioc: ioc.put("Acquire", 0), "it is 6, 4 frames after the begin, and the driver has made 1"),
    ],
)  # fmt: skip
def test_a_counter_that_was_set_forward_is_a_fault_and_no_frames_are_missing(
    goes_on: Callable[[SimulatedIoc], None], says: str, ioc: SimulatedIoc, rig: Rig
) -> None:
    one_frame_then_forward(ioc, rig)
    goes_on(ioc)
    message = rig.until_state("fault").message
    assert re.search(f"ArrayCounter_RBV was set forward at index 1, by another client: {says}", message)
    _, frames, end = rig.receive_series()
    assert [frame.image.frame for frame in frames] == [0]  # none at the index of another one
    assert end.reason == "fault"


@pytest.mark.parametrize("is_there", [True, False])
def test_of_a_driver_that_counts_no_images_a_jump_is_frames_that_are_missing(
    is_there: bool, ioc: SimulatedIoc, monkeypatch: pytest.MonkeyPatch
) -> None:
    images = ioc.records["NumImagesCounter_RBV"]
    if is_there:  # and stays at 0
        monkeypatch.setattr(images, "post", lambda value: None)
    else:
        ioc.stop()
        del ioc.records["NumImagesCounter_RBV"]
        ioc.start()
        ioc.records["NumImagesCounter_RBV"] = images
    with Rig(TestAreaDetector().open(), buffers=64 * 2**20) as rig:
        rig.connect()
        ioc.lost = (3, 5, 9)
        frames, end = take(rig, 10)
        assert [frame.image.frame for frame in frames] == [0, 1, 2, 4, 6, 7, 8]
        assert (end.reason, end.lost) == ("complete", {"camera": 3})


def test_images_that_are_counted_late_are_no_fault(
    ioc: SimulatedIoc, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    images, held = ioc.records["NumImagesCounter_RBV"], list[int]()
    post, get = images.post, Ioc.get

    def late(self: Ioc, names: list[str], **limit: float) -> list[Reading | None]:
        found = get(self, names, **limit)
        while held and "SIM:cam1:NumImagesCounter_RBV" in names:  # which the next question finds
            post(held.pop(0))
        return found

    monkeypatch.setattr(images, "post", lambda value: held.append(value) if value >= 3 else post(value))
    monkeypatch.setattr(Ioc, "get", late)
    monkeypatch.setattr(arrays, "SETTLE", DEADLINE)
    ioc.lost = (2,)
    assert take(rig, 5)[1].lost == {"camera": 1}
    assert ioc.value("NumImagesCounter_RBV") == 5 and not held


def test_an_array_of_before_that_comes_between_look_and_wait_is_not_waited_for(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    come, looked = Event(), list[None]()
    subscribe, take_update = Ioc.subscribe, Subscription.take

    def watched(self: Ioc, name: str, tell: Callable[[], None], queue: int) -> Subscription:
        return subscribe(self, name, lambda: (tell(), come.set())[0], queue)

    def late(self: Subscription) -> Any:
        looked.append(None)
        if len(looked) > 1:
            return take_update(self)
        assert come.wait(DEADLINE)
        return None  # as if it had looked before

    monkeypatch.setattr(Ioc, "subscribe", watched)
    monkeypatch.setattr(Subscription, "take", late)
    assert take(rig, 3)[1].reason == "complete"


def test_the_last_array_of_before_is_no_frame_of_a_series_whose_counter_was_reset(
    ioc: SimulatedIoc, rig: Rig
) -> None:
    take(rig, 3)
    ioc.put("ArrayCounter", 0)  # as scan programs do: the array of before has the number 3
    ioc.records["ArrayCounter_RBV"].post(0)
    for planned in (1, 3, 5):
        before = ioc.value("ArrayCounter_RBV")
        frames, end = take(rig, planned)
        assert (end.reason, end.lost) == ("complete", None)
        for index, frame in enumerate(frames):
            pixels = np.frombuffer(frame.blobs[0], np.uint16).reshape(256, 320)
            assert (pixels[1:] == before + index + 1).all()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (lambda array: array.update({"codec.parameters": 10}), "pixels of float64, and uint16 was"),
        (lambda array: array.update({"codec.parameters": "x"}), None),
    ],
)
def test_packed_pixels_are_of_the_type_that_was_announced(
    harm: Callable[[dict[str, Any]], None], says: str | None, ioc: SimulatedIoc, rig: Rig,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    ioc.codec = "bslz4"
    ioc.show_codec("bslz4")
    made, changed = ioc._array, dict[str, Any]()
    harm(changed)

    def other(counter: int) -> Any:
        array = made(counter)
        for name, value in changed.items():
            array[name] = value
        return array

    monkeypatch.setattr(ioc, "_array", other)
    rig.arm(n_triggers=1, exposure_time=0.001)
    if says is None:  # it does not say which: the driver's DataType holds
        assert len(rig.receive_series()[1]) == 1
    else:
        assert says in rig.until_state("fault").message


def test_arrays_that_are_cut_short_twice_there_or_without_a_time_are_what_they_are(
    ioc: SimulatedIoc, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = ioc._array

    def without_time(counter: int) -> Any:
        array = made(counter)
        array["dataTimeStamp"] = {"secondsPastEpoch": 631152000, "nanoseconds": 0, "userTag": 0}
        ioc.image.post(array)  # and once more behind this
        return array

    with monkeypatch.context() as other:
        other.setattr(ioc, "_array", without_time)
        frames, end = take(rig, 3)
    assert [frame.image.timestamp_hw for frame in frames] == [None] * 3 and end.reason == "complete"

    def short(counter: int) -> Any:
        array = made(counter)
        array["value"] = ("ushortValue", np.zeros(100, np.uint16))
        return array

    monkeypatch.setattr(ioc, "_array", short)
    rig.arm(n_triggers=1, exposure_time=0.001)
    assert "a frame has 200 bytes of pixels, and its size 163,840" in rig.until_state("fault").message


def test_a_driver_that_another_client_has_started_is_left_alone(ioc: SimulatedIoc, rig: Rig) -> None:
    prepared = rig.camera.prepare

    def started_meanwhile(*arguments: Any) -> Any:
        found = prepared(*arguments)
        ioc.put("TriggerMode", 1)
        ioc.put("Acquire", 1)
        return found

    with pytest.MonkeyPatch.context() as other:
        other.setattr(rig.camera, "prepare", started_meanwhile)
        with pytest.raises(Refused, match="Acquire is Acquire already: another client has started the dri"):
            rig.arm(n_triggers=3, exposure_time=0.001)
    assert ioc.value("Acquire") == 1
    ioc.put("Acquire", 0)


def test_a_driver_that_others_stop_ends_the_series_with_what_was_taken(ioc: SimulatedIoc, rig: Rig) -> None:
    rig.arm(n_triggers=9, exposure_time=0.001, trigger_mode=TriggerMode.EXTERNAL_MULTI)
    ioc.edge()
    rig.until(lambda status: status.acquired == 1)
    ioc.put("Acquire", 0)
    message = rig.until_state("fault").message
    assert (
        "SIM:cam1:Acquire went to Done at index 1: another client or the driver itself has ended" in message
    )


@pytest.mark.parametrize(
    ("harm", "changes", "says"),
    [
        (
            {},
            {"codec": "blosc"},
            "packed by the codec blosc, which no file here can have; set the codec",
        ),
        ({"ColorMode_RBV": 1}, {}, "ColorMode is Bayer; only Mono"),
        ({"ADCoreVersion_RBV": "3.2.0"}, {}, "has ADCore 3.2.0; 3.3.1 or later is needed"),
    ],
)
def test_arm_says_what_is_not_taken(
    harm: Mapping[str, Any], changes: Mapping[str, Any], says: str, ioc: SimulatedIoc, rig: Rig
) -> None:
    for name, value in harm.items():
        ioc.records[name].post(value)
    if "codec" in changes:
        ioc.show_codec(changes["codec"])
    with pytest.raises(Refused, match=says):
        done(rig.engine.prepare(settings(n_triggers=1)))


@pytest.mark.parametrize(
    ("region", "says", "shape"),
    [
        ({"AOILeft": 100}, "AOILeft is 100, and the .* has 96 columns now: set it to 95 at most", (64, 95)),
        ({"AOITop": 64}, "AOITop is 64, and the .* has 64 rows now: set it to 63 at most", (63, 96)),
        (
            {"AOILeft": 90, "AOIWidth": 7},
            "AOIWidth is 7 from AOILeft 90 on, .*: set it to 6 at most",
            (64, 1),
        ),
        ({"AOIHeight": 120, "BinningY": 2}, "AOIHeight is 120 from .*: set it to 64 at most", (1, 96)),
    ],
)
def test_a_region_that_the_sensor_has_no_more_is_refused_at_arm(
    region: Mapping[str, Value], says: str, shape: tuple[int, int], ioc: SimulatedIoc, rig: Rig
) -> None:
    done(rig.engine.set(region))
    ioc.stop()
    smaller = SimulatedIoc(port=int(ioc.address.rpartition(":")[2]), shape=(64, 96))
    try:
        with pytest.raises(Refused, match=says):
            done(rig.engine.prepare(settings(n_triggers=1)))
        done(rig.engine.set(dict.fromkeys(region, 1)))
        assert done(rig.engine.prepare(settings(n_triggers=1))).shape == shape
    finally:
        smaller.close()


def test_the_file_has_the_region_and_the_binning_as_the_driver_has_made_them(
    ioc: SimulatedIoc, rig: Rig
) -> None:
    rig.arm(n_triggers=1, exposure_time=0.001, camera={"AOILeft": 20, "AOIHeight": 64, "BinningX": 2})
    start, (frame,), _ = rig.receive_series()
    assert frame.image.shape == (64, 150)
    assert start.metadata["region"] == {
        "left": 20, "top": 0, "width": 300, "height": 64, "binning_x": 2, "binning_y": 1,
    }  # fmt: skip


def test_the_stand_in_has_no_pixels_beyond_its_sensor(ioc: SimulatedIoc) -> None:
    ioc.put("MinX", 300)
    assert (ioc.value("SizeX_RBV"), ioc.value("ArraySizeX_RBV")) == (20, 20)
    ioc.put("MinX", 400)
    assert (ioc.value("MinX_RBV"), ioc.value("SizeX_RBV")) == (319, 1)


def test_a_counter_that_is_set_while_the_stand_in_counts_a_frame_stays_set(
    ioc: SimulatedIoc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a test that sets it back would now and then wait in vain."""
    post, client = ioc.image.post, Thread(target=ioc.put, args=("ArrayCounter", 70))

    def meanwhile(array: Any) -> None:
        client.start()
        client.join(0.2)  # it must wait for the end of this frame
        post(array)

    monkeypatch.setattr(ioc.image, "post", meanwhile)
    ioc.put("ImageMode", 0)
    ioc.put("Acquire", 1)
    until(lambda: not ioc.value("Acquire_RBV"), "taken")
    client.join()
    assert (ioc.value("UniqueId_RBV"), ioc.value("ArrayCounter_RBV")) == (1, 70)


def test_a_mode_without_the_drivers_name_for_it_is_refused_with_the_property(ioc: SimulatedIoc) -> None:
    camera = AreaDetector({**MODES, "NameServers": ioc.address, "ModeExternal": ""})
    try:
        with pytest.raises(
            CameraError, match="set the property ModeExternal to the driver's choice of Trigg"
        ):
            camera.check(settings(trigger_mode=TriggerMode.EXTERNAL))
        with pytest.raises(CameraError, match="set nFramesPerTrigger to 1"):
            camera.check(settings(trigger_mode=TriggerMode.EXTERNAL_MULTI, n_frames_per_trigger=2))
    finally:
        camera.close()


@pytest.mark.parametrize(
    ("unit", "says"),
    [
        ({"DriverPrefix": "NO:"}, "no answer from NO:ADCoreVersion_RBV, .*; does the IOC run, with ADCore 3"),
        ({"DriverPrefix": "SIM:cam1"}, "DriverPrefix SIM:cam1 does not end with a colon"),
        ({"ModeSoftware": "Software", "SoftwareTriggerRecord": ""}, "SoftwareTriggerRecord is not: name"),
        ({"ShownRecords": "Gain Nonsense @a:b"}, "no answer from SIM:cam1:Nonsense, a:b: correct the prop"),
        ({"NameServers": "5075"}, "NameServers has 5075; give HOST:PORT, such as ioc-1:5075"),
    ],
)
def test_an_ioc_that_does_not_answer_is_named_with_the_remedy(
    unit: Mapping[str, Any], says: str, ioc: SimulatedIoc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.devices.areadetector.FIRST_SECONDS", 0.2)
    with pytest.raises(CameraError, match=says):
        AreaDetector({**MODES, "NameServers": ioc.address} | dict(unit))


def test_only_trigger_modes_that_a_property_names_are_offered(ioc: SimulatedIoc) -> None:
    camera = AreaDetector({**MODES, "NameServers": ioc.address, "ModeSoftware": "", "ModeExternal": ""})
    assert camera.trigger_modes == (TriggerMode.INTERNAL, TriggerMode.EXTERNAL_MULTI)
    camera.close()


def test_records_of_a_driver_are_shown_with_unit_and_limits_and_filed(ioc: SimulatedIoc) -> None:
    names = "Temperature_RBV @SIM:cam1:DetectorState_RBV, Gain"
    camera = AreaDetector({**MODES, "NameServers": ioc.address, "ShownRecords": names})
    try:
        shown = {parameter.name: parameter for parameter in camera.shown()}
        assert list(shown) == ["Temperature_RBV", "SIM_cam1_DetectorState_RBV", "Gain_record"]
        assert (shown["Temperature_RBV"].unit, shown["Temperature_RBV"].default) == ("degC", 20.0)
        assert camera.read("SIM_cam1_DetectorState_RBV") == "Idle"
        assert camera.describe()["records"] == {
            "Temperature_RBV": 20.0, "@SIM:cam1:DetectorState_RBV": "Idle", "Gain": 1.0,
        }  # fmt: skip
        assert not shown["Temperature_RBV"].writable
        camera.close()
        camera = AreaDetector(
            {
                **MODES,
                "NameServers": ioc.address,
                "ShownRecords": "NumExposures ReverseX Gain Temperature_RBV",
            }
        )
        assert camera.set_feature("NumExposures", "3").value == ioc.value("NumExposures") == 3
        assert camera.set_feature("reversex", "Yes").value == "Yes"
        assert [each.set_by for each in camera.list_features()] == [
            "",
            "",
            "Arm writes it",
            "it is a readback",
        ]
        for name, value, says in (
            ("Gain_record", 2, "Arm writes it"), ("ReverseX", "Maybe", "has no choice Maybe; it has No, Yes"),
            ("NumExposures", "many", "NumExposures is many; give an integer"), ("Foo", 1, "none of the prop"),
        ):  # fmt: skip
            with pytest.raises(CameraError, match=says):
                camera.set_feature(name, value)
        ioc.records["Temperature_RBV"].alarm(3, "no sensor")
        with pytest.raises(CameraError, match="SIM:cam1:Temperature_RBV is INVALID: no sensor"):
            camera.read("Temperature_RBV")
        assert "Temperature_RBV" not in camera.describe()["records"]  # type: ignore[operator]
    finally:
        camera.close()


def test_a_wrong_image_record_is_named_at_arm(ioc: SimulatedIoc) -> None:
    camera = AreaDetector({**MODES, "NameServers": ioc.address, "ImageRecord": "SIM:Pva1:Imag"})
    defaults = {parameter.name: parameter.default for parameter in camera.parameters if parameter.writable}
    try:
        with pytest.raises(CameraError, match="no answer from SIM:Pva1:Imag; is the PVA plugin loaded"):
            camera.prepare(settings(n_triggers=1, exposure_time=0.001, camera=defaults))
    finally:
        camera.close()


def test_an_ioc_that_is_back_is_no_trouble_any_more(ioc: SimulatedIoc) -> None:
    camera = TestAreaDetector().open()
    try:
        ioc.stop()
        with pytest.raises(CameraError, match="no answer from SIM:cam1:ArrayCounter_RBV"):
            camera.read("ArrayCounter")
        assert camera.trouble() == "The IOC of SIM:cam1: does not answer"
        ioc.start()
        until(lambda: not camera.trouble(), "it answers", deadline=5.0)  # the library itself looks every 10 s
        assert camera.read("ArrayCounter") == 0
    finally:
        camera.close()


def test_the_port_of_another_ioc_is_not_taken(ioc: SimulatedIoc) -> None:
    with pytest.raises(RuntimeError, match="the port is taken"):
        SimulatedIoc(port=int(ioc.address.rpartition(":")[2]))


def test_a_trigger_that_the_driver_does_not_take_is_a_fault_with_the_record(ioc: SimulatedIoc) -> None:
    unit = {**MODES, "NameServers": ioc.address, "SoftwareTriggerRecord": "ArrayCounter_RBV"}
    with Rig(AreaDetector(unit), buffers=2**24) as rig:
        rig.connect()
        rig.arm(n_triggers=2, exposure_time=0.001, trigger_mode=TriggerMode.SOFTWARE)
        rig.until(lambda status: status.ready_for_trigger)
        rig.engine.trigger()
        said = rig.until_state("fault").message
        assert "SIM:cam1:ArrayCounter_RBV does not take 1: " in said and said.endswith(", at index 0")
