"""The properties, parameters and readings of the detectors: Tango names, and those of slsdet.

Source: slsdet 10.0.1, `detector.py` (properties and their documentation), `jungfrau.py`; slsDetectorPackage
10, `Detector.h`; limits: `jungfrauDetectorServer/slsDetectorServer_defs.h`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.devices._sls.client import Client, Step
from penstock.streamer.camera.settings import Limits, Parameter, Value

PROPERTIES: tuple[Parameter, ...] = (
    Parameter(
        name="Host", default="", is_list=True, required=True,
        doc="Modules as HOST or HOST:PORT, one per line or separated by blanks, in the order of slsdet's "
        "hostname.",
    ),
    Parameter(
        name="Receiver", default="127.0.0.1:1954", is_list=True,
        doc="Their slsReceivers as HOST:PORT, separated by blanks; the ports of a single one are counted up.",
    ),
    Parameter(
        name="UdpSource", default="", is_list=True,
        doc='Addresses of the modules\' data interfaces, separated by blanks; "" leaves them as they are.',
    ),
    Parameter(
        name="UdpDestination", default="", is_list=True,
        doc='Address where slsReceiver takes the data, or one per module; "" leaves them as they are.',
    ),
    Parameter(
        name="UdpPort", default=50001, limits=Limits(1024, 65535),
        doc="First UDP port for the data; the others are counted up.",
    ),
    Parameter(
        name="StreamPort", default=30001, limits=Limits(1024, 65535),
        doc="First port at which slsReceiver publishes frames; the others are counted up.",
    ),
    Parameter(
        name="ConfigFile", default="",
        doc="A configuration file of slsdet, which Reset loads instead of setting receivers and UDP itself.",
    ),
)  # fmt: skip


class Setting(msgspec.Struct, frozen=True):
    """One parameter, and the property of slsdet behind it."""

    parameter: Parameter
    key: str

    def from_box(self, value: Any) -> Value | None:
        """Return a value of slsdet in the parameter's type; `None` if the modules differ, or it is no such
        value."""
        return in_type_of(self.parameter, value)


def in_type_of(parameter: Parameter, value: Any) -> Value | None:
    """Return a value of slsdet in a parameter's type; `None` for any other type."""
    kind = type(parameter.default)
    if isinstance(value, list):
        value = value[0] if value and all(each == value[0] for each in value) else None
    if value is None or isinstance(value, str) != (kind is str):
        return None
    if kind is str and parameter.choices and value not in parameter.choices:
        return None
    return kind(value)


def _setting(key: str, **declared: Any) -> Setting:
    return Setting(Parameter(**declared), key)


POWER = "PowerChip"
VOLTAGE = "HighVoltage"
LEAST_VOLTS = 60
"""Least high voltage beside 0 (`detector.py`, `highvoltage`: "0, 60 - 200")."""

_POWER = (
    _setting(
        "powerchip", name=POWER, default=True,
        doc="Power of the chips; off after a temperature event. Without it no series can be taken.",
    ),
    _setting(
        "highvoltage", name=VOLTAGE, default=0, unit="V", limits=Limits(0, 200),
        doc="Of the sensor: 0, or 60 to 200.",
    ),
)  # fmt: skip
_REST = (
    _setting(
        "readoutspeed", name="ReadoutSpeed", default="HALF_SPEED",
        choices=("FULL_SPEED", "HALF_SPEED", "QUARTER_SPEED"),
        doc="Speed of the chips' readout; FULL_SPEED of a JUNGFRAU needs boards of version 2.",
    ),
    _setting(
        "delay", name="TriggerDelay", default=0.0, unit="s", limits=Limits(0.0, None),
        doc="From a trigger to its exposure.",
    ),
    _setting(
        "temp_control", name="TemperatureControl", default=True,
        doc="Switch the chips off when a module gets warmer than TemperatureThreshold.",
    ),
    _setting(
        "temp_threshold", name="TemperatureThreshold", default=65, unit="degC", limits=Limits(0, 127),
        doc="Temperature at which the chips are switched off.",
    ),
)  # fmt: skip

