"""Metadata and optional keys that cannot be used cost no series: the rest is taken, and what was left out is
named and counted."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import h5py
import numpy as np
import pytest
import zmq

from penstock.receiver.models import Status
from tests import hostile
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels, text

DETECTOR = "entry/instrument/sim_1"
NAN = (
    b'{"exptime": 0.01, "T": NaN, "p": [1.5, Infinity, -Infinity], "label": "s1", "mixed": [NaN, "a"], '
    b'"inner": {"drift": NaN}}'
)
"""As Python's `json.dumps` writes it."""


class Bench:
    """A streamer, its receiver, and a consumer of that."""

    def __init__(self, receiver: ReceiverProcess, streamer: Streamer) -> None:
        self.receiver = receiver
        self.streamer = streamer
        self.context = zmq.Context()
        self.consumer = self.context.socket(zmq.PULL)
        self.consumer.set(zmq.RCVTIMEO, int(DEADLINE * 1000))
        (consumer,) = receiver.client.status().consumers
        self.consumer.connect(consumer.endpoint)
        receiver.wait(lambda status: status.consumers[0].connected == 1)

    def series(self, name: str, *metadata: bytes, frames: int = 2, **keys: object) -> Status:
        """Send a series of two frames; the keys are those of its start message."""
        header = {"htype": "header", "msg_number": 0, "filename": str(self.receiver.root / name)}
        self.streamer.send([text(**header, **{"series": name, "frames": frames, **keys}), *metadata])
        for number in range(frames):
            self.frame(name, number)
        self.streamer.send([text(htype="series_end", series=name)])
        return self.receiver.ended(name)

    def frame(self, series: str, number: int, **keys: object) -> None:
        """One frame."""
        image = {**hostile.IMAGE, "msg_number": number + 1, "frame": number, "series": series, **keys}
        self.streamer.send([text(**image), pixels(number).tobytes()])

    def forwarded(self) -> list[list[bytes]]:
        """What the consumer gets of one series."""
        messages = [self.consumer.recv_multipart()]
        while b"series_end" not in messages[-1][0]:
            messages.append(self.consumer.recv_multipart())
        return messages


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    streamer = Streamer()
    consumer = {"name": "live", "endpoint": "tcp://127.0.0.1:*"}
    receiver = ReceiverProcess(tmp_path_factory.mktemp("left_out"), streamer.endpoint, forward=[consumer])
    receiver.connected()
    made = Bench(receiver, streamer)
    yield made
    made.consumer.close(linger=0)
    made.context.term()
    receiver.close()
    streamer.close()


def test_not_a_number_in_the_metadata_is_stored_as_such_and_costs_nothing(bench: Bench) -> None:
    errors = bench.receiver.client.status().errors
    status = bench.series("nan.h5", NAN)
    assert (status.counts.stored, status.errors) == (2, errors)
    with h5py.File(bench.receiver.root / "nan.h5") as file:
        group = file[DETECTOR]
        assert math.isnan(group["T"][()])
        assert group["p"][()].tolist() == [1.5, math.inf, -math.inf]
        assert math.isnan(group["inner/drift"][()])
        assert group["label"].asstr()[()] == "s1"
        assert group["mixed"].asstr()[()] == '[NaN, "a"]'
        np.testing.assert_array_equal(file["entry/data/data"][1], pixels(1))
    assert bench.forwarded()[0][1] == NAN, "passed on as it came"


@pytest.mark.parametrize("part", [b"[1, 2]", b'"label"', b'["a", 1, NaN]'])
def test_metadata_that_are_no_object_are_kept_whole_named_and_counted(bench: Bench, part: bytes) -> None:
    before = bench.receiver.client.status().errors.get("unusable_metadata", 0)
    name = f"no-object-{before}.h5"
    status = bench.series(name, part)
    assert (status.state, status.counts.stored, status.series.complete) == ("idle", 2, True)
    assert status.errors["unusable_metadata"] == before + 1
    assert "metadata are no JSON object" in status.last_error
    with h5py.File(bench.receiver.root / name) as file:
        kept = file[f"{DETECTOR}/metadata"][()]
        if isinstance(kept, bytes):
            assert kept.decode() == (part.decode() if part[0] == ord("[") else json.loads(part))
        else:
            assert kept.tolist() == json.loads(part)
    assert bench.forwarded()[0][1] == part


