"""The detectors that can be demonstrated without hardware, and the processes that each needs.

The Simulator needs its device server, whose streamer sends the frames; other detectors also need processes
that stand in for their hardware: a simulated control unit, which sends the frames itself, or a camera.
"""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

from penstock.devices._sls import virtual
from penstock.hosts.child import PENSTOCK, PYTHON, free_port
from penstock.stins.errors import UserError

HOST = "127.0.0.1"
RAM_DISK = "/dev/shm"


class NotBuilt(UserError):
    """Programs of others that a demonstration needs are missing; the sentence says what to run."""


@dataclass(frozen=True, kw_only=True)
class StandIn:
    """One process that stands in for hardware."""

    name: str
    """Name, such as "simulated control unit"."""
    command: tuple[str, ...]
    """It prints a line of JSON when ready."""
    deadline: float = 15.0
    """Seconds within which it must be ready."""


@dataclass(frozen=True, kw_only=True)
class Staged:
    """One simulated detector."""

    server: str
    """Tango class of its device, and name of its server."""
    source: Mapping[str, object]
    """`source` of its receiver's configuration."""
    properties: Mapping[str, object]
    """Device properties beyond ReceiverUrl."""
    receiver: Mapping[str, object] = field(default_factory=dict)
    """Further keys of its receiver's configuration."""
    stand_ins: tuple[StandIn, ...] = ()
    """Processes that stand in for its hardware, in the order of their start."""
    streams_itself: bool = False
    """True if one of them sends the frames, not our streamer."""
    initialised_by_reset: bool = False
    """True if it has just been switched on and needs Reset."""
    triggers: str = ""
    """Its trigger input as HOST:PORT; "" if the device has it as an attribute (TriggerAddress)."""
    look: Mapping[str, object] = field(default_factory=dict)
    """Attribute values with which its frames are worth looking at."""


def simulator() -> Staged:
    """Return the Simulator, on free ports."""
    port = free_port()
    return Staged(
        server="Simulator",
        source={"type": "stins", "endpoints": [f"tcp://{HOST}:{port}"]},
        properties={"DataPort": port},
        look={"Pattern": "powder"},
    )


def eiger(stream: str = "v1", sensor: tuple[int, int] = (512, 1024), pattern: str = "diffraction") -> Staged:
    """Return an EIGER2 with a simulated control unit, on free ports.

    Args:
        stream: version of the stream, "v1" or "v2".
        sensor: rows and columns.
        pattern: pattern of its frames, "diffraction" or "gradient".
    """
    http, data, triggers = free_port(), free_port(), free_port()
    rows, columns = sensor
    return Staged(
        server="Eiger",
        source={"type": f"dectris-{stream}", "endpoints": [f"tcp://{HOST}:{data}"]},
        properties={"Host": HOST, "Port": http, "Stream": stream, "StreamPort": data},
        stand_ins=(
            StandIn(
                name="simulated control unit",
                command=(
                    *PENSTOCK, "simplon", "--http", f"{HOST}:{http}", "--stream", stream,
                    "--stream-port", str(data), "--trigger-port", str(triggers),
                    "--sensor", f"{rows}x{columns}", "--pattern", pattern, "--json",
                ),
            ),
        ),
        streams_itself=True,
        initialised_by_reset=True,
        triggers=f"{HOST}:{triggers}",
    )  # fmt: skip


def pilatus(sensor: tuple[int, int] = (619, 487), pattern: str = "diffraction") -> Staged:
    """Return a PILATUS3 with a simulated camserver and a light streamer, on free ports.

    Args:
        sensor: rows and columns.
        pattern: pattern of its frames, "diffraction" or "gradient".
    """
    camserver, triggers, requests, data = (free_port() for _ in range(4))
    rows, columns = sensor
    memory = RAM_DISK if os.access(RAM_DISK, os.W_OK) else tempfile.gettempdir()
    folder = f"{memory}/penstock-pilatus-{uuid.uuid4().hex[:12]}"  # camserver makes and removes it
    return Staged(
        server="Pilatus",
        source={"type": "stins", "endpoints": [f"tcp://{HOST}:{data}"]},
        receiver={"transforms": [{"type": "cbf"}, {"type": "bslz4"}]},
        properties={
            "Host": HOST, "Port": camserver, "LightStreamer": f"{HOST}:{requests}", "StreamPort": data,
        },
        stand_ins=(
            StandIn(
                name="simulated camserver",
                command=(
                    *PENSTOCK, "camserver", "--folder", folder, "--tcp", f"{HOST}:{camserver}",
                    "--trigger-port", str(triggers), "--sensor", f"{rows}x{columns}",
                    "--pattern", pattern, "--json",
                ),
            ),
            StandIn(
                name="light streamer",
                command=(
                    *PYTHON, "-m", "penstock.streamer.light_streamer", "--folder", folder,
                    "--data", f"tcp://{HOST}:{data}", "--control", f"tcp://{HOST}:{requests}",
                ),
            ),
        ),
        streams_itself=True,
        triggers=f"{HOST}:{triggers}",
    )  # fmt: skip


