"""Series of a Pilatus with everything at once, at random."""

from __future__ import annotations

import random
import time

import pytest

from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.simulated.camserver.faults import Faults
from penstock.streamer.simulated.camserver.server import SimulatedCamserver
from penstock.streamer.simulated.triggers import TriggerSource
from tests.devices.pilatus.units import address_of
from tests.streamer.own_stream.rig import Rig, done


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_whatever_happens_in_a_series_the_next_one_is_whole(
    box: Rig, simulated: SimulatedCamserver, seed: int
) -> None:
    """Seeded: modes, ends at any moment, kills that are answered oddly, files that do not come."""
    chance = random.Random(seed)
    for number in range(12):
        mode = chance.choice([TriggerMode.INTERNAL, TriggerMode.SOFTWARE, TriggerMode.EXTERNAL_MULTI])
        frames, how = chance.randint(1, 6), chance.choice(["", "", "stop", "abort"])
        simulated.faults = Faults(
            both_ends=chance.random() < 0.5,
            slow_kill=chance.choice([0.0, 0.0, 0.2]),
            lost_files=(0,) if chance.random() < 0.1 else (),
            ignore_kills=chance.choice([0, 0, 0, 1]),
        )
        exposure = chance.choice([0.001, 0.02, 0.1])
        series = box.arm(exposure, trigger_mode=mode, n_triggers=frames).series
        triggers = TriggerSource(address_of(simulated.trigger_address))
        given = frames if not how else chance.randint(0, frames)
        for trigger in range(given):
            if mode is TriggerMode.SOFTWARE:
                box.until(lambda status: status.ready_for_trigger)
                box.engine.trigger()
            elif mode is TriggerMode.EXTERNAL_MULTI:
                triggers.pulse(moment=1000.0 * number + trigger)
        triggers.close()
        if how:
            time.sleep(chance.random() * 0.1)  # the moment of the end is what is tried out
            done(getattr(box.engine, how)())
        status = box.until(lambda status: status.state in ("idle", "fault"))
        assert status.state == "idle", status.message
        start, taken, end = box.series()
        assert start.header.series == end.series == series
        places = [frame.image.frame for frame in taken]
        assert places == sorted(set(places)) and all(
            0 <= place < frames for place in places if place is not None
        )
        assert (end.triggered or 0) == (end.sent or 0) + sum((end.lost or {}).values())
        assert end.sent == len(taken)
        if not how:
            assert (end.reason, end.triggered) == ("complete", frames)
    simulated.faults = Faults()
    box.arm(0.01, n_triggers=3)
    assert [frame.image.frame for frame in box.series()[1]] == [0, 1, 2]
