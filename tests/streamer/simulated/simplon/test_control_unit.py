"""The simulated control unit over its real sockets."""

from __future__ import annotations

import json
import urllib.error
from threading import Thread
from typing import Any

import cbor2
import numpy as np
import pytest

from penstock.cli._recordings import recording as recordings
from penstock.codecs import bslz4
from penstock.devices._detector.live_image import MonitorImage
from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from penstock.streamer.simulated.triggers import TriggerSource
from tests.data import EIGER_V1, EIGER_V2, recording
from tests.streamer.simulated.simplon.client import SENSOR, Client, decoded


def test_a_software_trigger_takes_its_images_and_returns_when_the_box_is_idle(client: Client) -> None:
    client.put("nimages", 3)

    assert client.call("PUT", "detector/command/arm") == {"sequence id": 1}
    assert client.get("detector/status/state") == "ready"
    client.call("PUT", "detector/command/trigger")

    assert client.get("detector/status/state") == "idle"
    _, *frames, end = decoded(client, client.receive(5))
    assert isinstance(end, SeriesEnd)
    for number, frame in enumerate(frames):
        assert isinstance(frame, Frame) and frame.image.frame == number
        image = bslz4.decompress(frame.blobs[0], 32 * 48, np.dtype(frame.image.type)).reshape(SENSOR)
        assert np.array_equal(image, patterns.gradient(SENSOR, frame.image.type, number))


@pytest.mark.parametrize(
    ("set_up", "dtype"),
    [
        ({"count_time": 0.001}, "uint16"),
        ({"count_time": 0.05}, "uint32"),
    ],
)
def test_the_monitor_has_the_newest_image_as_a_tiff(set_up: dict[str, Any], dtype: str) -> None:
    with ControlUnit(sensor=SENSOR) as box:
        client = Client(box)
        address = f"http://127.0.0.1:{box.http_port}/monitor/api/1.8.0/images/monitor"
        client.call("PUT", "monitor/config/mode", "enabled")
        assert client.status_of("GET", "monitor/images/monitor") == 408, "no image yet"
        assert MonitorImage().newer(address) is None
        for key, value in {**set_up, "nimages": 2}.items():
            client.put(key, value)
        client.call("PUT", "detector/command/arm")
        client.call("PUT", "detector/command/trigger")
        monitor = MonitorImage()
        image = monitor.newer(address)
        assert image is not None
        assert image.dtype == dtype
        assert np.array_equal(image, patterns.gradient(SENSOR, dtype, 1))
        assert monitor.newer(address) is None, "the same again"
        client.close()


def test_edges_of_the_trigger_source_take_frames(client: Client) -> None:
    client.put("trigger_mode", "exte")
    client.put("ntrigger", 2)
    client.call("PUT", "detector/command/arm")
    host, _, port = client.box.trigger_address.rpartition(":")
    source = TriggerSource((host, int(port)))
    client.receive(1)

    for number in range(2):
        source.pulse(0.001)
        (frame,) = client.receive(1)
        assert frame, number

    source.close()
    client.receive(1)
    assert client.status_of("PUT", "detector/command/trigger") == 400


def frame_numbers(messages: list[Any]) -> list[int]:
    """The number that the simulator has put into the pixels of each frame."""
    numbers = []
    for message in messages:
        if isinstance(message, Frame):
            pixels = bslz4.decompress(message.blobs[0], 32 * 48, np.dtype(message.image.type))
            numbers.append(patterns.frame_number(pixels.reshape(SENSOR)))
    return numbers


@pytest.mark.parametrize(("distance", "taken"), [(1.0, 100), (0.6, 50)], ids=["least distance", "too close"])
def test_edges_are_judged_by_their_own_time(client: Client, distance: float, taken: int) -> None:
    """However they round, and however late a computer looks at them; too close, every other is missed."""
    client.put("trigger_mode", "exts")
    client.put("ntrigger", taken)
    client.put("count_time", 0.001)
    client.put("frame_time", 0.0011)
    least = client.get("detector/config/count_time") + client.get("detector/config/detector_readout_time")
    client.call("PUT", "detector/command/arm")
    host, _, port = client.box.trigger_address.rpartition(":")
    source = TriggerSource((host, int(port)))
    for number in range(100):
        source.pulse(0.0, moment=36035.123456 + number * distance * least)
    source.close()
    messages = decoded(client, client.receive(taken + 2))
    assert frame_numbers(messages) == list(range(taken))


def test_an_energy_moves_thresholds_and_wavelength_and_says_so(client: Client) -> None:
    changed = client.put("photon_energy", 12000.0)

    assert {"photon_energy", "threshold/1/energy", "wavelength", "flatfield"} <= set(changed)
    assert client.get("detector/config/threshold_energy") == 6000.0
    assert client.get("detector/config/wavelength") == pytest.approx(1.0332, abs=1e-4)
    assert "photon_energy" in client.put("element", "Cu")
    assert client.get("detector/config/photon_energy") == 8047.78


