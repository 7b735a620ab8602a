"""camserver's words: bytes in, answers out; no socket."""

from __future__ import annotations

import pytest

from penstock.devices._camserver import protocol
from penstock.devices._camserver.protocol import Answer, Channel, Code, Splitter


def test_a_command_ends_in_nul_and_floats_keep_their_digits() -> None:
    assert protocol.encode("NImages", 5) == b"NImages 5\0"
    assert protocol.encode("ExpTime", 0.00095) == b"ExpTime 0.00095\0"
    assert protocol.encode("K") == b"K\0"


STREAM = b"15 OK N images set to: 10\x1813 ERR kill\x187 OK /ramdisk/a_0019.cbf\x18215 OK Channel 0:\nx\x18"
ANSWERS = [
    Answer(15, True, "N images set to: 10"), Answer(13, False, "kill"),
    Answer(7, True, "/ramdisk/a_0019.cbf"), Answer(215, True, "Channel 0:\nx"),
]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_answers_are_the_same_however_the_network_cuts_them(size: int) -> None:
    splitter, found = Splitter(), []
    for place in range(0, len(STREAM), size):
        found += splitter.feed(STREAM[place : place + size])
    assert found == ANSWERS


def test_half_an_answer_is_none() -> None:
    splitter = Splitter()
    assert splitter.feed(b"15 OK N ima") == []
    assert splitter.feed(b"ges set to: 3\x18") == [Answer(15, True, "N images set to: 3")]


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        (b"15 OK\x18", Answer(15, True, "")),
        (b"15 OK \x18\0", Answer(15, True, "")),
        (b"\n15 OK  Starting 0.1 second\x18", Answer(15, True, "Starting 0.1 second")),
        (b"/tmp/setthreshold.cmd\x18", Answer(15, True, "/tmp/setthreshold.cmd")),
        (b"1 ERR *** Unrecognized command: x\x18", Answer(1, False, "*** Unrecognized command: x")),
    ],
)
def test_what_versions_of_camserver_have_been_seen_to_answer(raw: bytes, answer: Answer) -> None:
    assert Splitter().feed(raw) == [answer]


@pytest.mark.parametrize("raw", [b"HTTP/1.1 400 Bad Request\r\n\x18", b"hello\x18", b"OK 15\x18"])
def test_what_is_no_answer_of_camserver_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="is no answer of camserver"):
        Splitter().feed(raw)


def test_an_answer_without_end_fills_no_memory() -> None:
    with pytest.raises(ValueError, match="without the end of an answer"):
        Splitter().feed(b"15 OK " + b"A" * 2**21)


SETUP = """
  Camera definition:
    PILATUS 300K
  Camera name: PILATUS3 300K, S/N 3-0112
  Camera state: exposing
  Target file: /ramdisk/a_00003.cbf
  Time left: 1.200
  Last image: /ramdisk/a_00002.cbf
  Master PID is: 2001
  Controlling PID is: 2450
  Exposure time: 1.0000000
  Last completed image:
    /ramdisk/a_00002.cbf
  Shutter is: closed
"""


def test_the_setup_says_state_name_and_who_has_control() -> None:
    setup = protocol.setup_of(Answer(Code.CAM_SETUP, True, SETUP))
    assert (setup.name, setup.serial, setup.state) == ("PILATUS3 300K", "3-0112", "exposing")
    assert (setup.target, setup.master, setup.controlling) == ("/ramdisk/a_00003.cbf", 2001, 2450)


def test_a_setup_with_other_lines_leaves_unknown_what_it_does_not_say() -> None:
    setup = protocol.setup_of(Answer(Code.CAM_SETUP, True, "Camera state: idle\nMaster PID is: unknown"))
    assert (setup.state, setup.name, setup.master, setup.controlling) == ("idle", "", None, None)


def test_channels_without_a_sensor_have_no_value() -> None:
    text = (
        "Channel 0: Temperature = 31.4C, Rel. Humidity = 22.1%;\n"
        "Channel 1: Temperature = 24.0C, Rel. Humidity = -99.0%;\n"
        "Channel 2: Temperature = -99.0C, Rel. Humidity = -99.0%"
    )
    assert protocol.channels_of(Answer(215, True, text)) == {
        0: Channel(31.4, 22.1), 1: Channel(24.0, None), 2: Channel(None, None)
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "text", "number"),
    [
        ("Energy setting", "Energy setting: 12400 eV\n Settings: mid gain; threshold: 6200 eV", 12400.0),
        ("threshold", "Settings: mid gain; threshold: 6300 eV; vcmp: 0.654 V", 6300.0),
        ("threshold", "Threshold has not been set", None),
        ("PID", "PID = 4711", 4711.0),
        ("set to", "Exposure time set to: 1e-07 sec.", 1e-7),
        ("set to", "Exposure time set to: . sec.", None),
    ],
)
def test_numbers_in_answers(words: str, text: str, number: float | None) -> None:
    assert protocol.number_in(Answer(15, True, text), words) == number


def test_the_image_format_is_rows_and_columns() -> None:
    text = "=== Telemetry at 2016 ===\nImage format: 1475(w) x 1679(h) pixels\nSelected bank: 0"
    assert protocol.image_format_of(Answer(18, True, text)) == (1679, 1475)
    assert protocol.image_format_of(Answer(18, True, "none")) is None
