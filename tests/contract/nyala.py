"""A good box for the suite's own tests: it rounds, has a region, and registers that keep what was written."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.stins.user_part import UserPart
from penstock.streamer.camera.settings import Limits, Parameter, Settings, Value
from penstock.streamer.camera.unit import FrameFormat
from tests.streamer.own_stream.box import SHAPE, Box

TICK = 0.001
"""Seconds of its clock."""
FIRST_DAY: dict[str, Value] = {
    "exposure_time": 0.5, "latency_time": 0.0, "n_triggers": 1, "n_frames_per_trigger": 1, "rows": SHAPE[0],
}  # fmt: skip


class Nyala(Box):
    """Each method is short, so that a test can plant a fault in it."""

    parameters = (
        *Box.parameters,
        Parameter(name="Rows", default=SHAPE[0], limits=Limits(1, SHAPE[0]), doc="From the first on."),
    )

    def __init__(self, properties: Mapping[str, Value]) -> None:
        super().__init__(properties)
        self.registers = dict(FIRST_DAY)
        self.box.values["Rows"] = SHAPE[0]

    def registers_of(self, settings: Settings) -> dict[str, Value]:
        """What is written into the box for a series."""
        return {
            "exposure_time": settings.exposure_time, "latency_time": settings.latency_time,
            "n_triggers": settings.n_triggers, "n_frames_per_trigger": settings.n_frames_per_trigger,
            "rows": settings.camera["Rows"],
        }  # fmt: skip

    def prepare(self, settings: Settings) -> FrameFormat:
        super().prepare(settings)
        self.registers |= self.registers_of(settings)
        self.registers["exposure_time"] = round(float(self.registers["exposure_time"]) / TICK) * TICK
        self.box.shape = (int(self.registers["rows"]), SHAPE[1])
        return self._format()

    def as_prepared(self, settings: Settings) -> Settings:
        return msgspec.structs.replace(settings, exposure_time=float(self.registers["exposure_time"]))

    def arm(self, user: UserPart) -> None:
        assert self.box.settings is not None
        own = {name: value for name, value in self.registers.items() if name != "rows"}
        self.box.settings = msgspec.structs.replace(self.box.settings, **own)
        super().arm(user)
