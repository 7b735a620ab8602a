"""What a running receiver says over HTTP: its status, its series, the newest frame."""

from __future__ import annotations

import io
import json
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import urllib3
import zmq

from penstock.hosts.version import version
from penstock.receiver.client import ReceiverRefused
from tests.receiver.http.shared_pair import Pair
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

# -- status ----------------------------------------------------------------------------------------


def test_status_says_what_existing_clients_read(pair: Pair) -> None:
    found = json.loads(pair.ask("GET", "/status").data)
    assert (found["state"], found["error"], found["detector"]) == ("idle", "", "sim-1")


def test_status_says_which_version_takes_the_frames(pair: Pair) -> None:
    assert pair.client.status().penstock == version()


def test_status_says_how_much_space_is_left_and_how_full_its_queue_is(pair: Pair) -> None:
    due = time.monotonic() + DEADLINE
    while (status := pair.client.status()).free_bytes is None:
        assert time.monotonic() < due
    assert status.free_bytes % 2**20 == 0
    assert status.free_bytes == pytest.approx(shutil.disk_usage(pair.receiver.root).free, rel=0.1)
    assert (status.queue_bytes, status.queue_limit_bytes) == (0, 0), "one loop does it all"


def test_a_series_is_known_by_its_id_while_it_runs_and_once_it_has_ended(pair: Pair) -> None:
    series = pair.running(frames=3, planned=9)
    known = pair.client.series(series)
    assert known is not None and known.series.active and known.counts.received == 3
    pair.end()
    for number in range(3):  # others begin and end
        pair.running(planned=number + 1)
        pair.end()
    known = pair.client.series(series)
    assert known is not None and not known.series.active
    assert known in pair.client.history(9)


def test_a_series_that_is_not_known_is_said_to_be_so(pair: Pair) -> None:
    assert pair.client.series("nobody's / ..") is None
    answer = pair.ask("GET", "/series/one?series=nobody")
    assert answer.status == 404 and json.loads(answer.data)["kind"] == "no_such_series"


def test_what_a_consumer_has_got_of_a_series_is_known_at_once(tmp_path: Path) -> None:
    streamer = Streamer()
    receiver = ReceiverProcess(
        tmp_path, streamer.endpoint, forward=[{"name": "c", "endpoint": "tcp://127.0.0.1:*", "queue_mb": 1}]
    )
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    consumer = context.socket(zmq.PULL)
    consumer.set(zmq.RCVTIMEO, int(DEADLINE * 1000))
    try:
        consumer.connect(receiver.connected().consumers[0].endpoint)
        receiver.wait(lambda status: status.consumers[0].connected == 1)
        for number in range(20):
            series = streamer.start(str(receiver.root / f"{number}.h5"), frames=2)
            consumer.recv_multipart()
            begun = receiver.client.series(series)
            assert begun is not None and begun.series.active
            assert begun.series.filename == str(receiver.root / f"{number}.h5")
            for index in range(2):
                streamer.frame(index)
                consumer.recv_multipart()
            streamer.end()
            consumer.recv_multipart()
            ended = receiver.client.series(series)
            assert ended is not None and not ended.series.active and ended.counts.stored == 2
    finally:
        consumer.close(0)
        context.term()
        receiver.close()
        streamer.close()


def test_a_series_that_has_ended_says_when_and_which_frames_are_lost(pair: Pair) -> None:
    before = time.time()
    series = pair.running(frames=3, planned=9)
    running = pair.client.status().series
    assert running is not None
    assert (running.ended, running.lost) == (0.0, [])
    pair.end()
    ended = pair.receiver.ended(series).series
    assert ended is not None
    assert before < ended.started <= ended.ended <= time.time()
    assert ended.lost == [(3, 8, "not_triggered")]


def test_a_long_poll_returns_when_something_changes(pair: Pair) -> None:
    before = pair.client.status()
    answers = []
    asking = threading.Thread(
        target=lambda: answers.append(pair.client.status(seen=before.version, wait=DEADLINE))
    )
    asking.start()
    began = time.monotonic()
    pair.running()
    asking.join(DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2
    assert answers[0].version != before.version
    pair.end()


def test_a_long_poll_returns_the_same_when_nothing_changes(pair: Pair) -> None:
    pair.client.reset()
    due = time.monotonic() + DEADLINE
    before = pair.client.status()
    while pair.client.status(seen=before.version, wait=0.8).version != before.version:
        assert time.monotonic() < due, "a quiet receiver has nothing new to say"
        before = pair.client.status()


def test_a_long_poll_for_an_old_version_returns_at_once(pair: Pair) -> None:
    began = time.monotonic()
    pair.client.status(seen=-1, wait=DEADLINE)
    assert time.monotonic() - began < DEADLINE / 2


def test_a_running_series_is_told_with_its_counts(pair: Pair) -> None:
    series = pair.running(3)
    status = pair.client.status()
    assert (status.state, status.series.id, status.series.active) == ("running", series, True)
    assert (status.counts.planned, status.counts.delivered, status.counts.pending) == (9, 3, 6)
    assert status.latest_frame == 2
    assert json.loads(pair.ask("GET", "/received_frames").data) == {"value": 3}
    pair.end()
    status = pair.client.status()
    assert (status.state, status.series.active, status.counts.not_triggered) == ("idle", False, 6)


# -- check -----------------------------------------------------------------------------------------


def test_a_series_of_any_name_is_shown(pair: Pair) -> None:
    pair.streamer.start("", frames=1, series="走査 →")
    pair.streamer.frame(0)
    pair.streamer.end()
    pair.receiver.ended("走査 →")
    shown = pair.client.last_frame()
    assert shown is not None
    assert shown.series == "走査 →"


# -- the newest frame ------------------------------------------------------------------------------


def test_before_the_first_frame_there_is_none(alone: ReceiverProcess) -> None:
    answer = urllib3.request("GET", f"{alone.client.url}/last_frame", timeout=DEADLINE, retries=False)
    assert (answer.status, json.loads(answer.data)["kind"]) == (404, "no_frame")
    assert alone.client.last_frame() is None


def test_before_the_first_series_there_is_no_geometry_no_mask_and_no_lost_frame(
    alone: ReceiverProcess,
) -> None:
    for call in (alone.client.geometry, alone.client.mask, alone.client.lost_frames):
        with pytest.raises(ReceiverRefused) as caught:
            call()
        assert caught.value.kind == "no_series"
        assert len(str(caught.value)) > 30, "a sentence"


def test_the_newest_frame_is_raw_pixels_with_what_is_known_of_them(pair: Pair) -> None:
    series = pair.running(3)
    due = time.monotonic() + DEADLINE
    found = None
    while found is None or (found.series, found.frame) != (series, 2):
        assert time.monotonic() < due
        found = pair.client.last_frame()
    np.testing.assert_array_equal(found.array, pixels(2))
    assert pair.client.last_frame(seen=found.version) is None
    assert pair.ask("GET", f"/last_frame?seen={found.version}").status == 304
    pair.client.set_downsample(2)
    smaller = pair.client.last_frame()
    pair.client.set_downsample(1)
    assert smaller is not None
    np.testing.assert_array_equal(smaller.array, pixels(2)[::2, ::2])
    assert smaller.downsample == 2
    answer = pair.ask("GET", "/last_frame?format=npy")
    np.testing.assert_array_equal(np.load(io.BytesIO(answer.data), allow_pickle=False), pixels(2))
    assert json.loads(answer.headers["X-Penstock-Frame"])["shape"] == [4, 6]
    pair.end()
