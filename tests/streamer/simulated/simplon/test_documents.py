"""The REST interface of the simulated control unit as DECTRIS' documents have it, over its real sockets."""

from __future__ import annotations

import base64
import http.client
import io
import json
import time
from collections.abc import Iterator

import numpy as np
import pytest
from fabio.tifimage import TifImage

from penstock.streamer.simulated import patterns
from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.streamer.simulated.simplon.client import SENSOR, Client


@pytest.fixture(scope="module")
def unit() -> Iterator[ControlUnit]:
    with ControlUnit(stream="legacy", sensor=SENSOR) as box:
        yield box


@pytest.fixture
def client(unit: ControlUnit) -> Iterator[Client]:
    """That of a box that was just switched on and initialised."""
    unit.power(False)
    unit.power(True)
    client = Client(unit)
    client.put("count_time", 0.001)
    client.put("frame_time", 0.002)
    yield client
    client.close()


def asked(client: Client, method: str, path: str) -> tuple[int, bytes, float]:
    """Status, body and seconds of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", client.box.http_port, timeout=10)
    begun = time.monotonic()
    connection.request(method, path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, time.monotonic() - begun


def image_of(client: Client, name: str) -> np.ndarray:
    status, body, _ = asked(client, "GET", f"/monitor/api/1.8.0/images/{name}")
    assert status == 200
    return np.asarray(TifImage().read(io.BytesIO(body)).data)


def take(client: Client, images: int = 1) -> int:
    """Take a series; its number."""
    client.put("nimages", images)
    number = client.call("PUT", "detector/command/arm")["sequence id"]
    client.call("PUT", "detector/command/trigger")
    return int(number)


def test_a_box_that_is_not_initialised_has_only_its_state(client: Client) -> None:
    client.box.power(False)
    client.box.power(True)
    assert client.get("detector/status/state") == "na"
    for path in ("detector/config/count_time", "stream/config/mode", "detector/status/temperature"):
        assert client.status_of("GET", path) == 404
    assert client.status_of("PUT", "detector/config/count_time", 0.1) == 404
    assert client.status_of("PUT", "detector/command/arm") == 400
    client.call("PUT", "detector/command/initialize")
    assert client.get("detector/config/count_time") == 0.01


def test_stream_and_file_writer_acquire_from_arm_to_the_end(client: Client) -> None:
    """SIMPLON API 1.8, p. 47."""
    states = ("stream/status/state", "filewriter/status/state")
    client.call("PUT", "filewriter/config/mode", "enabled")
    assert [client.get(path) for path in states] == ["ready", "ready"]
    client.call("PUT", "detector/command/arm")
    assert [client.get(path) for path in states] == ["acquire", "acquire"]
    client.call("PUT", "detector/command/disarm")
    for name in ("stream", "filewriter"):
        client.call("PUT", f"{name}/config/mode", "disabled")
    assert [client.get(path) for path in states] == ["disabled", "disabled"]


def test_what_was_dropped_is_counted_from_arm_and_the_stream_is_off_after_its_initialize(
    client: Client,
) -> None:
    """SIMPLON API 1.8, p. 47."""
    client.box.faults.drop_stream = True
    take(client)
    assert client.get("stream/status/dropped") == 3
    client.box.faults.drop_stream = False
    client.call("PUT", "detector/command/arm")
    assert client.get("stream/status/dropped") == 0
    client.call("PUT", "detector/command/abort")
    client.box.faults.drop_stream = True
    take(client)
    client.box.faults.drop_stream = False
    client.call("PUT", "stream/command/initialize")
    assert client.get("stream/status/dropped") == 0
    assert client.get("stream/config/mode") == "disabled"


def test_initialize_counts_series_from_1_again(client: Client) -> None:
    """UM 7.3.1."""
    assert [take(client), take(client)] == [1, 2]
    client.call("PUT", "detector/command/initialize")
    assert take(client) == 1


def test_arrays_are_rows_by_columns_in_both_directions(client: Client) -> None:
    """As a client of NumPy writes and reads them; the answers of a real EIGER 500K say [514, 1030]."""
    mask = np.arange(np.prod(SENSOR), dtype=np.uint32).reshape(SENSOR)
    data = {
        "__darray__": [1, 0, 0], "type": mask.dtype.str, "shape": list(mask.shape), "filters": ["base64"],
        "data": base64.b64encode(mask.tobytes()).decode(),
    }  # fmt: skip
    assert client.put("pixel_mask", data) == ["pixel_mask", "threshold/1/pixel_mask"]
    got = client.get("detector/config/pixel_mask")
    assert got["shape"] == [*SENSOR]
    read = np.frombuffer(base64.b64decode(got["data"]), got["type"]).reshape(got["shape"])
    assert np.array_equal(read, mask)
    assert client.status_of("PUT", "detector/config/pixel_mask", data | {"shape": [*SENSOR[::-1]]}) == 400

    assert asked(client, "DELETE", "/detector/api/1.8.0/config/pixel_mask")[0] == 200
    assert not np.frombuffer(base64.b64decode(client.get("detector/config/pixel_mask")["data"]), "<u4").any()
    assert asked(client, "DELETE", "/detector/api/1.8.0/config/count_time")[0] == 403


def test_the_monitor_gives_images_by_turn_and_by_number(client: Client) -> None:
    """SIMPLON API 1.8, "Monitor Subsystem"."""
    client.call("PUT", "monitor/config/mode", "enabled")
    number = take(client, 3)
    assert client.call("GET", "monitor/images") == [[number, [0, 1, 2]]]
    assert client.get("monitor/status/buffer_fill_level") == [3, 100]
    assert client.get("monitor/status/buffer_free") == 97
    frames = [patterns.gradient(SENSOR, "uint16", frame) for frame in range(3)]
    assert np.array_equal(image_of(client, f"{number}/1"), frames[1])
    assert np.array_equal(image_of(client, f"{number}/1/1"), frames[1])
    for absent in ("99/0", f"{number}/3", f"{number}/1/2", "nothing"):
        assert asked(client, "GET", f"/monitor/api/1.8.0/images/{absent}")[0] == 404
    assert np.array_equal(image_of(client, "next"), frames[0])
    assert np.array_equal(image_of(client, "next"), frames[1])
    assert np.array_equal(image_of(client, "monitor"), frames[2])
    client.call("PUT", "monitor/command/clear")
    assert client.call("GET", "monitor/images") == []
    status, _, seconds = asked(client, "GET", "/monitor/api/1.8.0/images/next")
    assert status == 408 and seconds >= 0.5
    status, _, seconds = asked(client, "GET", "/monitor/api/1.8.0/images/monitor?timeout=20")
    assert status == 408 and seconds >= 0.02
    assert asked(client, "GET", "/monitor/api/1.8.0/images/next?timeout=soon")[0] == 400


@pytest.mark.parametrize("compression", ["bslz4", "lz4", "none"])
def test_every_compression_can_be_armed(client: Client, compression: str) -> None:
    client.put("compression", compression)
    client.call("PUT", "monitor/config/mode", "enabled")
    take(client)
    assert np.array_equal(image_of(client, "next"), patterns.gradient(SENSOR, "uint16", 0))


@pytest.mark.parametrize(
    ("subsystem", "commands"),
    [
        ("detector", {"initialize", "arm", "disarm", "trigger", "cancel", "abort", "check_connections"}),
        ("stream", {"initialize"}),
        ("monitor", {"initialize", "clear"}),
        ("filewriter", {"initialize", "clear"}),
        ("system", {"restart"}),
    ],
)
def test_each_subsystem_has_its_commands(client: Client, subsystem: str, commands: set[str]) -> None:
    listed = client.call("GET", f"{subsystem}/command/keys")
    assert commands <= set(listed)
    for name in {"initialize", "clear", "check_connections", "status_update", "hv_reset"} & set(listed):
        assert isinstance(client.call("PUT", f"{subsystem}/command/{name}"), dict)
    assert client.status_of("PUT", f"{subsystem}/command/nothing") == 404
    assert client.status_of("GET", f"{subsystem}/command/nothing") == 404


def test_a_restart_of_the_system_leaves_a_box_that_is_not_initialised(client: Client) -> None:
    assert client.call("GET", "system/config/keys") == client.call("GET", "system/status/keys") == []
    client.call("PUT", "detector/command/arm")
    client.call("PUT", "system/command/restart")
    assert client.get("detector/status/state") == "na"


def test_files_that_nobody_has_written_are_not_there(client: Client) -> None:
    """ADEiger asks for them by HEAD and removes them by DELETE."""
    for method in ("HEAD", "GET", "DELETE"):
        status, body, _ = asked(client, method, "/data/series_1_master.h5")
        assert status == 404 and (method != "HEAD" or not body)


def test_the_first_image_of_a_series_begins_at_0(client: Client) -> None:
    """SIMPLON API 1.8, p. 46: nanoseconds since the first image."""
    client.call("PUT", "detector/command/initialize")
    client.put("count_time", 0.001)
    client.put("frame_time", 0.01)
    take(client, 3)
    images = client.receive(5)[1:4]
    begins = [json.loads(image[3])["start_time"] for image in images]
    assert begins == pytest.approx([0, 10_000_000, 20_000_000], abs=1000)
