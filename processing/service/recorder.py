"""The process that records the channels: started with the pipeline, again when it dies, and ended with it."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import time
from collections.abc import Sequence

import msgspec

from penstock.processing.channels.recording import News, Places, Recording, Writer
from penstock.processing.config.pipeline_config import ChannelConfig
from penstock.processing.service import lifelines
from penstock.service.child import ending

log = logging.getLogger(__name__)

RECORDER = "penstock.processing.channels.recorder"
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 10.0
"""Seconds before it is started again; they double up to the longest, and begin anew after a life of that."""
LEAVE_SECONDS = 5.0
EVENTS = "100000"
"""Events that may wait to be recorded: of more than 1,000 Tango drops the others, unless it is told."""


class Recorder:
    """The process, and the recording, which outlives it and every distributor.

    Args:
        channels: that it records.
    """

    def __init__(self, channels: Sequence[ChannelConfig]) -> None:
        self._channels = tuple(channels)
        self._recording = Recording()
        self._process: subprocess.Popen[bytes] | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def places(self) -> Places:
        """Places of the recorded values."""
        return self._recording.places

    @property
    def processes(self) -> dict[str, int]:
        """Its process id, if it runs."""
        process = self._process
        return {} if process is None or process.poll() is not None else {"recorder": process.pid}

    def start(self) -> None:
        """Start it, unless it runs already."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep())

    async def close(self) -> None:
        """End it, and let go of what it has recorded."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._process is not None:
            lifelines.close(self._process)
            await asyncio.to_thread(lifelines.end, self._process, "the recorder of channels", LEAVE_SECONDS)
        self._recording.close()

    async def _keep(self) -> None:
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        writer, settings = Writer(self.places), {"places": self.places, "channels": self._channels}
        try:
            while True:
                began = loop.time()
                self._process = process = subprocess.Popen(
                    [sys.executable, "-P", "-m", RECORDER, msgspec.json.encode(settings).decode()],
                    stdin=subprocess.PIPE, start_new_session=True,
                    env={"TANGO_EVENT_BUFFER_HWM": EVENTS, **os.environ},
                )  # fmt: skip
                how = ending(await lifelines.ended(process))
                pause = FIRST_PAUSE if loop.time() - began > LONGEST_PAUSE else pause
                log.error("the recorder of channels ended %s; it is started again in %g s", how, pause)
                settings["ended"] = ended = time.time()
                for place, channel in enumerate(self._channels):
                    writer.say(News(place, problem=f"the process that records it ended {how}"))
                    if channel.by == "time" and channel.how == "hold":
                        writer.ends(place, ended)
                await asyncio.sleep(pause)
                pause = min(LONGEST_PAUSE, 2 * pause)
        finally:
            writer.close()
