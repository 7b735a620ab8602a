"""What costs a receiver how much: several files, a viewer, regions of interest."""

from __future__ import annotations

import hashlib
import os
import statistics
import threading
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from penstock.receiver.client import ReceiverClient
from penstock.receiver.live import last_frame
from penstock.receiver.models import Rectangle
from penstock.receiver.reading.reader import SeriesFile
from penstock.stins.messages import Frame, Image
from penstock.stins.texts import plural
from penstock_bench.receivers import Receiver, difference, per_frame, remove, until
from penstock_bench.results import Frames, Turn, Turns, add_difference
from penstock_bench.runner import Bench

WITHOUT = "without"
FLAT_OUT = ", as fast as possible"
LOOKS = 5.0
"""Frames per second that the viewer requests, in full size, like the silx viewer."""
WINDOW, PATTERN = 0.6, (False, True, True, False) * 2
"""Seconds of a window; windows of one series, without and with a viewer."""
HAND_OVERS = 50
REGIONS, SIDE = (0, 1, 4), 100
PLACES = ((200, 200), (200, 600), (600, 200), (600, 600))
SHARE_MEASURED = 0.9
"""Share of the frames of a series: after the last one, the file is closed."""


# -- several files -----------------------------------------------------------------------------------------


def files(bench: Bench, frames: Frames) -> Turns:
    """Let one file and several take the same frames, at a rate that both can take, and as fast as possible.

    What several files gain shows only where there are cores for their threads; what they cost shows
    everywhere. The bytes that the series of all rounds hold are compared.
    """
    contents: dict[str, set[str]] = {"": set(), FLAT_OUT: set()}
    several, takers, source = bench.options["files"], {}, {"high_water_mark": 8}
    with ExitStack() as processes:
        receivers = {
            number: Receiver(bench.folder, frames, processes, source=source, entry={"files": number})
            for number in (1, several)
        }
        for pace, found in contents.items():
            paced = frames.of(frames.count, 0.0) if pace else frames
            for number, receiver in receivers.items():  # neighbours, of which one is compared with the other
                take = partial(_into_files, receiver, paced, bench.folder / f"{number}.h5", found)
                takers[plural(number, "file") + pace] = take
        turns = bench.in_turn(takers, warm_up=1)
    pairs = (turns.get(plural(number, "file") + FLAT_OUT, []) for number in (1, several))
    for theirs, ours in zip(*pairs, strict=False):
        ours[f"times 1 file{FLAT_OUT}"] = ours["receiver, µs"] / theirs["receiver, µs"]
    turns["content"] = [{"series that differ": float(sum(len(each) > 1 for each in contents.values()))}]
    return turns


def _into_files(receiver: Receiver, frames: Frames, file: Path, contents: set[str]) -> Turn:
    try:
        with receiver.taking(frames, file, "--seed", "1") as taking:
            pass
        contents.add(content(file))
    finally:
        remove(file.parent, "*.h5")
    return per_frame(taking.spent, frames.count)


def content(file: Path) -> str:
    """Return a digest of all blobs as they are stored."""
    digest = hashlib.blake2b()
    with SeriesFile(file) as series:
        for index in range(len(series)):
            for blob in series.blobs(index) or ():
                digest.update(blob)
        return f"{len(series)} {digest.hexdigest()}"


# -- a viewer ----------------------------------------------------------------------------------------------


def viewer(bench: Bench, frames: Frames) -> Turns:
    """Measure windows of running series, with and without a viewer, as neighbours; and handing over alone.

    The data path is the thread that every frame passes through, from the socket to the file: its time per
    frame limits the rate. Handing over one frame is also measured alone: that figure has little noise, but
    does not include what a copy does to caches and memory bandwidth.
    """
    turns: Turns = {WITHOUT: [], "with a viewer": []}
    with ExitStack() as processes:
        receiver = Receiver(bench.folder, frames, processes, source={"high_water_mark": 8})
        for number in range(1, bench.rounds + 1):
            bench.say(f"series {number} of {bench.rounds}")
            with receiver.taking(frames, bench.folder / "viewer.h5"):
                _after_next(receiver)
                for looks in PATTERN:
                    turns["with a viewer" if looks else WITHOUT].append(_window(receiver, looks=looks))
            remove(bench.folder, "*.h5")
    spent = hand_over(frames.nbytes)
    data_path = statistics.median(turn["loop, µs"] for turn in turns[WITHOUT])
    share = 100 * spent * LOOKS / (data_path * frames.rate)
    turns["handing over"] = [{"loop, µs": spent, "share of the data path, %": share}]
    return turns


