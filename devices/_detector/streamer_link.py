"""The choice of a device's streamer by its properties: a child process, or one on another host."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.devices._series.streamer_process import ChildStreamer, RemoteStreamer, StreamerLink
from penstock.stins.addresses import host_port
from penstock.streamer.camera.loading import CAMERAS
from penstock.streamer.camera.own_stream import StreamingDetector
from penstock.streamer.camera.settings import Limits, Parameter, Value
from penstock.streamer.camera.unit import Unit

_OF_FRAMES: tuple[Parameter, ...] = (
    Parameter(
        name="DataHost", default="127.0.0.1",
        doc="Address of this host that the child streamer's data socket binds to.",
    ),
    Parameter(
        name="DataPort", default=9999, limits=Limits(0, 65535),
        doc="Port of the child streamer's data socket; 0 lets the system choose.",
    ),
    Parameter(
        name="BuffersMB", default=256, unit="MB", limits=Limits(1, 1_000_000),
        doc="Memory of the child streamer's buffer ring.",
    ),
    Parameter(
        name="HighWaterMark", default=0, limits=Limits(0, 1_000_000),
        doc="ZeroMQ high-water mark in messages; 0 for the streamer's own choice.",
    ),
    Parameter(
        name="IoThreads", default=1, limits=Limits(1, 64), doc="ZeroMQ I/O threads of the child streamer."
    ),
)  # fmt: skip


def streamer_properties(camera: type[Unit]) -> tuple[Parameter, ...]:
    """Return the device properties of the streamer; none if no frames pass through it."""
    return () if issubclass(camera, StreamingDetector) else _OF_FRAMES


def streamer_link(
    camera: type[Unit], unit: Mapping[str, Value], streamer: Mapping[str, Value], control: str, device: str
) -> StreamerLink:
    """Return the link of one device.

    Args:
        camera: class of the detector.
        unit: properties of the unit.
        streamer: values of `streamer_properties`.
        control: address of a streamer on another host; "" starts one as a child.
        device: name, for messages.
    """
    if control:
        return RemoteStreamer(control)
    shipped = camera.__module__.startswith(f"{CAMERAS}.")
    name = camera.__name__ if shipped else f"{camera.__module__}:{camera.__name__}"
    if not streamer:
        return ChildStreamer(name, unit, "", device=device)
    options = {"--buffers-mb": str(streamer["BuffersMB"]), "--io-threads": str(streamer["IoThreads"])}
    if streamer["HighWaterMark"]:
        options["--hwm"] = str(streamer["HighWaterMark"])
    data = f"tcp://{host_port(str(streamer['DataHost']), int(streamer['DataPort']))}"
    return ChildStreamer(name, unit, data, options, device=device)
