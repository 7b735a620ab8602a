"""A real IOC (softioc) with records like those of a driver; it ends with its standard input."""

from __future__ import annotations

import sys

from softioc import asyncio_dispatcher, builder, softioc

dispatcher = asyncio_dispatcher.AsyncioDispatcher()
builder.SetDeviceName("R")
builder.aOut(
    "AcquireTime", initial_value=0.1, EGU="s", DRVL=1e-5, DRVH=100, DESC="exposure", always_update=True,
    on_update=lambda value: readback.set(round(value, 3)),
)  # fmt: skip
readback = builder.aIn("AcquireTime_RBV", initial_value=0.1, EGU="s")
builder.mbbOut("TriggerMode", "Internal", "External", initial_value=0)
builder.boolOut("Acquire", ZNAM="Done", ONAM="Acquire", initial_value=False)
builder.stringIn("Model_RBV", initial_value="X")
builder.longOut("NumImages", initial_value=1, DRVL=1, DRVH=5)
builder.aIn("Temperature", initial_value=50.0, HIHI=40, HHSV="MAJOR")
builder.WaveformIn("File_RBV", [ord(character) for character in "/data/x.xml"] + [0, 0], datatype="int8")
builder.WaveformIn("Curve_RBV", [1.0, 2.0, 3.0])
builder.LoadDatabase()
softioc.iocInit(dispatcher)
print("{}", flush=True)
sys.stdin.read()