def hand_over(nbytes: int) -> float:
    """Return the median processor time, in µs, of a thread that hands over a frame as the data path does."""
    memory = last_frame.create()
    ours, viewers = last_frame.LastFrame(memory), last_frame.LastFrame(memory)
    frame = Frame(Image(shape=(1, nbytes), type="uint8", compression="none"), [memoryview(bytearray(nbytes))])
    spent = []
    for number in range(HAND_OVERS):
        viewers.want()
        ours.offer("", number, frame)
        began = time.thread_time()
        ours.step(1.0 + number)
        spent.append(time.thread_time() - began)
        while viewers.version < 2 * number + 2:
            time.sleep(0.0005)  # the copy is under way
    os.close(memory)
    return statistics.median(spent) * 1e6


def _after_next(receiver: Receiver) -> tuple[int, Turn]:
    """Wait for further frames; return how many were received, and the processor time so far."""
    before = receiver.client.status().counts.received
    status = until(receiver.client, lambda status: status.counts.received != before, "no frame is received")
    return status.counts.received, receiver.seconds()


def _window(receiver: Receiver, *, looks: bool) -> Turn:
    ends, seen = threading.Event(), list[int]()
    look = threading.Thread(target=_look, args=(receiver.url, ends, seen))
    if looks:
        look.start()
    began = time.monotonic()
    first, before = _after_next(receiver)
    ends.wait(WINDOW)
    last, after = _after_next(receiver)
    seconds = time.monotonic() - began
    ends.set()
    if looks:
        look.join()
    spent = per_frame(difference(after, before), last - first)
    return spent | ({"frames got/s": len(seen) / seconds} if looks else {})


def _look(url: str, ends: threading.Event, got: list[int]) -> None:
    client, due = ReceiverClient(url, timeout=5.0), time.monotonic()
    while not ends.is_set():
        frame = client.last_frame(seen=got[-1] if got else None)
        if frame is not None:
            got.append(frame.version)
            due += 1 / LOOKS
        # If there is nothing newer yet, one of the next frames will bring it.
        ends.wait(max(0.005, due - time.monotonic()) if frame is not None else 0.01)


# -- regions of interest -----------------------------------------------------------------------------------


def regions(bench: Bench, frames: Frames) -> Turns:
    """Let one receiver take series without regions, with one and with four."""
    with ExitStack() as processes:
        receiver = Receiver(bench.folder, frames, processes, source={"high_water_mark": 8})
        take = partial(_with_regions, bench.folder, receiver, frames)
        turns = bench.in_turn({f"{count} regions": partial(take, count) for count in REGIONS})
    add_difference(turns, "0 regions", "receiver, µs", "more than without, µs")
    return turns


def _with_regions(folder: Path, receiver: Receiver, frames: Frames, count: int) -> Turn:
    receiver.client.put_rois(
        {f"roi_{x}_{y}": Rectangle(x=x, y=y, width=SIDE, height=SIDE) for x, y in PLACES[:count]}
    )
    try:
        with receiver.taking(frames, folder / "regions.h5"):
            first, before = last, after = _after_next(receiver)
            while last < SHARE_MEASURED * frames.count:
                last, after = _after_next(receiver)
    finally:
        remove(folder, "*.h5")
    if len(receiver.client.status().rois) != count:
        raise RuntimeError(f"the receiver does not have {count} regions")
    return per_frame(difference(after, before), last - first)
