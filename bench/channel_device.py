"""A Tango device whose attributes change by themselves: python -P -m penstock.bench.channel_device RATE."""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import Any

import tango
from tango.server import Device, run

SERVER, INSTANCE, DEVICE = "channel_device", "bench", "bench/channels/1"
CHANNELS = 6
JITTER = 0.002
"""Most in s by which times differ from an even beat."""
BEAT = 0.01
"""Seconds between two bursts of values."""
READY = "channels are ready"


class Channels(Device):  # type: ignore[misc]
    """Numbers c0, c1 …, each with change events, so many per second."""

    def init_device(self) -> None:
        """Begin to push."""
        super().init_device()
        for number in range(CHANNELS):
            attribute = tango.Attr(f"c{number}", tango.DevDouble, tango.AttrWriteType.READ)
            self.add_attribute(attribute, self._read)
            self.set_change_event(f"c{number}", True, False)
        threading.Thread(target=self._push, args=(float(sys.argv[1]),), daemon=True).start()

    def _read(self, attribute: Any) -> None:
        attribute.set_value(0.0)

    def _push(self, rate: float) -> None:
        with tango.EnsureOmniThread():
            print(READY, flush=True)
            begin, sent = time.time(), 0
            while True:
                due = int((time.time() - begin) * rate)
                for number in range(sent, due):
                    for channel in range(CHANNELS):
                        moment = begin + number / rate + random.uniform(-JITTER, JITTER)
                        self.push_change_event(
                            f"c{channel}", float(number), moment, tango.AttrQuality.ATTR_VALID
                        )
                sent = max(sent, due)
                time.sleep(BEAT)


if __name__ == "__main__":
    run((Channels,), args=[SERVER, INSTANCE])
