"""What costs a receiver how much: several files, a viewer, regions of interest, consumers, transforms."""

from __future__ import annotations

import hashlib
import os
import statistics
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from penstock.codecs import bslz4
from penstock.receiver.client import ReceiverClient
from penstock.receiver.live import last_frame
from penstock.receiver.models import Rectangle
from penstock.receiver.reading.reader import SeriesFile
from penstock.receiver.transforms.frame_processor import FrameProcessor
from penstock.receiver.transforms.prefetch import Prefetch
from penstock.receiver.transforms.steps.bslz4 import Bslz4
from penstock.receiver.transforms.steps.cbf import Cbf
from penstock.receiver.transforms.steps.chain import Chain
from penstock.stins.messages import Frame, Header, Image, Start
from penstock_bench.receivers import Receiver, difference, per_frame, program, remove, until
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
"""Of the frames of a series: after the last one, the file is closed."""
QUEUE_MB = 256
NONE, BY_REFERENCE, MESSAGES = "none", "by reference", "messages"
PILATUS = (1679, 1475)
"""Rows and columns of a Pilatus3 2M: 2.48 million pixels."""
CBF_FRAMES = 40
"""Frames of one turn: a good third of a second."""


# -- several files -----------------------------------------------------------------------------------------


def files(bench: Bench, frames: Frames) -> Turns:
    """Let one file and several take the same frames, at a rate that both can take, and as fast as possible.

    What several files gain shows only where there are cores for their threads; what they cost shows
    everywhere. The bytes that the series of all rounds hold are compared.
    """
    contents: dict[float, set[str]] = {frames.rate: set(), 0.0: set()}
    numbers = {f"{number} file{'s' * (number > 1)}": number for number in (1, bench.options["files"])}
    with ExitStack() as processes:
        source = {"high_water_mark": 8}
        receivers = {
            name: Receiver(bench.folder, frames, processes, source=source, entry={"files": number})
            for name, number in numbers.items()
        }
        takers = {
            name + pace: partial(_into_files, receiver, paced, bench.folder / f"{numbers[name]}.h5", contents)
            for pace, paced in (("", frames), (FLAT_OUT, frames.of(frames.count, 0.0)))
            for name, receiver in receivers.items()
        }
        turns = bench.in_turn(takers, warm_up=1)
    one, several = (turns.get(name + FLAT_OUT, []) for name in numbers)
    for theirs, ours in zip(one, several, strict=False):
        ours[f"times {next(iter(numbers))}{FLAT_OUT}"] = ours["receiver, µs"] / theirs["receiver, µs"]
    turns["content"] = [{"series that differ": float(sum(len(each) > 1 for each in contents.values()))}]
    return turns


def _into_files(receiver: Receiver, frames: Frames, file: Path, contents: dict[float, set[str]]) -> Turn:
    try:
        with receiver.taking(frames, file, "--seed", "1") as taking:
            pass
        contents[frames.rate].add(content(file))
    finally:
        remove(file.parent, "*.h5")
    assert taking.spent is not None
    return per_frame(
        {name: taking.spent[name] for name in ("receiver", "loop", "I/O", "others")}, frames.count
    )


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
    return {name: spent[name] for name in ("loop, µs", "receiver, µs", "HTTP, µs")} | (
        {"frames got/s": len(seen) / seconds} if looks else {}
    )


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
        names = {f"{count} regions": count for count in REGIONS}
        take = partial(_with_regions, bench.folder, receiver, frames)
        turns = bench.in_turn({name: partial(take, count) for name, count in names.items()})
    add_difference(turns, "0 regions", "receiver, µs", "more than without, µs")
    return turns


def _with_regions(folder: Path, receiver: Receiver, frames: Frames, count: int) -> Turn:
    receiver.client.put_rois(
        {f"roi_{x}_{y}": Rectangle(x=x, y=y, width=SIDE, height=SIDE) for x, y in PLACES[:count]}
    )
    try:
        with receiver.taking(frames, folder / "regions.h5"):
            first, before = _after_next(receiver)
            last, after = first, before
            while last < SHARE_MEASURED * frames.count:
                last, after = _after_next(receiver)
    finally:
        remove(folder, "*.h5")
    if len(receiver.client.status().rois) != count:
        raise RuntimeError(f"the receiver does not have {count} regions")
    spent = per_frame(difference(after, before), last - first)
    return {name: spent[name] for name in ("loop, µs", "receiver, µs")}


