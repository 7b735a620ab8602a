"""The data generator: STINS series as fast as the machine allows, or at a rate, without a camera.

One stream, or several that show one detector, each over a socket of its own. Faults happen on
request and stand in the report, which no receiver ever sees.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence

from penstock.stins.messages import EndReason, SeriesEnd
from penstock.streamer.generator_plan import Plan, Report
from penstock.streamer.generator_stream import TICK, Stream
from penstock.streamer.push_socket import PushSocket

NAP = 0.0005
"""Seconds ahead of the rate below which sleeping costs more than it saves."""
DIED = "died"


def generate(
    plan: Plan,
    pushes: Sequence[PushSocket],
    *,
    stopping: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda sent: None,
) -> Report:
    """Send one series over one socket a stream; ends early, with reason "stop", once `stopping()` says so.

    A plan that is to die returns with reason "died", what came before handed over and no end message
    sent: whoever called it then kills the process.
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
    """The frames of every stream, in turn; how many each has sent."""
    shown = start = time.monotonic()
    for frame in range(plan.frames):
        now = time.monotonic()
        if plan.rate and (ahead := start + frame / plan.rate - now) > NAP:
            time.sleep(ahead)
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
