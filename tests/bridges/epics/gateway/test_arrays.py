"""Arrays of an IOC that no file can have as frames: each is refused in a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from p4p import Type, Value
from p4p.nt import NTNDArray

from penstock.bridges.epics.gateway.arrays import Format, blob_of, exposed_at, format_of

FORM = NTNDArray.buildType()


def array(*sizes: int, codec: str = "", parameters: Any = None, pixels: int = 12) -> Value:
    """An array as a client gets it."""
    found = Value(FORM)
    packed = codec != ""
    found["value"] = (
        ("ubyteValue", np.zeros(pixels, np.uint8)) if packed else ("ushortValue", np.zeros(pixels, np.uint16))
    )
    found["codec.name"] = codec
    if parameters is not None:
        found["codec.parameters"] = parameters
    found["dimension"] = [{"size": size} for size in sizes]
    return found


@pytest.mark.parametrize(
    "parameters",
    [None, 0, 99, -1, "abc", "6", 6.5, np.array([6, 6]), Value(Type([("a", "i")]), {"a": 5})],
    ids=["none", "0", "99", "-1", "text", "digits", "float", "array", "structure"],
)
def test_packed_arrays_have_to_say_of_which_type_their_pixels_are(parameters: Any) -> None:
    with pytest.raises(ValueError, match="packed arrays do not say of which type their pixels are"):
        format_of(array(4, 3, codec="bslz4", parameters=parameters))
    assert format_of(array(4, 3, codec="bslz4", parameters=6)) == Format((3, 4), "uint16", "bslz4")


@pytest.mark.parametrize("codec", ["none", "BSLZ4", "LZ4", "jpeg"])
def test_a_codec_is_taken_by_its_exact_name_only(codec: str) -> None:
    with pytest.raises(ValueError, match=f'arrays have the codec "{codec}", which is none of bslz4, '):
        format_of(array(4, 3, codec=codec, parameters=6))


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((12,), "arrays have 1 dimension; only mono images are taken"),
        ((2, 2, 3), "arrays have 3 dimensions; only mono images are taken"),
        ((0, 0), "arrays have 0 x 0 pixels; sizes are 1 or more"),
        ((-4, -3), "arrays have -3 x -4 pixels; sizes are 1 or more"),
        ((2**31 - 1, 2**31 - 1), "a frame in a file has less than 4 GiB"),
    ],
)
def test_sizes_that_no_frame_has_are_refused_packed_or_not(sizes: tuple[int, ...], words: str) -> None:
    for keys in ({}, {"codec": "lz4", "parameters": 6}):
        with pytest.raises(ValueError, match=words):
            format_of(array(*sizes, **keys))


def test_pixels_that_are_not_as_many_as_the_sizes_say_are_refused() -> None:
    found = array(4, 3, pixels=11)
    with pytest.raises(ValueError, match="an array has 22 bytes of pixels, and its sizes 24"):
        blob_of(found, format_of(found))


@pytest.mark.parametrize("seconds", [0, 631_152_000, -(2**62)])
def test_a_time_stamp_that_was_never_set_is_none(seconds: int) -> None:
    found = array(4, 3)
    found["dataTimeStamp"] = {"secondsPastEpoch": seconds, "nanoseconds": 0}
    assert exposed_at(found) is None
    found["dataTimeStamp"] = {"secondsPastEpoch": 631_152_001, "nanoseconds": 500_000_000}
    assert exposed_at(found) == 631_152_001.5