# -- consumers ---------------------------------------------------------------------------------------------


def consumers(bench: Bench, frames: Frames) -> Turns:
    """Let three receivers take the same series: without a consumer, with one that gets frames by reference
    and frees them at once, and with one that gets messages."""
    with ExitStack() as processes:
        kinds = (NONE, BY_REFERENCE, MESSAGES)
        return bench.in_turn({kind: _consumed(bench.folder, frames, kind, processes) for kind in kinds})


def _consumed(folder: Path, frames: Frames, kind: str, processes: ExitStack) -> Callable[[], Turn]:
    forward: dict[str, Any] = {"queue_mb": QUEUE_MB} | ({"shared": True} if kind == BY_REFERENCE else {})
    receiver = Receiver(folder, frames, processes, forward=None if kind == NONE else forward)
    if kind != NONE:
        (there,) = receiver.client.status().consumers
        program(processes, "consume", there.endpoint, there.shared or "")
        receiver.connected()

    def take() -> Turn:
        before = receiver.dropped
        turn = receiver.take(frames)
        wanted = ("receiver, µs", "loop, µs", "frames/s")
        return {name: turn[name] for name in wanted} | {"dropped": float(receiver.dropped - before)}

    return take


# -- transforms --------------------------------------------------------------------------------------------


def picture(path: Path | None) -> np.ndarray[Any, Any]:
    """Return the image of a file, tiled to a Pilatus3 2M; without a file, rings on a weak background."""
    if path is not None:
        import fabio

        with fabio.open(str(path)) as file:
            image = np.asarray(file.data)
        times = [-(-size // have) for size, have in zip(PILATUS, image.shape, strict=True)]
        return np.ascontiguousarray(np.tile(image, times)[: PILATUS[0], : PILATUS[1]], "<i4")
    rows, cols = np.ogrid[: PILATUS[0], : PILATUS[1]]
    radius = np.hypot(rows - PILATUS[0] / 2, cols - PILATUS[1] / 2)
    mean = 30 * np.exp(-radius / 600) * (1 + 20 * np.exp(-(((radius % 130) - 65) ** 2) / 8))
    return np.asarray(np.random.default_rng(1).poisson(mean), "<i4")


def transforms(bench: Bench, load: str) -> Turns:
    """Turn CBF blobs of a Pilatus3 2M into bslz4 blobs, by the chain in one thread and in one for each core.

    Beside it: fabio's decoder and libh5bshuf, called one after the other on existing arrays, which is the
    limit of any implementation with these libraries on one core.
    """
    from fabio.ext.byte_offset import comp_cbf32, dec_cbf32

    image = picture(Path(bench.options["image"]) if bench.options["image"] else None)
    threads = max(os.cpu_count() or 1, 2)  # with one, the loop would do it itself
    blob = bytes(comp_cbf32(image.ravel()))
    room = np.empty(bslz4.bound(image.nbytes, image.itemsize), np.uint8)
    chain = Chain([Cbf(), Bslz4()])
    frame = Frame(Image(shape=PILATUS, type="int32", compression="cbf", frame=0), [memoryview(blob)])
    processor = FrameProcessor(chain, threads)
    processor.begin(Start(Header(filename="", shape=PILATUS, type="int32", compression="cbf"), {}))

    def libraries() -> None:
        for _ in range(CBF_FRAMES):
            bslz4.compress_into(np.asarray(dec_cbf32(blob, image.size)), room)

    def alone() -> None:
        for _ in range(CBF_FRAMES):
            chain.apply(frame)

    def together() -> None:
        waiting = Prefetch(processor, threads)
        pushed = (each for _ in range(CBF_FRAMES * threads) for each in waiting.push(frame, running=True))
        for part in (pushed, waiting.drain()):
            for each in part:
                assert isinstance(each.message, Frame)
                processor.process(each.message, each.result)

    try:
        return bench.in_turn(
            {
                "libraries": partial(_rate, libraries, 1), "the chain": partial(_rate, alone, 1),
                f"the chain in {threads} threads": partial(_rate, together, threads),
            }
        )  # fmt: skip
    finally:
        processor.close()


def _rate(action: Callable[[], None], threads: int) -> Turn:
    began = time.perf_counter()
    action()
    rate = CBF_FRAMES / (time.perf_counter() - began)
    return {"frames/s per thread": rate, "frames/s": rate * threads}
