"""Trigger modes of the simulated control unit, and what it does wrong on request."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from threading import Thread
from typing import Any

import pytest

from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer.simulated.triggers import TriggerSource
from tests.streamer.simulated.simplon.client import Client, decoded

DELAY = 0.4
"""Seconds that a slow call takes longer."""


def frames(client: Client, messages: list[list[bytes]]) -> list[Frame]:
    return [message for message in decoded(client, messages) if isinstance(message, Frame)]


def own(client: Client, method: str, path: str, body: Any = None) -> Any:
    """Of the simulator itself, at its own port."""
    url = f"http://127.0.0.1:{client.box.simulator_port}/simulator/{path}"
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data, method=method), timeout=10) as answer:
        return json.load(answer)


def own_status(client: Client, method: str, path: str, body: Any) -> int:
    with pytest.raises(urllib.error.HTTPError) as refused:
        own(client, method, path, body)
    refused.value.close()
    return refused.value.code


def edges(client: Client, moments: list[float], gate: float) -> None:
    host, _, port = client.box.trigger_address.rpartition(":")
    source = TriggerSource((host, int(port)))
    for moment in moments:
        source.pulse(gate, moment=moment)
    source.close()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_exts_takes_all_images_of_each_edge(client: Client) -> None:
    for key, value in {"trigger_mode": "exts", "nimages": 3, "ntrigger": 2}.items():
        client.put(key, value)
    client.call("PUT", "detector/command/arm")
    edges(client, [1000.0, 1000.1], 0.0)
    taken = frames(client, client.receive(1 + 6 + 1))
    assert [frame.image.frame for frame in taken] == list(range(6))
    assert {frame.image.exposure_time for frame in taken} == {0.001}
    until(lambda: client.get("detector/status/state") == "idle")  # a moment after its end message


def test_inte_exposes_as_long_as_the_trigger_says(client: Client) -> None:
    client.put("trigger_mode", "inte")
    client.put("ntrigger", 2)
    client.call("PUT", "detector/command/arm")
    client.call("PUT", "detector/command/trigger", 0.003)
    assert client.get("detector/status/state") == "ready"
    client.call("PUT", "detector/command/trigger", 0.005)
    taken = frames(client, client.receive(1 + 2 + 1))
    assert [frame.image.exposure_time for frame in taken] == [0.003, 0.005]


def test_exte_exposes_as_long_as_the_gate(client: Client) -> None:
    client.put("trigger_mode", "exte")
    client.put("ntrigger", 2)
    client.call("PUT", "detector/command/arm")
    edges(client, [1000.0, 1000.1], 0.004)
    taken = frames(client, client.receive(1 + 2 + 1))
    assert [frame.image.exposure_time for frame in taken] == [0.004, 0.004]


def test_eies_exposes_from_edge_to_edge_without_a_gap(client: Client) -> None:
    """UM 9.6: one edge more than images."""
    client.put("trigger_mode", "eies")
    assert client.status_of("PUT", "detector/command/arm") == 400, "no image"
    client.put("ntrigger", 4)
    client.call("PUT", "detector/command/arm")
    edges(client, [1000.0, 1000.004, 1000.007, 1000.012], 0.0)
    taken = frames(client, client.receive(1 + 3 + 1))
    assert [frame.image.exposure_time for frame in taken] == pytest.approx([0.004, 0.003, 0.005])
    assert [frame.image.frame for frame in taken] == [0, 1, 2]
    until(lambda: client.get("detector/status/state") == "idle")


def test_eies_skips_edges_within_an_image(client: Client) -> None:
    for key, value in {"trigger_mode": "eies", "ntriggers_skipped": 1, "ntrigger": 5}.items():
        client.put(key, value)
    client.call("PUT", "detector/command/arm")
    edges(client, [1000.0 + 0.002 * number for number in range(5)], 0.0)
    taken = frames(client, client.receive(1 + 2 + 1))
    assert [frame.image.exposure_time for frame in taken] == pytest.approx([0.004, 0.004])


def test_extg_adds_gates_up(client: Client) -> None:
    for key, value in {"trigger_mode": "extg", "nexpi": 3, "ntrigger": 2}.items():
        client.put(key, value)
    client.call("PUT", "detector/command/arm")
    edges(client, [1000.0 + 0.05 * number for number in range(6)], 0.002)
    taken = frames(client, client.receive(1 + 2 + 1))
    assert [frame.image.exposure_time for frame in taken] == pytest.approx([0.006, 0.006])


@pytest.mark.parametrize(
    ("fault", "path", "value", "state"),
    [
        ("slow_arm", "detector/command/arm", None, "configure"),
        ("slow_initialize", "detector/command/initialize", None, "initialize"),
        ("slow_put", "detector/config/photon_energy", 12000.0, "idle"),
    ],
)
def test_a_slow_call_answers_late_and_others_meanwhile(
    client: Client, fault: str, path: str, value: Any, state: str
) -> None:
    own(client, "PUT", "faults", {fault: DELAY})
    took: list[float] = []

    def call() -> None:
        begun = time.monotonic()
        client.call("PUT", path, value)
        took.append(time.monotonic() - begun)

    slow = Thread(target=call)
    slow.start()
    until(lambda: client.get("detector/status/state") == state)
    assert slow.is_alive()
    slow.join(10)
    assert took[0] >= DELAY


def test_faults_by_http_are_all_set_at_once_and_misspelt_ones_refused(client: Client) -> None:
    own(client, "PUT", "faults", {"errors": {"detector/command/arm": 503}})
    assert client.status_of("PUT", "detector/command/arm") == 503
    assert own(client, "GET", "faults")["errors"] == {"detector/command/arm": 503}
    assert own_status(client, "PUT", "faults", {"slow_am": 1}) == 400
    own(client, "PUT", "faults", {})
    client.call("PUT", "detector/command/arm")


def test_a_box_that_stays_armed_ends_when_it_is_disarmed(client: Client) -> None:
    client.box.faults.stays_armed = True
    for key, value in {"trigger_mode": "exts", "nimages": 1, "ntrigger": 1}.items():
        client.put(key, value)
    client.call("PUT", "detector/command/arm")
    assert own(client, "POST", "trigger") == {"taken": True}
    client.receive(2)
    until(lambda: client.get("detector/status/state") == "ready")
    assert own(client, "POST", "trigger") == {"taken": False}
    client.call("PUT", "detector/command/disarm")
    assert client.get("detector/status/state") == "idle"
    assert isinstance(decoded(client, client.receive(1))[0], SeriesEnd)


def test_a_trigger_by_http_is_an_edge(client: Client) -> None:
    client.put("trigger_mode", "exte")
    assert own(client, "POST", "trigger") == {"taken": False}, "it is not armed"
    client.call("PUT", "detector/command/arm")
    assert own(client, "POST", "trigger", {"gate": 0.002}) == {"taken": True}
    (frame,) = frames(client, client.receive(3))
    assert frame.image.exposure_time == 0.002


def test_power_by_http_also_while_it_is_off(client: Client) -> None:
    client.call("PUT", "detector/command/arm")
    own(client, "POST", "power", {"on": False})
    with pytest.raises(urllib.error.URLError):
        client.call("GET", "detector/status/state")
    own(client, "POST", "power", {"on": True})
    assert client.get("detector/status/state") == "na"
    assert own_status(client, "POST", "power", {"on": "no"}) == 400
    client.box.arm_by_somebody_else()
    assert [type(message).__name__ for message in decoded(client, client.receive(2))] == ["Start", "Start"]


@pytest.mark.parametrize("command", ["arm", "initialize"])
def test_power_that_fails_ends_a_slow_command(client: Client, command: str) -> None:
    client.box.faults.slow_arm = client.box.faults.slow_initialize = 3600.0
    broken: list[Exception] = []

    def call() -> None:
        try:
            client.call("PUT", f"detector/command/{command}")
        except OSError as error:
            broken.append(error)

    slow = Thread(target=call)
    slow.start()
    until(lambda: client.get("detector/status/state") in ("configure", "initialize"))
    client.box.power(False)
    client.box.power(True)
    slow.join(10)
    assert broken and not slow.is_alive()
    assert client.get("detector/status/state") == "na"


def test_somebody_else_arms_it(client: Client) -> None:
    assert client.box.arm_by_somebody_else() == 1
    assert client.get("detector/status/state") == "ready"
    assert client.status_of("PUT", "detector/command/arm") == 400
    client.call("PUT", "detector/command/disarm")
    assert own(client, "POST", "arm") == {"sequence id": 2}


def test_a_region_is_refused(client: Client) -> None:
    assert client.status_of("PUT", "detector/config/roi_mode", "lines") == 400
