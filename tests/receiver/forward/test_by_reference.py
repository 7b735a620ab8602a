"""Frames by reference: a real receiver, and a distributor that reads its memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import msgspec
import numpy as np
import psutil
import pytest
import urllib3
import zmq

from penstock.codecs import bslz4
from penstock.stins import codec
from penstock.stins.checksums import checksums
from penstock.stins.messages import SeriesEnd
from penstock.stins.shared import PAGE, nonce_in
from tests.processing.distributors import Distributor, distributor, free_again
from tests.receiver.conftest import Shared
from tests.receiver.disks import small_file_system
from tests.receiver.processes import DEADLINE, ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = pytest.mark.slow

LARGE = (300, 500)
"""300 kB: copied with the interpreter's lock released."""


def entry_in(folder: Path, **keys: Any) -> dict[str, Any]:
    """An entry whose memory is in a folder of the test."""
    memory = folder / "memory"
    memory.mkdir(exist_ok=True)
    return {
        "name": "live", "endpoint": "tcp://127.0.0.1:*", "shared": True, "shared_folder": str(memory),
        "queue_mb": 4, **keys,
    }  # fmt: skip


@pytest.fixture
def entry(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Makes such entries."""
    return partial(entry_in, tmp_path)


@pytest.fixture
def receiver(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]]
) -> ReceiverProcess:
    """A connected receiver that shares 4 MB with one consumer."""
    return start_receiver(forward=[entry(page="http://daq-1:5100/")])


@pytest.fixture(scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    folder, streamer = tmp_path_factory.mktemp("receiver"), Streamer()
    receiver = ReceiverProcess(
        folder, streamer.endpoint, forward=[entry_in(folder, page="http://daq-1:5100/")]
    )
    yield Shared(receiver, streamer)
    receiver.close()
    streamer.close()


@pytest.fixture
def shared(_shared: Shared) -> Iterator[Shared]:
    """Such a receiver, and its streamer, which the tests of this file share; idle, and all slots free."""
    yield _shared
    _shared.receiver.wait(lambda status: status.consumers[0].connected == 0)
    free_again(_shared.receiver)
    for file in _shared.receiver.root.glob("*.h5"):
        file.unlink()


@pytest.fixture
def live(shared: Shared) -> Iterator[Distributor]:
    """Its distributor."""
    with distributor(shared.receiver) as made:
        yield made


def announced(shape: tuple[int, ...], **keys: Any) -> dict[str, Any]:
    return {"shape": shape, "type": "uint16", "compression": "none", **keys}


def series_of(
    streamer: Streamer, filename: str, frames: int, shape: tuple[int, ...] = (4, 6), **keys: Any
) -> str:
    series = streamer.start(filename, frames=frames, **announced(shape), **keys)
    for number in range(frames):
        streamer.frame(number, pixels(number, shape))
    streamer.end(reason="complete", triggered=frames, sent=frames)
    return series


@pytest.mark.parametrize(("shape", "frames"), [((4, 6), 1000), ((100, 100), 300), (LARGE, 9)])
def test_every_frame_is_exact_and_its_slot_is_free_again(
    shared: Shared, live: Distributor, shape: tuple[int, int], frames: int
) -> None:
    receiver, streamer = shared
    series = series_of(streamer, str(receiver.root / "a.h5"), frames, shape)

    taken = live.series()

    status = receiver.ended(series)
    assert status.counts.stored == frames
    assert taken.by_value == [] and taken.forwarded is not None
    assert taken.forwarded.sent == len(taken.images) and taken.forwarded.skipped == 0
    assert taken.forwarded.sent + taken.forwarded.dropped == frames
    assert taken.forwarded.sent >= 9
    assert taken.indices == sorted(set(taken.indices))
    for index in taken.indices:
        np.testing.assert_array_equal(taken.pixels(index), pixels(index, shape))
    assert max(taken.bunches) <= 64
    free_again(receiver)


def test_frames_that_come_slowly_are_not_held_back_until_a_bunch_is_full(
    shared: Shared, live: Distributor
) -> None:
    _, streamer = shared
    streamer.start("", **announced((4, 6)))
    taken = live.begun()
    for number in range(5):
        streamer.frame(number)
        live.read(taken, number + 1)
    streamer.end()
    while taken.forwarded is None:
        live.step(taken)
    assert taken.bunches == [1] * 5


@pytest.mark.slow
def test_frames_for_which_no_slot_is_free_are_dropped_and_the_end_message_counts_them(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]], streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[entry(queue_mb=1)])
    with distributor(receiver, frees=False) as live:
        first = series_of(streamer, str(receiver.root / "a.h5"), 40, (200, 200))
        taken = live.series()
        status = receiver.ended(first)
        assert status.counts.stored == 40, "the file has all"
        shared = taken.header.shared
        assert shared is not None and taken.forwarded is not None
        assert taken.indices == list(range(shared.slots)), "those that came first"
        assert taken.slots == list(range(shared.slots)), "the lowest slot first"
        assert (taken.forwarded.sent, taken.forwarded.dropped) == (shared.slots, 40 - shared.slots)
        assert status.consumers[0].waiting_bytes == shared.slots * shared.slot_bytes

        assert live.memory is not None
        live.memory.free([3, 1])
        series_of(streamer, "", 5, (200, 200))
        taken = live.series()
        assert taken.slots == [1, 3]
        assert taken.forwarded is not None
        assert (taken.forwarded.sent, taken.forwarded.dropped) == (2, 3)
        for index in (0, 1):
            np.testing.assert_array_equal(taken.pixels(index), pixels(index, (200, 200)))
    free_again(receiver)


def test_series_of_other_sizes_back_to_back_get_a_new_layout_once_all_slots_are_free(
    shared: Shared, live: Distributor
) -> None:
    receiver, streamer = shared
    live.frees = False
    for frames, shape in ((6, (4, 6)), (3, LARGE), (0, LARGE)):
        series_of(streamer, "", frames, shape)
    small, large, none = live.series(), live.series(), live.series()
    assert small.by_value == [] and small.indices == list(range(6))
    assert large.by_value == [0, 1, 2], "slots of the first series are still taken, and too small"
    assert none.images == [] and none.forwarded is not None and none.forwarded.sent == 0
    for taken, shape in ((small, (4, 6)), (large, LARGE)):
        for index in taken.indices:
            np.testing.assert_array_equal(taken.pixels(index), pixels(index, shape))

    assert live.memory is not None
    live.memory.free(small.slots)
    free_again(receiver)
    series_of(streamer, "", 3, LARGE)
    again = live.series()
    assert again.by_value == [] and again.indices == [0, 1, 2]
    assert again.header.shared is not None and again.header.shared.slot_bytes > 300_000
    np.testing.assert_array_equal(again.pixels(2), pixels(2, LARGE))


def test_a_frame_that_the_whole_memory_cannot_hold_comes_as_a_message(
    shared: Shared, live: Distributor
) -> None:
    shape = (1500, 1500)
    series_of(shared.streamer, "", 1, shape)
    taken = live.series()
    assert taken.by_value == [0]
    np.testing.assert_array_equal(taken.pixels(0), pixels(0, shape))


@pytest.mark.slow
def test_a_stream_that_does_not_announce_its_frames_gets_smaller_slots_from_its_second_series_on(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    slots = []
    with distributor(receiver) as live:
        for _ in range(2):
            streamer.start("")
            for number in range(4):
                streamer.frame(number, pixels(number, (50, 50)))
            streamer.end()
            taken = live.series()
            assert taken.by_value == [] and taken.indices == [0, 1, 2, 3]
            np.testing.assert_array_equal(taken.pixels(3), pixels(3, (50, 50)))
            assert taken.header.shared is not None
            slots.append(taken.header.shared.slots)
            free_again(receiver)
    assert slots[1] > slots[0] >= 64


def test_packed_frames_stay_packed_and_channels_have_a_blob_each(shared: Shared, live: Distributor) -> None:
    receiver, streamer = shared
    stack = np.stack([pixels(1, LARGE), pixels(2, LARGE)])
    streamer.start(
        "", frames=1, channels=("low", "high"), shape=stack.shape, type="uint16", compression="none"
    )
    streamer.frame(0, stack, blobs=[each.tobytes() for each in stack])
    streamer.end()
    taken = live.series()
    assert taken.by_value == [] and len(taken.blobs[0]) == 2
    np.testing.assert_array_equal(taken.pixels(0), stack)
    free_again(receiver)

    blob = bytes(bslz4.compress(pixels(7, (100, 100))))
    streamer.start("", frames=1, shape=(100, 100), type="uint16", compression="bslz4", frame_bytes=len(blob))
    streamer.frame(0, pixels(7, (100, 100)), compression="bslz4", blobs=[blob])
    streamer.end()
    taken = live.series()
    assert taken.by_value == [] and taken.blobs[0] == [blob]
    assert taken.images[0][1].compression == "bslz4"


def test_what_the_receiver_does_not_have_is_absent_and_what_it_has_is_sent(
    shared: Shared, live: Distributor
) -> None:
    receiver, streamer = shared
    series = streamer.start(str(receiver.root / "a.h5"), frames=20, **announced((4, 6)))
    for number in (0, 1, 2, 6, 5, 7, 1):  # 5 is late, 1 comes twice
        streamer.frame(number)
    streamer.frame(8, partial="a module is dark")
    streamer.frame(9, blobs=[b"cut"])
    streamer.frame(10, discard=True)
    streamer.frame(13)
    streamer.end(reason="stop", triggered=16, sent=11)

    taken = live.series()

    counts = receiver.ended(series).counts
    assert sorted(taken.indices) == [0, 1, 2, 5, 6, 7, 8, 10, 13]
    for index in taken.indices:
        np.testing.assert_array_equal(taken.pixels(index), pixels(index))
    assert next(image for index, image in taken.images if index == 8).partial == "a module is dark"
    assert taken.absent == (
        (3, 4, "missing"), (9, 9, "corrupt"), (11, 12, "missing"), (14, 15, "missing"),
        (16, 19, "not_triggered"),
    )  # fmt: skip
    assert taken.forwarded is not None and taken.forwarded.sent == len(taken.images)
    ranges = dict.fromkeys(("missing", "corrupt", "not_triggered"), 0)
    for first, last, kind in taken.absent:
        ranges[kind] += last - first + 1
    assert ranges == {"missing": counts.missing, "corrupt": 1, "not_triggered": counts.not_triggered}


@pytest.mark.slow
def test_numbers_that_begin_elsewhere_are_indices_in_references(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]], streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[entry()], source={"frame_origin": 1})
    with distributor(receiver) as live:
        streamer.start("", frames=3, **announced((4, 6)))
        for number in (1, 2, 3):
            streamer.frame(number)
        streamer.end()
        taken = live.series()
    assert taken.indices == [0, 1, 2]
    np.testing.assert_array_equal(taken.pixels(2), pixels(3))


CHILD = """
import sys, zmq
from tests.processing.distributors import Distributor
child = Distributor(sys.argv[1], sys.argv[2], frees=False)
taken = child.begun()
child.read(taken, int(sys.argv[3]))
print("read", flush=True)
sys.stdin.read()
"""


def child(receiver: ReceiverProcess, frames: int) -> subprocess.Popen[str]:
    """A distributor in a process of its own, which reads so many frames of a series and frees none."""
    (consumer,) = receiver.connected().consumers
    assert consumer.shared is not None
    process = subprocess.Popen(
        [sys.executable, "-c", CHILD, consumer.shared, consumer.endpoint, str(frames)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    receiver.wait(lambda status: status.consumers[0].connected == 1)
    return process


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_after_sigkill_of_the_distributor_all_slots_are_free_and_the_next_one_gets_the_rest_of_the_series(
    shared: Shared,
) -> None:
    receiver, streamer = shared
    killed = child(receiver, 3)
    try:
        name = streamer.start("", frames=6, **announced((4, 6)))
        for number in range(3):
            streamer.frame(number)
        assert killed.stdout is not None and killed.stdout.readline() == "read\n"
        status = receiver.wait(lambda status: status.consumers[0].waiting_bytes > 0)
        holder, path = status.consumers[0].holder, status.consumers[0].shared
        assert holder is not None and holder.pid == killed.pid and path is not None
        nonce = nonce_in(Path(path).read_bytes()[:PAGE]).hex()
    finally:
        kill(killed)
    status = receiver.wait(lambda status: status.consumers[0].connected == 0)
    assert status.consumers[0].holder is None
    free_again(receiver)

    streamer.frame(3)  # nobody is there
    receiver.received(4, name)
    with distributor(receiver) as live:
        rest = live.begun()
        assert rest.header.series == name and rest.header.frames == 6
        assert rest.header.shared is not None and rest.header.shared.nonce != nonce
        for number in range(4, 6):
            streamer.frame(number)
        streamer.end()
        while rest.forwarded is None:
            live.step(rest)
        assert (rest.indices, rest.slots) == ([4, 5], [0, 1])
        assert [int(rest.pixels(index).flat[0]) for index in rest.indices] == [96, 120]
        assert (rest.forwarded.sent, rest.forwarded.dropped) == (3 + 2, 1), "those before, too"
        series_of(streamer, "", 4)
        assert live.series().indices == [0, 1, 2, 3]
    free_again(receiver)


def test_a_distributor_that_comes_within_a_series_gets_the_rest_and_the_frames_before_are_dropped(
    shared: Shared,
) -> None:
    receiver, streamer = shared
    (before,) = receiver.client.status().consumers
    name = streamer.start("", frames=5, **announced((4, 6)))
    for number in range(2):
        streamer.frame(number)
    receiver.received(2, name)
    with distributor(receiver) as live:
        rest = live.begun()
        assert rest.header.series == name
        for number in range(2, 5):
            streamer.frame(number)
        streamer.end()
        while rest.forwarded is None:
            live.step(rest)
        assert rest.indices == [2, 3, 4]
        assert (rest.forwarded.sent, rest.forwarded.dropped) == (3, 2)
    status = receiver.ended(name)
    assert status.consumers[0].dropped - before.dropped == 2
    free_again(receiver)


@pytest.mark.slow
def test_after_sigkill_of_the_receiver_no_memory_is_left_and_the_series_goes_on_by_reference(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]], streamer: Streamer
) -> None:
    consumer = entry(endpoint=f"ipc://{Path(entry()['shared_folder']).parent}/socket")
    receiver = start_receiver(forward=[consumer])
    folder = Path(consumer["shared_folder"])
    with distributor(receiver) as live:
        series = streamer.start(
            str(receiver.root / "a.h5"), frames=8, trigger_mode="SOFTWARE", **announced((4, 6))
        )
        for number in range(4):
            streamer.frame(number)
        taken = live.begun()
        live.read(taken, 4)
        receiver.flushed(4)
        (before,) = folder.iterdir()
        old = live.memory
        os.kill(receiver.data_process(), signal.SIGKILL)
        again = live.begun()
        assert again.header.series == series
        for number in range(4, 8):
            streamer.frame(number)
        streamer.end(reason="complete", triggered=8, sent=8)
        while again.forwarded is None:
            live.step(again)
        assert again.indices and set(again.indices) <= {4, 5, 6, 7}
        for index in again.indices:
            np.testing.assert_array_equal(again.pixels(index), pixels(index))
        receiver.ended(series)
        (after,) = folder.iterdir()
        assert after != before and old is not None
        free_again(receiver)
    assert receiver.stop() == 0
    assert list(folder.iterdir()) == []
    assert "Traceback" not in receiver.log.read_text()


@pytest.mark.slow
def test_memory_of_a_receiver_that_was_killed_is_removed_when_it_starts_again_and_that_of_a_live_one_is_not(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]]
) -> None:
    consumer = entry()
    folder = Path(consumer["shared_folder"])
    killed = start_receiver(forward=[consumer])
    (stale,) = folder.iterdir()
    assert stale.name.startswith("penstock-sim_1-live-")
    data_process = killed.data_process()
    os.kill(killed.process.pid, signal.SIGSTOP)  # so that it does not start another one
    os.kill(data_process, signal.SIGKILL)
    os.kill(killed.process.pid, signal.SIGKILL)
    killed.process.wait()

    first = start_receiver(forward=[consumer])
    assert not stale.exists()
    (alive,) = folder.iterdir()
    second = start_receiver(forward=[consumer])
    assert alive.exists() and len(list(folder.iterdir())) == 2
    assert alive.stat().st_mode & 0o777 == 0o600
    for running in (first, second):
        assert running.stop() == 0
    assert list(folder.iterdir()) == []


def test_when_only_the_parent_is_killed_in_a_series_its_data_process_leaves_no_memory(
    receiver: ReceiverProcess, streamer: Streamer
) -> None:
    (consumer,) = receiver.connected().consumers
    assert consumer.shared is not None
    streamer.start(str(receiver.root / "a.h5"), frames=9, trigger_mode="SOFTWARE", **announced((4, 6)))
    streamer.frame(0)
    receiver.flushed(1)
    data_process = psutil.Process(receiver.data_process())
    os.kill(receiver.process.pid, signal.SIGKILL)
    data_process.wait(DEADLINE)
    assert not Path(consumer.shared).exists()


def test_a_folder_without_room_is_refused_at_the_start_in_one_sentence(
    tmp_path: Path, entry: Callable[..., dict[str, Any]]
) -> None:
    with small_file_system(tmp_path / "small", 8) as folder:
        config = tmp_path / "receivers.yaml"
        forward = [entry(shared_folder=str(folder), queue_mb=64)]
        record = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path)}
        config.write_text(json.dumps({"receivers": {"sim-1": {**record, "forward": forward}}}))
        refused = subprocess.run(
            ["penstock", "receiver", "sim-1", "--config", str(config), "--http", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert refused.returncode != 0
        (sentence,) = refused.stderr.strip().splitlines()
        assert f"{folder} has 8 MB free" in sentence and "takes 64 MB (queue_mb): lower queue_mb" in sentence
        assert "Traceback" not in refused.stderr
        assert list(folder.iterdir()) == []


def test_a_distributor_that_lets_go_makes_room_for_the_next_one(shared: Shared) -> None:
    receiver, streamer = shared
    with distributor(receiver, frees=False) as first:
        series_of(streamer, "", 3)
        assert first.series().slots == [0, 1, 2]
        assert first.hold is not None
        first.hold.close()
        free_again(receiver)
        with distributor(receiver) as second:
            (consumer,) = receiver.client.status().consumers
            assert consumer.holder is not None and consumer.holder.pid == os.getpid()
            assert second.hold is not None


class EndOfLastRelease(msgspec.Struct, frozen=True, kw_only=True, tag_field="htype", tag="series_end"):
    """The end message as Penstock's last release knows it."""

    msg_number: int | None = None
    series: str | None = None
    reason: str | None = None
    message: str | None = None
    triggered: int | None = None
    sent: int | None = None
    lost: dict[str, int] | None = None


def test_a_plain_consumer_is_told_what_was_sent_and_what_is_absent_and_an_older_one_reads_the_message(
    start_receiver: Callable[..., ReceiverProcess], streamer: Streamer
) -> None:
    receiver = start_receiver(forward=[{"name": "every", "endpoint": "tcp://127.0.0.1:*", "every": 2}])
    with zmq.Context() as context, context.socket(zmq.PULL) as pull:
        pull.set(zmq.LINGER, 0)
        pull.connect(receiver.connected().consumers[0].endpoint)
        receiver.wait(lambda status: status.consumers[0].connected == 1)
        streamer.start("", frames=9)
        for number in (0, 1, 2, 3, 6):
            streamer.frame(number)
        streamer.end(reason="stop", triggered=8, sent=8, lost={"buffer_overrun": 1})
        parts: list[bytes] = []
        while b"series_end" not in (parts or [b""])[0]:
            assert pull.poll(20_000)
            parts = pull.recv_multipart()
    end = codec.decode(parts)
    assert isinstance(end, SeriesEnd) and end.forwarded is not None
    assert msgspec.structs.asdict(end.forwarded) == {"sent": 3, "dropped": 0, "skipped": 2}
    assert end.absent == ((4, 5, "missing"), (7, 7, "missing"), (8, 8, "not_triggered"))
    old = msgspec.json.decode(parts[0], type=EndOfLastRelease)
    assert (old.reason, old.triggered, old.sent, old.lost) == ("stop", 8, 8, {"buffer_overrun": 1})


def test_status_says_where_the_memory_is_and_config_what_was_configured(shared: Shared) -> None:
    receiver = shared.receiver
    (consumer,) = receiver.connected().consumers
    assert consumer.shared is not None and Path(consumer.shared).stat().st_size >= 4e6
    assert consumer.holder is None
    assert consumer.page == "http://daq-1:5100/"
    answer = urllib3.PoolManager(retries=False).request("GET", f"{receiver.client.url}/config")
    (configured,) = json.loads(answer.data)["sim-1"]["forward"]
    assert configured["shared"] is True and configured["queue_mb"] == 4.0


def test_frames_of_joined_modules_have_a_blob_each_and_the_modules_positions(
    tmp_path: Path, entry: Callable[..., dict[str, Any]]
) -> None:
    modules = [Streamer(), Streamer()]
    source = {"endpoints": [module.endpoint for module in modules], "join": "modules"}
    receiver = ReceiverProcess(tmp_path, modules[0].endpoint, source, forward=[entry()])
    try:
        with distributor(receiver) as live:
            for number, module in enumerate(modules):
                places = {"x": 0, "y": 4 * number, "rotation": 0, "full_shape": [8, 6]}
                module.start("", places, series="joined", frames=2, **announced((4, 6)))
            for index in range(2):
                for number, module in enumerate(modules):
                    if (index, number) != (1, 1):
                        module.frame(index, pixels(index + 10 * number))
            for module in modules:
                module.end(reason="complete", triggered=2)
            taken = live.series()
        assert taken.by_value == [] and taken.indices == [0, 1]
        np.testing.assert_array_equal(taken.pixels(0), np.stack([pixels(0), pixels(10)]))
        assert taken.blobs[1] == [pixels(1).tobytes(), b""]
        assert taken.images[1][1].partial is not None
    finally:
        receiver.close()
        for module in modules:
            module.close()


def test_of_a_series_that_began_without_a_pipeline_nothing_is_dropped(shared: Shared) -> None:
    receiver, streamer = shared
    (before,) = receiver.client.status().consumers
    status = receiver.ended(series_of(streamer, "", 5))
    assert status.counts.delivered == 5
    assert (status.consumers[0].sent, status.consumers[0].dropped) == (before.sent, before.dropped)


@pytest.mark.parametrize("compression", [pytest.param("none", marks=pytest.mark.slow), "bslz4"])
def test_frames_are_those_behind_the_transforms_with_regions_and_a_file_beside_them(
    start_receiver: Callable[..., ReceiverProcess],
    entry: Callable[..., dict[str, Any]],
    streamer: Streamer,
    compression: str,
) -> None:
    steps = [{"type": "decompress"}, {"type": "flip", "direction": "up-down"}]
    rois = {"corner": {"x": 0, "y": 0, "width": 10, "height": 10}}
    receiver = start_receiver(forward=[entry()], transforms=steps, rois=rois, workers=2)
    with distributor(receiver) as live:
        filename = str(receiver.root / "a.h5")
        series = streamer.start(filename, frames=9, **{**announced(LARGE), "compression": compression})
        for number in range(9):
            array = pixels(number, LARGE)
            blob = bytes(bslz4.compress(array)) if compression == "bslz4" else array.tobytes()
            streamer.frame(number, array, blobs=[blob], compression=compression)
        streamer.end(reason="complete", triggered=9, sent=9)
        taken = live.series()
        assert taken.by_value == [] and taken.indices == list(range(9))
        for number in range(9):
            np.testing.assert_array_equal(taken.pixels(number), pixels(number, LARGE)[::-1])
        assert receiver.ended(series).counts.stored == 9


def test_a_frame_whose_checksum_differs_reaches_neither_file_nor_consumer_nor_view_nor_regions(
    start_receiver: Callable[..., ReceiverProcess], entry: Callable[..., dict[str, Any]], streamer: Streamer
) -> None:
    """Threads compute the checksums, copy for the consumer and write the parts."""
    wrong = (4, 8)
    rois = {"corner": {"x": 0, "y": 0, "width": 1, "height": 1}}
    receiver = start_receiver(forward=[entry()], rois=rois, files=2)
    with distributor(receiver) as live:
        file = receiver.root / "a.h5"
        series = streamer.start(str(file), frames=9, checksum="crc32", **announced(LARGE))
        for number in range(9):
            array = pixels(number, LARGE)
            sums = checksums("crc32", [pixels(0, LARGE) if number in wrong else array])
            streamer.frame(number, array, checksums=sums)
        streamer.end(reason="complete", triggered=9, sent=9)
        taken = live.series()
    status = receiver.ended(series)
    assert (status.counts.stored, status.counts.corrupt, status.errors) == (7, 2, {"checksum": 2})
    assert "frame 8: checksum " in status.last_error
    assert taken.by_value == [] and taken.indices == [0, 1, 2, 3, 5, 6, 7]
    for number in taken.indices:
        np.testing.assert_array_equal(taken.pixels(number), pixels(number, LARGE))
    np.testing.assert_array_equal(receiver.client.last_frame().array, pixels(7, LARGE))
    # The first pixel of frame n is 150,000 n in 16 bits.
    corner = [0, 18928, 37856, 56784, None, 29104, 48032, 1424, None]
    assert receiver.client.roi_values(series=series).values["corner"].sum == corner
    with h5py.File(file) as stored:
        frames = stored["entry/data/data"]
        assert frames[:, 0, 0].tolist() == [65535 if value is None else value for value in corner]
