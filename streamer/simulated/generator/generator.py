"""The data generator: STINS series without a camera, as fast as possible or at a given rate.

It sends one stream, or several streams of one detector, each over its own socket. Faults are committed on
request and listed in the report, which no receiver ever sees.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence

from penstock.stins.messages import EndReason, SeriesEnd
from penstock.streamer.camera.push_socket import PushSocket
from penstock.streamer.simulated.generator.plan import Plan, Report
from penstock.streamer.simulated.generator.stream import TICK, Stream
from penstock.streamer.slices import sleep_until

NAP = 0.0005
"""Shortest time worth sleeping, in seconds."""
DIED = "died"


def generate(
    plan: Plan,
    pushes: Sequence[PushSocket],
    *,
    stopping: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda sent: None,
) -> Report:
    """Send one series over one socket per stream; end early, with reason "stop", once `stopping()` is true.

    A plan that is to die returns with reason "died", without an end message: the caller then kills the
    process.
    """
    series = uuid.uuid4().hex
    streams = [Stream(plan, number, series, push, stopping) for number, push in enumerate(pushes)]
    for stream in streams:
        stream.begin()
    start, cpu = time.monotonic(), time.process_time()
    sent = _send_frames(plan, streams, stopping, progress)
    seconds, cpu = max(time.monotonic() - start, 1e-9), time.process_time() - cpu
    progress(sent)
    if sent == plan.die_at:
        reason = DIED
    else:
        reason = (EndReason.COMPLETE if sent == plan.frames else EndReason.STOP).value
    all_sent = [stream.send_rest() for stream in streams]
    if reason == EndReason.COMPLETE.value and not all(all_sent):
        reason = EndReason.STOP.value
    while plan.never_end and reason != DIED and not stopping():
        time.sleep(TICK)
    if reason != DIED and not plan.never_end:
        for stream in streams:
            stream.end(SeriesEnd(reason=reason, triggered=sent, sent=sent))
    nbytes = sum(stream.bytes for stream in streams)
    return Report(
        series=series,
        planned=plan.frames,
        sent=sent,
        bytes=nbytes,
        seconds=round(seconds, 6),
        rate=round(sent / seconds, 1),
        megabytes_per_second=round(nbytes / seconds / 1e6, 1),
        cpu_microseconds_per_frame=round(1e6 * cpu / max(sent, 1), 2),
        reason=reason,
        faults=[stream.log for stream in streams],
    )


def _send_frames(
    plan: Plan, streams: Sequence[Stream], stopping: Callable[[], bool], progress: Callable[[int], None]
) -> int:
    """Send the frames of all streams in turn; return how many each has sent."""
    shown = start = time.monotonic()
    for frame in range(plan.frames):
        now = time.monotonic()
        if plan.rate and (due := start + frame / plan.rate) - now > NAP:
            sleep_until(due, stopping)
            if stopping():
                return frame
        if now - shown > TICK:
            shown = now
            progress(frame)
            if stopping():
                return frame
        if frame == plan.die_at:
            return frame
        for stream in streams:
            if not stream.frame(frame):
                return frame
    return plan.frames
