"""When the status of a series says that more files would help: figures counted by hand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.process.held_up import HeldUp, Look

IDLE = (16, 4.0)


def config(**keys: Any) -> ReceiverConfig:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": "/data", **keys}
    return msgspec.convert(entry, ReceiverConfig)


def second(number: int, busy: float = 1.0, writing: float = 0.74, held: float = 0.0) -> Look:
    """So many seconds after the beginning of a series that goes on evenly."""
    return Look(100.0 + number, 50 + number * (1 - busy), 7 + number * writing, number * held)


@pytest.mark.parametrize(
    ("files", "figures", "machine", "logged"),
    [
        (1, {}, IDLE, "write and flush take 74 % of the loop, 12 of 16 cores are idle; set files: 2 "),
        (1, {"busy": 0.91}, IDLE, "write and flush take 74 % of the loop"),
        (1, {"busy": 0.89}, IDLE, ""),  # it waits for messages: the detector is as slow
        (1, {"writing": 0.51}, IDLE, "write and flush take 51 % of the loop"),
        (1, {"writing": 0.5}, IDLE, ""),
        (1, {"writing": 1.5}, IDLE, "write and flush take 100 % of the loop"),  # sampled, so not exact
        (1, {}, (6, 4.0), "2 of 6 cores are idle"),
        (1, {}, (6, 4.1), ""),
        (1, {}, (5, 0.0), ""),  # two for others, and two for each of two files
        (2, {"held": 0.81}, IDLE,
         "waits for the threads of its 2 files 81 % of the time, 12 of 16 cores are idle; set files: 3 "),
        (2, {"held": 0.51}, IDLE, "the loop waits for the threads of its 2 files 51 % of the time"),
        (2, {"held": 0.5}, IDLE, ""),  # the loop itself takes as long, whatever its stages say
        (2, {"held": 0.81}, (8, 5.5), "2 of 8 cores are idle"),
        (2, {"held": 0.81}, (7, 0.0), ""),
        (16, {"held": 1.0}, (128, 0.0), ""),  # no receiver has more
    ],
)  # fmt: skip
def test_it_is_said_while_the_writing_takes_most_of_the_time_and_cores_are_idle(
    files: int, figures: dict[str, float], machine: tuple[int, float], logged: str,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    held_up = HeldUp("sim-1", config(files=files), lambda: machine)
    said = [held_up.look("a", second(number, **figures)) for number in range(8)]
    assert said[:5] == [""] * 5
    remedy = f"set files: {files + 1} (penstock check-storage /data says how many help)"
    sentence = f"the writing holds the series up while cores are idle: {remedy}" if logged else ""
    assert said[5:] == [sentence] * 3
    assert len(caplog.records) == bool(logged)
    if logged:
        assert caplog.records[0].levelname == "WARNING"
        assert caplog.messages[0].startswith("sim-1: the writing holds the series up: ")
        assert logged in caplog.messages[0] and caplog.messages[0].endswith(f"; {remedy} (series a)")


def test_it_is_said_no_longer_than_it_lasts_and_logged_once_per_series(
    caplog: pytest.LogCaptureFixture,
) -> None:
    held_up = HeldUp("sim-1", config(), lambda: IDLE)
    assert [bool(held_up.look("a", second(number))) for number in (0, 5)] == [False, True]
    # From second 5 to 10 the loop waits for two seconds, and from 10 to 15 never.
    waits = [Look(at, waited, 0.74 * at, 0.0) for at, waited in ((110.0, 52.0), (115.0, 52.0))]
    assert [bool(held_up.look("a", look)) for look in waits] == [False, True]
    assert len(caplog.records) == 1
    assert held_up.look("b", second(16)) == "", "a new series begins with nothing"
    assert held_up.look("b", second(21)) != ""
    assert len(caplog.records) == 2
    assert held_up.look(None, second(26)) == "", "nothing is written"


def test_the_machine_is_asked_once_a_second_and_only_if_the_writing_takes_long() -> None:
    asked: list[int] = []

    def machine() -> tuple[int, float]:
        asked.append(1)
        return IDLE

    held_up = HeldUp("sim-1", config(), machine)
    for tenth in range(100):
        held_up.look("a", Look(tenth / 10, 0.0, 0.4 * tenth / 10, 0.0))
    assert not asked
    for tenth in range(100, 200):
        held_up.look("b", Look(tenth / 10, 0.0, 0.9 * tenth / 10, 0.0))
    assert len(asked) == 5  # after 5, 6, 7, 8 and 9 s


def test_of_modules_stored_as_received_each_can_have_a_file() -> None:
    for modules, transforms, files in ((3, [], 3), (3, [{"type": "assemble"}], 2), (17, [], 0)):
        endpoints = [f"tcp://127.0.0.1:{number + 1}" for number in range(modules)]
        source = {"endpoints": endpoints, "join": "modules"}
        held_up = HeldUp("sim-1", config(source=source, transforms=transforms), lambda: IDLE)
        held_up.look("a", second(0))
        said = held_up.look("a", second(5))
        assert f"set files: {files} (" in said if files else said == ""


@pytest.mark.parametrize("key", ["swmr", "frames_per_file"])
def test_what_excludes_several_files_is_named(key: str) -> None:
    held_up = HeldUp("sim-1", config(**{key: True if key == "swmr" else 100}), lambda: IDLE)
    held_up.look("a", second(0))
    assert f"set files: 2 instead of {key} (penstock check-storage" in held_up.look("a", second(5))
