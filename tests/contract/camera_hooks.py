"""What a test class of a camera says: its camera, how its stand-in is triggered, and what goes wrong when.

A hook that a test class does not have leaves out the tests that need it, with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest

from penstock.streamer.camera.checks import complete_properties
from penstock.streamer.camera.contract import Camera
from penstock.streamer.camera.settings import TriggerMode, Value
from tests.contract.unit_contract import UnitContract
from tests.streamer.rig import Rig, settings

EDGES = (TriggerMode.EXTERNAL_MULTI, TriggerMode.EXTERNAL_MULTI_GATE)
"""Modes in which each frame has an edge of its own."""
LONG = 30.0
"""An exposure that no test waits for, in seconds."""
SLOTS = 4
"""Buffers of a rig whose ring is soon full."""
WITHOUT_LIBRARY = """
import ctypes
class CDLL(ctypes.CDLL):
    def __init__(self, name, *more, **keys):
        if "{library}" in str(name):
            raise OSError(f"{{name}}: cannot open shared object file: No such file or directory")
        super().__init__(name, *more, **keys)
ctypes.CDLL = CDLL
"""


class CameraHooks(UnitContract):
    """What a subclass says, and what the tests do with it."""

    camera: ClassVar[type[Camera]]
    properties: ClassVar[Mapping[str, Value]] = {}
    """Of the unit, where the defaults do not do."""
    sdk: ClassVar[str | None]
    """Python module that the camera loads when it is opened; `None` if it has none. This or `library` has to
    be said."""
    library: ClassVar[str | None]
    """Shared library that the camera loads when it is opened: a part of its name."""
    shape: ClassVar[tuple[int, ...] | None] = None
    """Shape of a whole frame as the data sheet has it, (rows, cols); rows and columns differ."""
    sees_exposures: ClassVar[bool] = True
    """The SDK says when an exposure begins, and the camera passes it on by `Acquisition.triggered`."""
    exposure: ClassVar[float] = 0.001
    """Of most series, in seconds."""
    latency: ClassVar[float] = 0.02
    """Of the series whose frames are told to be apart, in seconds: much more than the camera's dead time."""
    rounded: ClassVar[tuple[float, float] | None] = None
    """An exposure in seconds, and what the stand-in makes of it, which is at least 2 % off; `None` if it
    takes all as they are. Its modes include SOFTWARE then."""

    def edge(self, rig: Rig, seconds: float) -> None:
        """Give the stand-in's trigger input an edge that is high for `seconds`.

        Edges that come during an exposure wait for its end: the suite measures no time.
        """
        raise NotImplementedError(f"{type(self).__name__} needs edge(): it has external trigger modes")

    def lose(self, rig: Rig, index: int) -> None:
        """Let the stand-in lose this frame of the next series: triggered and counted, it does not come."""
        raise NotImplementedError(f"{type(self).__name__} needs lose(): every camera loses a frame some day")

    # Hooks that a test class may lack

    OPTIONAL: ClassVar[Mapping[str, str]] = {
        "fail": "its SDK calls no error back",
        "mark": "its stand-in gives no pixel a value of its own",
        "region": "it always reads out the whole sensor",
        "power": "its stand-in cannot be switched off",
        "leave_settings": "no other program can set its stand-in",
    }

    def fail(self, rig: Rig) -> None:
        """Let the stand-in call an error back; for cameras whose SDK does that."""

    def mark(self, rig: Rig, row: int, col: int) -> None:
        """Let the stand-in give this pixel of the next series' frames a greater value than all others."""

    def region(self, rows: int, cols: int) -> Mapping[str, Value]:
        """The camera's parameters for a region of so many rows and columns in the sensor's corner."""
        return {}

    def power(self, rig: Rig, on: bool) -> None:
        """Switch the stand-in off, or on again with the settings of its first day."""

    def leave_settings(self, rig: Rig) -> None:
        """Let another program change exposure, period, trigger and region, and leave them so."""

    # How tests use it

    def open(self) -> Camera:
        """A unit, opened as the streamer does it."""
        return self.camera(complete_properties(self.camera, self.properties))

    def without_sdk(self) -> str:
        """Statements after which its `sdk` and its `library` are missing; "" if it needs none.

        Whoever forgets to name them would lose two tests without a word.
        """
        sdk, library = (getattr(self, name, "") for name in ("sdk", "library"))
        if sdk == library == "":
            raise NotImplementedError(
                f'{type(self).__name__} needs sdk = "…": the module that the camera loads when opened, or '
                'library = "…": its shared library; None if it has none'
            )
        missing = f'import sys; sys.modules["{sdk}"] = None\n' if sdk else ""
        return missing + (WITHOUT_LIBRARY.format(library=library) if library else "")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Each test with `mode` runs in every mode that the camera declares."""
        modes = self.camera.trigger_modes
        if "mode" in metafunc.fixturenames:
            metafunc.parametrize("mode", modes)
        if "exposing" in metafunc.fixturenames:
            metafunc.parametrize("exposing", [False, True], ids=["waiting", "exposing"])
        if "waiting_mode" in metafunc.fixturenames:
            metafunc.parametrize("waiting_mode", [mode for mode in modes if mode is not TriggerMode.INTERNAL])

    @pytest.fixture
    def unit(self) -> Iterator[Camera]:
        unit = self.open()
        yield unit
        unit.close()

    @pytest.fixture
    def rig(self) -> Iterator[Rig]:
        with self.opened_rig() as rig:
            yield rig

    @pytest.fixture
    def tight_rig(self) -> Iterator[Rig]:
        """A rig with four buffers."""
        with self.opened_tight_rig() as rig:
            yield rig

    @contextmanager
    def opened_rig(self) -> Iterator[Rig]:
        with Rig(self.open(), buffers=64 * 2**20) as rig:
            rig.connect()
            yield rig

    @contextmanager
    def opened_tight_rig(self) -> Iterator[Rig]:
        unit = self.open()
        with Rig(unit, buffers=SLOTS * unit.prepare(self.wanted(unit)).slot_bytes) as rig:
            rig.connect()
            yield rig

    def wanted(self, unit: Camera, **changes: Any) -> Any:
        """Complete settings of a series, as `prepare` of a unit gets them."""
        values = {p.name: p.default for p in unit.parameters if p.writable}
        usual = {"trigger_mode": unit.trigger_modes[0], "exposure_time": self.exposure, "camera": values}
        return settings(**(usual | changes))

    def arm(self, rig: Rig, mode: TriggerMode, frames: int, exposure: float | None = None) -> None:
        """Arm a series of one frame a trigger."""
        exposure = self.exposure if exposure is None else exposure
        rig.arm(trigger_mode=mode, exposure_time=exposure, n_triggers=frames)

    def trigger(self, rig: Rig, mode: TriggerMode, frames: int = 1, exposure: float | None = None) -> None:
        """Start frames of a series that is armed, unless it is over."""
        exposure = self.exposure if exposure is None else exposure
        if mode is TriggerMode.SOFTWARE:
            for _ in range(frames):
                now = rig.until(lambda status: status.ready_for_trigger or status.state != "acquiring")
                if now.ready_for_trigger:
                    rig.engine.trigger()
        elif mode is TriggerMode.EXTERNAL:
            self.edge(rig, exposure)
        elif mode is not TriggerMode.INTERNAL:
            for _ in range(frames):
                self.edge(rig, exposure)

    def take(self, rig: Rig, mode: TriggerMode, frames: int = 3) -> tuple[Any, list[Any], Any]:
        """Take a whole series; its messages."""
        self.arm(rig, mode, frames)
        self.trigger(rig, mode, frames)
        return rig.receive_series()

    def long(self, rig: Rig) -> float:
        """An exposure that is not over before the test, in seconds."""
        longest = rig.engine.describe().limits["ExposureTime"].maximum
        return LONG if longest is None else min(LONG, longest)
