"""An Eiger is armed, triggered and ended, and what Reset does after faults."""

from __future__ import annotations

import json
import threading

import pytest

from penstock.devices._dectris.commands import STATES
from penstock.devices.eiger import Eiger
from penstock.streamer.camera.own_stream import BoxLost, BoxState
from penstock.streamer.camera.unit import CameraError
from tests.devices._dectris.desk import DEADLINE, Desk
from tests.devices.eiger.units import DETECTOR, USER, series, unit

# -- Arm, trigger, end -----------------------------------------------------------------------------


def test_the_user_part_is_there_while_it_is_armed_and_gone_after(eiger: Eiger, desk: Desk) -> None:
    eiger.arm(USER)
    assert json.loads(desk.appendix_when_armed) == {"arm": USER.arm, "filename": "/data/x.h5", "frames": 3}
    assert desk.keys["stream/config/header_appendix"] == ""
    assert eiger.progress().state is BoxState.ARMED


def test_it_is_gone_too_when_arming_failed(eiger: Eiger, desk: Desk) -> None:
    desk.fails["detector/command/arm"] = (500, "DAQ is not running")
    with pytest.raises(CameraError, match=r"failed at PUT .*arm .*DAQ is not running"):
        eiger.arm(USER)
    assert ("stream/config/header_appendix", USER.encode()) in desk.puts
    assert desk.keys["stream/config/header_appendix"] == ""


def test_one_that_was_left_there_is_cleared_before_the_next_series(eiger: Eiger, desk: Desk) -> None:
    desk.keys["stream/config/header_appendix"] = USER.encode()
    eiger.prepare(series(eiger))
    assert desk.keys["stream/config/header_appendix"] == ""


def test_one_that_was_left_there_by_a_power_cut_or_a_death_is_cleared_by_reset(
    eiger: Eiger, desk: Desk
) -> None:
    desk.keys["stream/config/header_appendix"] = USER.encode()
    desk.state = "ready"
    eiger.reset()
    assert desk.keys["stream/config/header_appendix"] == ""


@pytest.mark.parametrize("end", ["abort", "stop"])
def test_a_series_ends_while_its_trigger_is_blocked(eiger: Eiger, desk: Desk, end: str) -> None:
    eiger.prepare(series(eiger))
    eiger.arm(USER)
    desk.holds["trigger"] = threading.Event()
    trigger = threading.Thread(target=eiger.trigger)
    trigger.start()
    assert desk.held.wait(DEADLINE)
    desk.state = "acquire"
    getattr(eiger, end)()
    assert eiger.progress().state is BoxState.IDLE
    assert trigger.is_alive()
    desk.holds["trigger"].set()
    trigger.join(DEADLINE)
    commands = [path.rpartition("/")[2] for path, _ in desk.puts if "/command/" in path]
    assert commands == ["arm", "trigger", *(["abort"] if end == "abort" else ["cancel", "disarm"])]


def test_abort_ends_an_arming_that_takes_long(eiger: Eiger, desk: Desk) -> None:
    desk.holds["arm"] = threading.Event()
    arming = threading.Thread(target=eiger.arm, args=(USER,))
    arming.start()
    assert desk.held.wait(DEADLINE)
    eiger.abort()
    assert ("detector/command/abort", None) in desk.puts
    desk.holds["arm"].set()
    arming.join(DEADLINE)
    assert not arming.is_alive()


def test_nothing_is_ended_where_nothing_runs(eiger: Eiger, desk: Desk) -> None:
    eiger.stop()
    eiger.abort()
    assert desk.puts == []


@pytest.mark.parametrize("said", STATES)
def test_the_boxs_states_are_ours(eiger: Eiger, desk: Desk, said: str) -> None:
    desk.state = said
    assert eiger.progress().state is STATES[said]


def test_an_error_is_told_in_the_boxs_words(eiger: Eiger, desk: Desk) -> None:
    desk.state, desk.keys["detector/status/error"] = "error", ["link_1 is down"]
    assert eiger.progress().message == "link_1 is down"


# -- Faults ----------------------------------------------------------------------------------------


def test_an_armed_box_is_disarmed_by_reset_and_never_initialised(eiger: Eiger, desk: Desk) -> None:
    desk.state = "ready"
    eiger.reset()
    assert [path for path, _ in desk.puts] == ["detector/command/disarm"]
    assert eiger.progress().state is BoxState.IDLE


@pytest.mark.parametrize("state", ["na", "error"])
def test_a_box_that_was_switched_on_is_initialised_by_reset(
    desk: Desk, flavour: tuple[str, str], state: str
) -> None:
    desk.state = state
    eiger = unit(desk, flavour[1])
    assert eiger.connect().state is STATES[state]
    eiger.reset()
    assert [path for path, _ in desk.puts] == ["detector/command/initialize"]
    assert eiger.values()["Energy"] == 12400.0


def test_an_idle_box_is_left_alone_by_reset(eiger: Eiger, desk: Desk) -> None:
    eiger.reset()
    assert desk.puts == []


def test_a_box_that_does_not_come_to_rest_is_a_sentence(eiger: Eiger, desk: Desk) -> None:
    desk.state = "error"
    desk.fails["detector/command/initialize"] = (400, "no module answers")
    with pytest.raises(CameraError, match=r"refuses PUT .*initialize .*no module answers"):
        eiger.reset()


def test_a_box_that_goes_and_comes_back_is_reached_again(flavour: tuple[str, str]) -> None:
    api, stream = flavour
    with Desk(api) as desk:
        eiger, port = unit(desk, stream), desk.server_port
        eiger.connect()
    with pytest.raises(BoxLost, match=f"http://127.0.0.1:{port} cannot be reached"):
        eiger.progress()
    with pytest.raises(BoxLost):
        eiger.arm(USER)
    with Desk(api, port) as desk:
        desk.state = "na"
        assert eiger.connect().state is BoxState.UNINITIALISED
        eiger.reset()
        assert eiger.progress().state is BoxState.IDLE
    eiger.close()


@pytest.mark.parametrize("status", [400, 500, 503])
def test_error_answers_while_it_is_set_up_are_sentences(eiger: Eiger, desk: Desk, status: int) -> None:
    desk.fails[f"{DETECTOR}/count_time"] = (status, "busy with something")
    desk.keys[f"{DETECTOR}/nimages"] = 100
    with pytest.raises(CameraError, match="count_time.*busy with something"):
        eiger.prepare(series(eiger))