def test_metadata_that_nobody_can_read_cost_no_series(bench: Bench) -> None:
    before = bench.receiver.client.status().errors.get("unusable_metadata", 0)
    status = bench.series("no-json.h5", b"label=1")
    assert (status.counts.stored, status.errors["unusable_metadata"]) == (2, before + 1)
    assert "the series is taken without them" in status.last_error
    assert bench.forwarded()[0][1] == b"{}"


def test_200000_keys_are_kept_as_one_text_and_what_has_a_place_is_there(bench: Bench) -> None:
    """One by one they would keep the receiver from everything else for a minute."""
    before = bench.receiver.client.status().errors.get("unusable_metadata", 0)
    sent = {f"key {number}": number for number in range(200_000)} | {
        "exptime": 0.25, "x": math.inf, "pixel_mask": [[0, 1], [2, 3]], "user": {"title": "t", "more": 1},
    }  # fmt: skip
    status = bench.series("keys-200000.h5", json.dumps(sent).encode())
    assert (status.state, status.counts.stored, status.series.complete) == ("idle", 2, True)
    assert status.errors["unusable_metadata"] == before + 1
    assert "the metadata have more than 5,000 keys; they are kept whole" in status.last_error
    with h5py.File(bench.receiver.root / "keys-200000.h5") as file:
        group = file[DETECTOR]
        mask = sent.pop("pixel_mask")
        assert json.loads(group["metadata"].asstr()[()]) == sent
        assert (group["exptime"][()], file["entry/title"].asstr()[()]) == (0.25, "t")
        assert group["pixel_mask"][()].tolist() == mask
        assert not {"key 0", "key_0", "user", "x"} & set(group)
    bench.forwarded()


def test_optional_keys_that_cannot_be_used_are_left_out_by_name(bench: Bench) -> None:
    before = bench.receiver.client.status().errors.get("unusable_key", 0)
    header = {"htype": "header", "msg_number": 0, "filename": str(bench.receiver.root / "keys.h5")}
    bench.streamer.send([text(**header, series="keys.h5", frames=math.nan, frame_time=math.inf)])
    bench.frame("keys.h5", 0, exposure_time=math.nan, timestamp="now")
    bench.frame("keys.h5", 1, exposure_time=0.1)
    bench.streamer.send([text(htype="series_end", series="keys.h5", triggered=-1, sent=2)])
    status = bench.receiver.ended("keys.h5")
    assert (status.counts.stored, status.counts.missing, status.counts.corrupt) == (2, 0, 0)
    assert status.errors["unusable_key"] == before + 5
    log = bench.receiver.log.read_text()
    assert "header: frames is nan, which cannot be used; it is left out" in log
    assert "image: timestamp is 'now', which cannot be used; it is left out" in log
    bench.forwarded()


def test_a_frame_whose_number_cannot_be_used_is_refused_alone(bench: Bench) -> None:
    before = bench.receiver.client.status().errors.get("wrong_type", 0)
    header = {"htype": "header", "msg_number": 0, "filename": str(bench.receiver.root / "frame.h5")}
    bench.streamer.send([text(**header, series="frame.h5", frames=2)])
    bench.frame("frame.h5", 0, frame=math.nan)
    bench.frame("frame.h5", 1)
    bench.streamer.send([text(htype="series_end", series="frame.h5")])
    status = bench.receiver.ended("frame.h5")
    assert (status.counts.stored, status.counts.missing) == (1, 1), "nobody can say where it belongs"
    assert status.errors["wrong_type"] == before + 1
    bench.forwarded()
