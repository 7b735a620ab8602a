"""The messages between distributor and workers."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from penstock.processing import wire
from penstock.stins.messages import Header
from penstock.stins.shared import Reference


@pytest.mark.parametrize(
    "message",
    [
        wire.Hello(name="w1", host="h", pid=3, penstock="1"),
        wire.Ready(version=1, parameters=(wire.Parameter("threshold", "int", 5),), shares=True),
        wire.Refused(what="code", why="there is no class Spots in spots.py"),
        wire.Done(series=1, bunch=2, version=1, seconds=0.1, errors={3: "ValueError: no"}, held=True),
        wire.HandedOver(series=1, bunches=(1, 2)),
        wire.Finished(series=1),
        wire.Bye(),
    ],
)  # fmt: skip
def test_what_a_worker_says_is_what_the_distributor_reads(message: wire.MessageOfWorker) -> None:
    assert wire.from_worker(wire.encode(message)) == message


@pytest.mark.parametrize(
    "message",
    [
        wire.Welcome(pipeline="spots", steps=(wire.Step(name="Spots"),), version=1, parameters={}),
        wire.Begin(series=1, header=Header(filename="/a.h5", frames=3)),
        wire.Work(series=1, bunch=1, references=(Reference(0, 4, 100, (20,)),)),
        wire.Work(series=1, bunch=1, indices=(7,), parts=(2,), alone=True),
        wire.HandOver(series=1), wire.Finish(series=1), wire.End(series=1),
        wire.Configure(version=2, parameters={"threshold": 7}), wire.Use(version=2), wire.Stop(why="no"),
    ],
)  # fmt: skip
def test_what_the_distributor_says_is_what_a_worker_reads(message: wire.MessageOfDistributor) -> None:
    assert wire.from_distributor(wire.encode(message)) == message


def test_arrays_travel_as_raw_parts() -> None:
    curve = np.arange(12, dtype=np.float32).reshape(3, 4)
    described = wire.Array(name="I", dtype=curve.dtype.str, shape=curve.shape)

    assert np.array_equal(wire.arrays([described], [curve.tobytes()])["I"], curve)
    with pytest.raises(wire.WireError, match="1 arrays are described, and 0 have come"):
        wire.arrays([described], [])
    with pytest.raises(wire.WireError, match="array I cannot be decoded"):
        wire.arrays([described], [b"abc"])


def test_a_message_of_somebody_else_is_refused_with_a_sentence() -> None:
    with pytest.raises(wire.WireError, match="message of a worker cannot be decoded"):
        wire.from_worker(b'{"htype": "header"}')
    with pytest.raises(wire.WireError, match="message of the distributor cannot be decoded"):
        wire.from_distributor(b"\xff")


def test_the_page_has_every_message_with_all_its_fields() -> None:
    page = Path(__file__).parents[3].joinpath("docs/reference/processing-wire.md").read_text()
    told = {
        row[0].strip("`"): re.findall(r"`(\w+)`", row[1])
        for row in (line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `"))
    }
    messages = [*wire.FromWorker.__subclasses__(), *wire.FromDistributor.__subclasses__()]
    assert told == {message.__name__: list(message.__struct_fields__) for message in messages}
    assert all(f"`{name}`" in page for name in wire.Array.__struct_fields__)


@pytest.mark.parametrize("count", [16, 17])
def test_many_small_arrays_are_one_part(count: int) -> None:
    values = [np.full((2, number % 3), number, "<u2" if number % 2 else "<f8") for number in range(count)]
    described = tuple(
        wire.Array(name=f"a{number}", dtype=value.dtype.str, shape=value.shape)
        for number, value in enumerate(values)
    )
    parts = [bytes(part) for part in wire.parts_of(values)]
    assert len(parts) == (16 if count == 16 else 1)
    found = wire.arrays(described, parts)
    for number, value in enumerate(values):
        np.testing.assert_array_equal(found[f"a{number}"], value)
        assert found[f"a{number}"].dtype == value.dtype
    assert len(wire.parts_of([np.zeros(2**16)] * 17)) == 17  # together they are large
    with pytest.raises(wire.WireError, match="cannot be decoded" if count > 16 else "15 have come"):
        wire.arrays(described, [parts[0][:-1]] if count > 16 else parts[1:])
    if count > 16:
        with pytest.raises(wire.WireError, match="17 arrays of .* bytes are described, "):
            wire.arrays(described, [parts[0] + b"x"])