def test_wrong_values_unknown_and_fixed_keys_and_states_are_refused(client: Client) -> None:
    assert client.status_of("PUT", "detector/config/nimages", 0) == 400
    assert client.status_of("PUT", "detector/config/compression", "zip") == 400
    assert client.status_of("GET", "detector/config/nothing") == 404
    assert client.status_of("PUT", "detector/config/description", "mine") == 403
    client.call("PUT", "detector/command/arm")
    assert client.status_of("PUT", "detector/config/nimages", 2) == 403
    assert client.status_of("PUT", "detector/command/arm") == 400
    client.call("PUT", "detector/command/disarm")
    assert client.get("detector/status/state") == "idle"


def test_every_key_that_is_listed_can_be_read(client: Client) -> None:
    for subsystem in ("detector", "stream", "monitor", "filewriter"):
        for section in ("config", "status"):
            for key in client.call("GET", f"{subsystem}/{section}/keys"):
                assert "value" in client.call("GET", f"{subsystem}/{section}/{key}")


def test_faults_an_error_on_a_path_a_dropped_stream_and_a_changed_parameter(client: Client) -> None:
    client.box.faults.errors = {"detector/command/arm": 500}
    assert client.status_of("PUT", "detector/command/arm") == 500
    client.box.faults.errors = {}
    client.box.faults.changed = {"nimages": 2}
    assert client.put("beam_center_x", 3.0) == ["beam_center_x", "detector_translation", "nimages"]
    client.box.faults.drop_stream = True
    client.call("PUT", "detector/command/arm")
    client.call("PUT", "detector/command/trigger")
    assert client.get("stream/status/dropped") == 4


def test_power_off_refuses_connections_and_power_on_needs_initialize(client: Client) -> None:
    client.box.power(False)
    with pytest.raises(urllib.error.URLError):
        client.call("GET", "detector/status/state")
    client.box.power(True)
    assert client.get("detector/status/state") == "na"


def test_abort_ends_a_trigger_that_waits(client: Client) -> None:
    client.put("frame_time", 3600.0)
    client.put("nimages", 2)
    client.call("PUT", "detector/command/arm")
    trigger = Thread(target=client.call, args=("PUT", "detector/command/trigger"))
    trigger.start()
    client.receive(2)  # start and image 0; the next one is an hour away
    assert client.get("detector/status/state") == "acquire"

    client.call("PUT", "detector/command/abort")

    trigger.join(10)
    assert not trigger.is_alive()
    assert client.get("detector/status/state") == "idle"


def test_two_thresholds_are_two_channels_of_v2() -> None:
    with ControlUnit(stream="cbor", sensor=SENSOR) as box:
        client = Client(box)
        client.put("threshold/2/mode", "enabled")
        client.call("PUT", "detector/command/arm")
        client.call("PUT", "detector/command/trigger")
        start, image, _ = (cbor2.loads(parts[0]) for parts in client.receive(3))
        assert list(start["channels"]) == list(image["data"]) == ["threshold_1", "threshold_2"]
        client.close()


def test_simplon_1_6_has_no_thresholds_by_number_and_refuses_1_8() -> None:
    with ControlUnit(api="1.6.0", sensor=SENSOR) as box:
        client = Client(box, "1.6.0")
        assert client.status_of("GET", "detector/config/threshold/1/energy") == 404
        assert client.get("detector/status/board_000/th0_temp") == pytest.approx(23.4)
        client.api = "1.8.0"
        assert client.status_of("GET", "detector/status/state") == 400
        client.close()


@pytest.mark.parametrize(("stream", "name"), [("legacy", EIGER_V1), ("cbor", EIGER_V2)])
def test_start_and_image_have_the_keys_and_types_of_a_real_one(stream: str, name: str) -> None:
    real = list(recordings.read(recording(name)))[:2]
    with ControlUnit(stream=stream, sensor=SENSOR) as box:
        client = Client(box)
        client.call("PUT", "stream/config/header_detail", "all")
        client.call("PUT", "stream/config/header_appendix", "{}")
        client.call("PUT", "detector/command/arm")
        client.call("PUT", "detector/command/trigger")
        for ours, theirs in zip(client.receive(3)[:2], real, strict=True):
            assert len(ours) == len(theirs)
            for mine, other in zip(ours, theirs, strict=True):
                if stream == "cbor" or other.startswith(b"{"):
                    load = json.loads if stream == "legacy" else cbor2.loads
                    sent, seen = load(mine), load(other)
                    missing = {k: v for k, v in seen.items() if type(sent.get(k)) is not type(v)}
                    assert set(missing) <= {"filename", "rotate"}
        client.close()