def genicam() -> Staged:
    """Return a GenICam camera: the fake GigE Vision camera of libaravis, of which a computer has one."""
    data = free_port()
    return Staged(
        server="GenICam",
        source={"type": "stins", "endpoints": [f"tcp://{HOST}:{data}"]},
        # It shares this computer: one that pauses for 0.2 s would lose the frame that is under way.
        properties={"Address": HOST, "DataPort": data, "FrameRetention": 5.0},
        stand_ins=(
            StandIn(
                name="fake GigE Vision camera",
                command=(*PYTHON, "-m", "penstock.devices._genicam.fake_camera", "--wait", "10"),
            ),
        ),
        look={"AOIWidth": 256, "AOIHeight": 256},
    )


def areadetector(codec: str = "none") -> Staged:
    """Return a detector behind a simulated areaDetector IOC, on free ports.

    Args:
        codec: of its arrays, "none", "bslz4", "lz4" or "lz4hdf5".

    Raises:
        NotBuilt: p4p is missing.
    """
    if find_spec("p4p") is None:
        raise NotBuilt("p4p is not installed; install it with: pip install p4p==4.3.0 nose2")
    data, server = free_port(), free_port()
    return Staged(
        server="AreaDetector",
        source={"type": "stins", "endpoints": [f"tcp://{HOST}:{data}"]},
        properties={
            "DataPort": data, "NameServers": f"{HOST}:{server}", "DriverPrefix": "SIM:cam1:",
            "ImageRecord": "SIM:Pva1:Image", "ModeSoftware": "Software", "ReadoutTime": 0.0005,
            "SoftwareTriggerRecord": "TriggerSoftware", "PixelSize": 5.5e-6,
        },
        stand_ins=(
            StandIn(
                name="simulated areaDetector IOC",
                command=(
                    *PENSTOCK, "areadetector", "--tcp", f"{HOST}:{server}", "--codec", codec, "--json",
                ),
            ),
        ),
    )  # fmt: skip


def jungfrau(modules: int = 1) -> Staged:
    """Return a JUNGFRAU; see `_of_psi`."""
    return _of_psi("Jungfrau", modules)


def moench(modules: int = 1) -> Staged:
    """Return a MOENCH; see `_of_psi`."""
    return _of_psi("Moench", modules)


def _of_psi(model: str, modules: int) -> Staged:
    """Return a detector of PSI: its own virtual modules, each with its slsReceiver, on free ports.

    Args:
        model: Tango class of its device.
        modules: number of modules; several are joined by the receiver.

    Raises:
        NotBuilt: they are not there.
    """
    folder = virtual.found(model)
    if folder is None:
        raise NotBuilt(
            f"PSI's virtual {model.upper()} and slsReceiver are not in {virtual.BUILT}; run make judges "
            "first, in a clone of Penstock"
        )
    if find_spec("slsdet") is None:
        raise NotBuilt("slsdet is not installed; install it with: pip install slsdet==10.0.1")
    module = free_port(2 * modules)
    receiver, udp, data = (free_port(modules) for _ in range(3))
    endpoints = [f"tcp://{HOST}:{data + number}" for number in range(modules)]
    hosts = " ".join(f"{HOST}:{module + 2 * number}" for number in range(modules))
    return Staged(
        server=model,
        source={"type": "sls", "endpoints": endpoints, **({"join": "modules"} if modules > 1 else {})},
        properties={
            "Host": hosts, "Receiver": f"{HOST}:{receiver}", "UdpSource": HOST, "UdpDestination": HOST,
            "UdpPort": udp, "StreamPort": data,
        },
        stand_ins=(
            StandIn(
                name="virtual detector and slsReceiver of PSI",
                command=(
                    *PYTHON, "-m", "penstock.devices._sls.virtual",
                    str(folder), virtual.server_of(model), str(modules), str(module), str(receiver),
                ),
                deadline=60.0,
            ),
        ),
        streams_itself=True,
        initialised_by_reset=True,
    )  # fmt: skip


MODELS: Mapping[str, Callable[..., Staged]] = {
    "Simulator": simulator,
    "Eiger": eiger,
    "Pilatus": pilatus,
    "GenICam": genicam,
    "Jungfrau": jungfrau,
    "Moench": moench,
    "AreaDetector": areadetector,
}
"""Simulated detectors by the Tango class of the device."""


def json_line(line: str) -> bool | None:
    """Return True for the line with which a `StandIn` reports that it is ready; for `Child`."""
    return line.startswith("{") or None
