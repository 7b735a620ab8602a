"""A real IOC (softioc), which serves records by both protocols, for tests of channels: their values come when
they are told to, by a line of JSON on standard input: [record, value, severity, time]. It ends with it.
"""

from __future__ import annotations

import json
import sys
import time

from softioc import asyncio_dispatcher, builder, softioc

UDF = 17
OF_DEVICE = -2
"""The time of the record is that with which it is set."""

dispatcher = asyncio_dispatcher.AsyncioDispatcher()
builder.SetDeviceName("R")
records = {
    "energy": builder.aIn("energy", EGU="keV", TSE=OF_DEVICE),
    "shutter": builder.mbbIn("shutter", "closed", "open", initial_value=1),
    "count": builder.longIn("count", initial_value=3),
    "said": builder.WaveformIn("said", [0.0, 0.0], datatype="float64", TSE=OF_DEVICE),
    "never": builder.aIn("never", TSE=OF_DEVICE),
    "text": builder.stringIn("text", initial_value="text"),
}
builder.LoadDatabase()
softioc.iocInit(dispatcher)
records["energy"].set(0.5, timestamp=time.time())
records["said"].set([0.0, 0.0], timestamp=time.time())
print("{}", flush=True)
for line in sys.stdin:
    name, value, severity, moment = json.loads(line)
    records[name].set(value, severity, UDF if severity else 0, moment)
