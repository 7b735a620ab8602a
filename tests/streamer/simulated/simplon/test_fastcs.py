"""The judge of the simulated control unit: fastcs-eiger, Diamond's client of real ones, unmodified."""

from __future__ import annotations

import json
import subprocess

import pytest

from penstock.streamer.simulated.simplon.control_unit import ControlUnit
from tests.streamer.simulated.simplon.client import SENSOR, Client, decoded
from tests.third_party import program_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

SCRIPT = """
import asyncio, json, sys
from fastcs.connections import IPConnectionSettings
from fastcs_eiger.controllers.eiger_controller import EigerController

async def main(port, api):
    box = EigerController(IPConnectionSettings("127.0.0.1", port), api)
    await box.initialise()
    detector = box.sub_controllers["detector"]
    read = 0
    for subsystem in box.get_subsystem_controllers():
        for attribute in subsystem.attributes.values():
            if attribute.has_io_ref():
                await subsystem._io.update(attribute)
                read += 1

    async def put(name, value):
        await detector._io.send(detector.attributes[name], value)
        await box.update()  # what the answer says has changed

    async def state():
        await detector._io.update(detector.attributes["state"])
        return detector.attributes["state"].get()

    await put("photon_energy", 12000.0)
    threshold = detector.attributes["threshold_energy"].get()
    await put("count_time", 0.05)
    bits = detector.attributes["bit_depth_image"].get()
    await put("nimages", 3)
    states = [await state()]
    await detector.arm()
    states.append(await state())
    await detector.trigger()
    states.append(await state())
    await detector.arm()
    await detector.abort()
    states.append(await state())
    await box.connection.close()
    print(json.dumps({"read": read, "threshold": threshold, "bits": bits, "states": states}))

asyncio.run(main(int(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.parametrize("api", ["1.8.0", "1.6.0"])
def test_fastcs_reads_every_key_and_takes_a_series(api: str) -> None:
    python = program_of("fastcs", "python")
    with ControlUnit(api=api, stream="legacy", sensor=SENSOR) as box:
        client = Client(box, api)
        box.power(False)  # so that the judge initialises it
        box.power(True)
        session = subprocess.run(
            [python, "-c", SCRIPT, str(box.http_port), api], capture_output=True, text=True, timeout=60
        )
        assert session.returncode == 0, session.stderr
        said = json.loads(session.stdout.splitlines()[-1])
        assert said.pop("read") > 60
        assert said == {"threshold": 6000.0, "bits": 32, "states": ["idle", "ready", "idle", "idle"]}
        messages = [type(message).__name__ for message in decoded(client, client.receive(7))]
        assert messages == ["Start", "Frame", "Frame", "Frame", "SeriesEnd", "Start", "SeriesEnd"]
        client.close()
