"""What channels of EPICS add to a pipeline: six records, three of them over pvAccess and three over Channel
Access, joined to frames as those of Tango are.

The IOC is a real one, of records that Python sets; some of 1,000 values per second are lost in it. So each
frame has the nearest value, within the 0.1 s of a pipeline whose file says nothing else, and none may be
without.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

from penstock.bench.channel_ioc import CHANNELS, PREFIX, READY
from penstock.bench.pipeline import DEADLINE, Frames
from penstock.bench.reductions import Figure, NotMeasured, Progress
from penstock.bench.reductions_channels import CASES, VALUES, compared
from penstock.hosts.child import PYTHON, Child, free_port

PACKAGES = ("softioc", "p4p", "aioca")


def measure(rounds: int, progress: Progress, cases: tuple[Frames, ...] = CASES[:1]) -> Iterator[Figure]:
    """Measure with receivers, pipelines and an IOC as processes; see `compared`.

    Raises:
        NotMeasured: a package is missing.
    """
    if missing := [name for name in PACKAGES if find_spec(name) is None]:
        raise NotMeasured(f"epics: {missing[0]} is missing; pip install 'penstock[dev]' installs it")
    with ExitStack() as processes:
        progress("epics: processes start")
        folder = Path(processes.enter_context(tempfile.TemporaryDirectory(prefix="penstock-bench-")))
        environment = _environment()
        processes.enter_context(
            Child(
                "IOC", (*PYTHON, "-m", "penstock.bench.channel_ioc", str(VALUES)),
                lambda line: True if line.strip() == READY else None, deadline=DEADLINE,
                environment=environment,
            )
        )  # fmt: skip
        channels = [
            {"name": f"c{n}", "attribute": f"{'ca' if n % 2 else 'pva'}://{PREFIX}:c{n}"}
            for n in range(CHANNELS)
        ]
        yield from compared("epics", channels, rounds, progress, cases, folder, processes, environment)


def _environment() -> dict[str, str]:
    """Return the variables of an IOC and its clients on ports of their own: nothing is broadcast."""
    ca, repeater, pva, search = (str(free_port()) for _ in range(4))
    return {
        "EPICS_CA_SERVER_PORT": ca, "EPICS_CA_REPEATER_PORT": repeater,
        "EPICS_CAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_CA_ADDR_LIST": "127.0.0.1",
        "EPICS_CA_AUTO_ADDR_LIST": "NO",
        "EPICS_PVAS_SERVER_PORT": pva, "EPICS_PVAS_BROADCAST_PORT": search,
        "EPICS_PVAS_INTF_ADDR_LIST": "127.0.0.1", "EPICS_PVAS_AUTO_BEACON_ADDR_LIST": "NO",
        "EPICS_PVA_BROADCAST_PORT": search, "EPICS_PVA_ADDR_LIST": "127.0.0.1",
        "EPICS_PVA_AUTO_ADDR_LIST": "NO",
    }  # fmt: skip
