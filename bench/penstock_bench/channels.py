"""What channels add to a pipeline: six Tango attributes, or EPICS records, joined to frames.

Two pipelines, each behind a receiver of its own, take series in turn: one without channels, one with them,
whose values come already, 1,000 per second and channel. What counts is the rate: frames of a series by the
time from its first frame until the last one is done; the result file is closed later if values may still
come. Beside it stands the processor time per frame of distributor and workers, which limits the rate; the
recorder is a process of its own, and its time is shown per value.

The attributes are those of a real device, with change events; the records those of an IOC, three of them over
pvAccess and three over Channel Access. Some of their values are lost in it, so each frame has the nearest
one, within the 0.1 s of a pipeline whose file says nothing else, and none may be without.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from typing import Any

from penstock.hosts.child import free_port
from penstock_bench.consumers import pipeline_of
from penstock_bench.epics import alone
from penstock_bench.programs import CHANNELS, DEVICE, PREFIX, SERVER
from penstock_bench.receivers import Pipeline, Receiver, per_frame, program, since, until
from penstock_bench.results import Frames, Turn, Turns
from penstock_bench.runner import Bench, NotMeasured

VALUES = 1000.0
"""Per second and channel."""
CLASS = """
from penstock.processing import Processor


class Bench(Processor):
    def process(self, frame):
        return {"first": frame.pixels[0, 0]}
"""


def tango(bench: Bench, frames: Frames) -> Turns:
    """Join six attributes of a device."""
    import tango

    from penstock.beamline.registration import register
    from penstock.hosts.tango_database import start_database

    with ExitStack() as processes:
        database = start_database(bench.folder / "database")
        processes.callback(database.stop)
        host = f"127.0.0.1:{database.answer}"
        register(tango.Database("127.0.0.1", database.answer), SERVER, "Channels", DEVICE, {})
        program(processes, "device", VALUES, environment={"TANGO_HOST": host})
        names = [f"tango://{host}/{DEVICE}/c{n}" for n in range(CHANNELS)]
        return joined(bench, frames, names, processes, {"tolerance": 0.003})


def epics(bench: Bench, frames: Frames) -> Turns:
    """Join six records of an IOC, on ports of their own: nothing is broadcast."""
    if missing := [name for name in ("softioc", "p4p", "aioca") if find_spec(name) is None]:
        raise NotMeasured(f"{missing[0]} is missing; pip install 'penstock[dev]' installs it")
    environment = alone() | {
        "EPICS_CA_SERVER_PORT": str(free_port()), "EPICS_CA_REPEATER_PORT": str(free_port()),
        "EPICS_CA_ADDR_LIST": "127.0.0.1", "EPICS_CA_AUTO_ADDR_LIST": "NO",
        "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_SERVER_PORT": str(free_port()),
    }  # fmt: skip
    with ExitStack() as processes:
        program(processes, "ioc", VALUES, environment=environment)
        names = [f"{'ca' if n % 2 else 'pva'}://{PREFIX}:c{n}" for n in range(CHANNELS)]
        return joined(bench, frames, names, processes, environment=environment)


def joined(
    bench: Bench, frames: Frames, names: Sequence[str], processes: ExitStack,
    keys: Mapping[str, Any] | None = None, environment: Mapping[str, str] | None = None,
) -> Turns:  # fmt: skip
    """Compare a pipeline with channels of these names, and further keys, to one without."""
    channels = [{"name": f"c{n}", "attribute": name, **(keys or {})} for n, name in enumerate(names)]
    takers = {}
    for name, some in (("without", []), ("with six channels", channels)):
        receiver, pipeline = pipeline_of(
            bench.folder, frames, CLASS, 1, processes, environment=environment,
            results_root=str(bench.folder), channels=some,
        )  # fmt: skip
        takers[name] = partial(_turn, receiver, pipeline, frames, has_channels=bool(some))
    until(pipeline.client, _values_come, "no values come of the channels")
    return bench.in_turn(takers)


def _values_come(status: Any) -> bool:
    return all(each.how in ("events", "monitor") and each.values for each in status.channels)


def _turn(receiver: Receiver, pipeline: Pipeline, frames: Frames, *, has_channels: bool) -> Turn:
    with receiver.taking(frames) as taking:
        spent, values = since(pipeline.seconds), _values(pipeline)
    sent = time.monotonic()
    pipeline.did(frames.count)
    seconds = frames.count / taking.rate + time.monotonic() - sent
    pipeline.over(frames.count)
    took = spent()
    ours = {name: took[name] for name in ("distributor", "workers")}
    turn = {"frames/s": frames.count / seconds} | per_frame(ours, frames.count)
    if has_channels:
        status, recorded = pipeline.client.status(), _values(pipeline) - values
        if not recorded:
            raise RuntimeError(f"no values have come: {status.channels}")
        # Beside other load device and recorder may fall behind: what a join takes is the same.
        turn["recorder, µs per value"] = took["recorder"] / recorded * 1e6
        turn["values lacking"] = float(sum(status.series.unmatched.values() if status.series else ()))
    return turn


def _values(pipeline: Pipeline) -> int:
    return sum(each.values for each in pipeline.client.status().channels)
