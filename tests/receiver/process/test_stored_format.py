"""What the frames of a series will be in the file: said before it, by the check, and found in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import SeriesCheck, Status
from penstock.receiver.process.supervisor import series_check
from penstock.service.models import Refused

SENT = SeriesCheck(filename="", shape=[3, 4], dtype="uint16")


def config(*transforms: dict[str, Any], **source: Any) -> ReceiverConfig:
    entry = {
        "source": {"endpoints": ["tcp://127.0.0.1:1"], **source},
        "data_root": "/",
        "transforms": transforms,
    }
    return msgspec.convert(entry, ReceiverConfig)


def stored(config: ReceiverConfig, series: SeriesCheck = SENT) -> tuple[list[int], str]:
    found = series_check.check("sim-1", config, Status(state="idle"), series)
    return found.shape, found.dtype


def test_without_transforms_frames_are_stored_as_they_are_sent() -> None:
    assert stored(config()) == ([3, 4], "uint16")
    assert stored(config(), SeriesCheck(filename="", shape=[8, 3, 4], dtype="int32")) == ([8, 3, 4], "int32")


@pytest.mark.parametrize("series", [SeriesCheck(filename=""), SeriesCheck(filename="", shape=[3, 4])])
def test_who_does_not_say_what_is_sent_is_not_told_what_is_stored(series: SeriesCheck) -> None:
    assert stored(config({"type": "rotate", "quarter_turns": 1}), series) == ([], "")


def test_transforms_say_what_they_make_of_frames(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.zeros((4, 3), "uint16"))
    rotate = {"type": "rotate", "quarter_turns": 1}
    dark = {"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}
    assert stored(config(rotate)) == ([4, 3], "uint16")
    assert stored(config({"type": "decompress"}, rotate, dark)) == ([4, 3], "float32")
    assert stored(config(rotate, {"type": "bslz4"})) == ([4, 3], "uint16")


def test_frames_that_the_transforms_cannot_take_are_refused_before_the_series(tmp_path: Path) -> None:
    np.save(tmp_path / "dark.npy", np.zeros((7, 7), "uint16"))
    with pytest.raises(Refused, match=r"has \[7, 7\] pixels, images have \[3, 4\]") as refused:
        stored(config({"type": "dark_flat", "dark": str(tmp_path / "dark.npy")}))
    assert refused.value.kind == "transform"
    with pytest.raises(Refused, match="a frame is") as refused:
        stored(config(), SeriesCheck(filename="", shape=[1, 2, 3, 4], dtype="uint16"))
    assert refused.value.kind == "bad_shape"
    with pytest.raises(Refused, match="known are") as refused:
        stored(config(), SeriesCheck(filename="", shape=[3, 4], dtype="text"))
    assert refused.value.kind == "unknown_type"


def test_a_table_that_went_away_leaves_what_is_stored_unknown(tmp_path: Path) -> None:
    assert stored(config({"type": "dark_flat", "dark": str(tmp_path / "gone.npy")})) == ([], "")


def test_what_modules_become_only_their_start_messages_say() -> None:
    endpoints = ["tcp://127.0.0.1:1", "tcp://127.0.0.1:2"]
    assert stored(config(endpoints=endpoints, join="modules")) == ([], "")


ROTATE, LEFT_RIGHT, UP_DOWN = (
    {"type": "rotate", "quarter_turns": 1}, {"type": "flip", "direction": "left-right"},
    {"type": "flip", "direction": "up-down"},
)  # fmt: skip


def oriented(
    *transforms: dict[str, Any], rotation: int = 0, fliplr: bool = False, flipud: bool = False
) -> None:
    asked = SeriesCheck(filename="", rotation=rotation, fliplr=fliplr, flipud=flipud)
    series_check.check("sim-1", config(*transforms), Status(state="idle"), asked)


def test_what_the_transforms_turn_may_be_asked_for_by_a_detector_that_streams_by_itself() -> None:
    oriented()
    oriented(ROTATE)  # of the receiver's own accord, as ever
    oriented(ROTATE, rotation=90)
    oriented(LEFT_RIGHT, UP_DOWN, rotation=180)
    oriented(ROTATE, UP_DOWN, rotation=90, flipud=True)
    oriented({"type": "decompress"}, UP_DOWN, fliplr=False, flipud=True)


@pytest.mark.parametrize(
    ("transforms", "asked", "words"),
    [
        ((), {"rotation": 90}, "do not do Rotation 90, and"),
        ((ROTATE,), {"rotation": 180}, "do not do Rotation 180, and"),
        ((LEFT_RIGHT,), {"flipud": True}, "do not do Flipud, and"),
        ((UP_DOWN, ROTATE), {"rotation": 90, "flipud": True}, "do not do Rotation 90 and Flipud, and"),
    ],
)
def test_what_they_do_not_is_refused_with_the_remedy(
    transforms: tuple[dict[str, Any], ...], asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(Refused, match=words) as refused:
        oriented(*transforms, **asked)
    assert refused.value.kind == "no_orientation"
    assert "set rotate and flip among the receiver's transforms" in str(refused.value)
