"""An IOC whose records change by themselves: python -P -m penstock.bench.channel_ioc RATE.

They are served over Channel Access and pvAccess, as the environment says; their time is when the record was
processed.
"""

from __future__ import annotations

import sys
import time

from softioc import asyncio_dispatcher, builder, softioc

PREFIX = "BENCH"
CHANNELS = 6
READY = "records are ready"


def main() -> None:
    """Serve records c0, c1 …, so many values of each per second, until the process is ended."""
    dispatcher = asyncio_dispatcher.AsyncioDispatcher()
    builder.SetDeviceName(PREFIX)
    records = [builder.aIn(f"c{number}", initial_value=0.0) for number in range(CHANNELS)]
    builder.LoadDatabase()
    softioc.iocInit(dispatcher)
    print(READY, flush=True)
    beat = 1.0 / float(sys.argv[1])
    due, number = time.monotonic(), 0
    while True:
        number += 1
        for record in records:
            record.set(float(number))
        # A value that is set before the last one was processed takes its place: none is made up for.
        due = max(due + beat, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