JUNGFRAU: tuple[Setting, ...] = (
    *_POWER,
    _setting(
        "gainmode", name="GainMode", default="DYNAMIC",
        choices=("DYNAMIC", "FORCE_SWITCH_G1", "FORCE_SWITCH_G2", "FIX_G1", "FIX_G2", "FIX_G0"),
        doc="Gain: switched per pixel, or fixed for tests and pedestals. FIX_G0 can damage the detector.",
    ),
    _setting(
        "settings", name="GainSetting", default="GAIN0", choices=("GAIN0", "HIGHGAIN0"),
        doc="Gain of the first stage.",
    ),
    *_REST,
)  # fmt: skip
MOENCH: tuple[Setting, ...] = (
    *_POWER,
    _setting(
        "settings", name="GainSetting", default="G1_HIGHGAIN",
        choices=(
            "G1_HIGHGAIN", "G1_LOWGAIN", "G2_HIGHCAP_HIGHGAIN", "G2_HIGHCAP_LOWGAIN",
            "G2_LOWCAP_HIGHGAIN", "G2_LOWCAP_LOWGAIN", "G4_HIGHGAIN", "G4_LOWGAIN",
        ),
        doc="Gain and capacitance.",
    ),
    *_REST,
)  # fmt: skip

READINGS: Mapping[str, tuple[Parameter, Step]] = {
    parameter.name: (parameter, step)
    for parameter, step in (
        (
            Parameter(name="DetectorStatus", default="", writable=False, doc="State of the modules."),
            ("get", "status"),
        ),
        (
            Parameter(name="ReceiverStatus", default="", writable=False, doc="State of the slsReceivers."),
            ("get", "rx_status"),
        ),
        (
            Parameter(
                name="TemperatureAdc", default=0, unit="degC", writable=False,
                doc="Near the ADCs, of the warmest module.",
            ),
            ("temperature", "TEMPERATURE_ADC"),
        ),
        (
            Parameter(
                name="TemperatureFpga", default=0, unit="degC", writable=False,
                doc="Of the FPGA, of the warmest module.",
            ),
            ("temperature", "TEMPERATURE_FPGA"),
        ),
        (
            Parameter(
                name="TemperatureEvent", default=False, writable=False,
                doc="A module was too warm, and its chips were switched off.",
            ),
            ("get", "temp_event"),
        ),
        (
            Parameter(
                name="FramesCaught", default=0, writable=False,
                doc="Frames of which slsReceiver has every packet, in the last series.",
            ),
            ("get", "rx_framescaught"),
        ),
        (
            Parameter(
                name="NextFrameNumber", default=0, writable=False,
                doc="The detector's own number of its next frame.",
            ),
            ("get", "nextframenumber"),
        ),
        (Parameter(name="Modules", default=0, writable=False, doc="Number of modules."), ("call", "size")),
        (
            Parameter(
                name="PortsPerModule", default=0, writable=False,
                doc="UDP interfaces of a module, and endpoints of the stream.",
            ),
            ("get", "numinterfaces"),
        ),
    )
}  # fmt: skip


def parameters(settings: tuple[Setting, ...]) -> tuple[Parameter, ...]:
    """Return all parameters and readings of a model, in the order of panels."""
    return (
        *(setting.parameter for setting in settings),
        *(parameter for parameter, _ in READINGS.values()),
    )


def read(client: Client, name: str) -> Value:
    """Return a reading: of several modules the largest, or all states.

    Raises:
        CameraError, BoxLost: see `Client.do`.
    """
    parameter, step = READINGS[name]
    (value,) = client.do(step)
    if isinstance(value, list):
        numbers = [each for each in flat(value) if not isinstance(each, str)]
        value = max(numbers, default=0) if numbers else ", ".join(dict.fromkeys(map(str, value)))
    return type(parameter.default)(value)


def flat(value: Any) -> list[Any]:
    """Return the numbers of all modules and ports, which slsdet nests, as one list."""
    return [each for part in value for each in flat(part)] if isinstance(value, list) else [value]
