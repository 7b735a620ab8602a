"""What can be set on a DECTRIS detector and read from it: Tango names, and the keys of the control unit.

Keys: [ref18] sections "Detector", "Monitor", "FileWriter" and "Stream Subsystem"; for 1.6.0 [ref16], the same
sections. They are those that public clients use: Lima-camera-eiger `Requests.cpp` (`ParamDescription`),
fastcs-eiger `eiger_parameter.py`, ADEiger `eigerApp/src/eigerParam.cpp` (`threshold/N/mode`,
`threshold/difference/mode`, `roi_mode`, `extg_mode`, `nexpi`).
"""

from __future__ import annotations

import msgspec

from penstock.streamer.settings import Limits, Parameter, Value

STREAMS = ("v1", "v2")
PORTS = {"v1": 9999, "v2": 31001}
"""Of the two streams ([v2] "Stream Version Comparison")."""
FORMATS = {"v1": "legacy", "v2": "cbor"}
"""Values of stream/config/format ([v2] "SIMPLON Configuration Parameters")."""

PROPERTIES: tuple[Parameter, ...] = (
    Parameter(name="Host", default="", doc="Name or address of the control unit; needed."),
    Parameter(name="Port", default=80, limits=Limits(1, 65535), doc="TCP port of its REST interface."),
    Parameter(name="ApiVersion", default="", doc='Version of SIMPLON, such as "1.8.0"; "" asks it.'),
    Parameter(name="Stream", default="v1", choices=STREAMS, doc="Its stream; several thresholds need v2."),
    Parameter(
        name="StreamPort", default=0, limits=Limits(0, 65535),
        doc="TCP port of the stream; 0 for 9999 (v1) or 31001 (v2).",
    ),
)  # fmt: skip


class Setting(msgspec.Struct, frozen=True):
    """One parameter, and the key of the control unit behind it."""

    parameter: Parameter
    paths: tuple[str, ...]
    """Keys by which models and versions know it; the first that the unit has counts."""

    @property
    def is_number(self) -> bool:
        """It has a least and a greatest value."""
        return type(self.parameter.default) in (int, float)

    def to_box(self, value: Value) -> Value:
        """Return a value as the key wants it: a switch is "enabled" or "disabled" where the key is a mode."""
        if isinstance(value, bool) and self.paths[0].endswith("mode"):
            return "enabled" if value else "disabled"
        return value

    def from_box(self, value: object) -> Value:
        """Return a value of the key as the parameter's own type."""
        kind = type(self.parameter.default)
        if kind is bool and isinstance(value, str):
            return value == "enabled"
        return kind(value)  # type: ignore[call-overload, arg-type]


def _setting(*paths: str, name: str, default: Value, doc: str, unit: str = "", **more: object) -> Setting:
    parameter = Parameter(name=name, default=default, doc=doc, unit=unit, **more)  # type: ignore[arg-type]
    return Setting(parameter, paths)


DETECTOR, FILEWRITER, MONITOR, STREAM = (
    f"{name}/config" for name in ("detector", "filewriter", "monitor", "stream")
)
CHANNELS = (
    *(f"{DETECTOR}/threshold/{number}/mode" for number in (1, 2, 3, 4)),
    f"{DETECTOR}/threshold/difference/mode",
)
"""Modes of the images of a frame; EIGER2 has two thresholds, PILATUS4 four, EIGER one without a mode."""
STORED = ("bslz4", "none")
"""Compressions that the receiver stores; "lz4" it does not."""


def _energy(number: int) -> Setting:
    return _setting(
        f"{DETECTOR}/threshold/{number}/energy", name=f"Threshold{number}", default=9300.0, unit="eV",
        doc=f"Threshold number {number}, where the model has one.",
    )  # fmt: skip


def _mode(number: int) -> Setting:
    return _setting(
        f"{DETECTOR}/threshold/{number}/mode", name=f"Threshold{number}Mode", default=number == 1,
        doc=f"Frames have the image of threshold {number}; several need stream v2.",
    )  # fmt: skip


SETTINGS: tuple[Setting, ...] = (
    # The energy comes first: it moves every threshold.
    _setting(
        f"{DETECTOR}/photon_energy", name="Energy", default=12400.0, unit="eV",
        doc="Of the photons; the box sets wavelength and thresholds after it, which may take a minute.",
    ),
    _setting(
        f"{DETECTOR}/threshold/1/energy", f"{DETECTOR}/threshold_energy",
        name="Threshold", default=6200.0, unit="eV", doc="Photons of less energy are not counted.",
    ),
    _mode(1),
    *(setting for number in (2, 3, 4) for setting in (_energy(number), _mode(number))),
    _setting(
        f"{DETECTOR}/threshold/difference/mode", name="ThresholdDifferenceMode", default=False,
        doc="Frames have the difference of the images of thresholds 1 and 2.",
    ),
    _setting(
        f"{DETECTOR}/flatfield_correction_applied", name="FlatfieldCorrectionApplied", default=True,
        doc="Multiply by the flat field.",
    ),
    _setting(
        f"{DETECTOR}/countrate_correction_applied", name="CountrateCorrectionApplied", default=True,
        doc="Correct for photons that came too close to one another.",
    ),
    _setting(
        f"{DETECTOR}/pixel_mask_applied", name="PixelMaskApplied", default=True,
        doc="Mark masked pixels with the greatest value.",
    ),
    _setting(
        f"{DETECTOR}/virtual_pixel_correction_applied", name="VirtualPixelCorrectionApplied", default=True,
        doc="Spread the counts of large pixels between chips over virtual ones.",
    ),
    _setting(
        f"{DETECTOR}/auto_summation", name="AutoSummation", default=True,
        doc="Add up read-outs in the detector: 32-bit images of long exposures.",
    ),
    _setting(
        f"{DETECTOR}/compression", name="Compression", default="bslz4", choices=STORED,
        doc="Of frames: bslz4 or none; the receiver does not store lz4.",
    ),
    _setting(
        f"{DETECTOR}/roi_mode", name="RoiMode", default="disabled",
        doc="Region that is read out, as the model names it: 4M, lines; the shape of frames follows.",
    ),
    _setting(
        f"{DETECTOR}/roi_y_size", name="RoiYSize", default=0, unit="pixel", doc="Rows in RoiMode lines."
    ),
    _setting(f"{DETECTOR}/roi_bit_depth", name="RoiBitDepth", default=16, doc="Of pixels in RoiMode lines."),
    _setting(
        f"{DETECTOR}/nexpi", name="Nexpi", default=1, limits=Limits(1, None),
        doc="Gates added up in each frame, where GateTriggerMode is extg.",
    ),
    _setting(
        f"{FILEWRITER}/mode", name="FileWriter", default=False,
        doc="The box writes files of its own, too; they stay there.",
    ),
    _setting(
        f"{FILEWRITER}/name_pattern", name="FileWriterNamePattern", default="series_$id",
        doc="Of the box's own files; $id is the box's number of the series.",
    ),
    _setting(
        f"{FILEWRITER}/nimages_per_file", name="FileWriterImagesPerFile", default=1000,
        doc="Images in each data file of the box's own.",
    ),
    _setting(
        f"{MONITOR}/mode", name="Monitor", default=False,
        doc="The box keeps the latest image at the address MonitorImage.",
    ),
)  # fmt: skip

GATE_MODES = ("exte", "extg")
SOFTWARE_MODES = ("ints", "inte")
LOCAL: tuple[Parameter, ...] = (
    Parameter(
        name="SoftwareTriggerMode", default="ints", choices=SOFTWARE_MODES,
        doc="Of SOFTWARE: ints, nFramesPerTrigger frames per trigger; inte, one, as long as it says itself.",
    ),
    Parameter(
        name="GateTriggerMode", default="exte", choices=GATE_MODES,
        doc="Of EXTERNAL_MULTI_GATE: exte, one gate per frame; extg, Nexpi gates per frame (EIGER2 X, XE).",
    ),
)  # fmt: skip
"""What is no key of its own."""

READINGS: dict[str, tuple[Parameter, tuple[str, ...]]] = {
    parameter.name: (parameter, paths)
    for parameter, paths in (
        (
            Parameter(name="DetectorState", default="", writable=False, doc="As the box says it."),
            ("detector/status/state",),
        ),
        (
            Parameter(
                name="SensorTemperature", default=0.0, unit="degC", writable=False, format="%4.1f",
                doc="In the detector's housing.",
            ),
            # [ref18] status; [ref16] status by board (Lima-camera-eiger: status/board_000/th0_temp).
            ("detector/status/temperature", "detector/status/board_000/th0_temp"),
        ),
        (
            Parameter(
                name="Humidity", default=0.0, unit="%", writable=False, format="%4.1f",
                doc="In the detector's housing.",
            ),
            ("detector/status/humidity", "detector/status/board_000/th0_humidity"),
        ),
        (
            Parameter(
                name="HighVoltage", default="", writable=False,
                doc="Of the sensor: READY where frames are good; volts where SIMPLON is 1.6.0.",
            ),
            ("detector/status/high_voltage/state", "detector/status/module_000/hv"),
        ),
        (
            Parameter(name="BitDepth", default=0, writable=False, doc="Bits of a pixel, as it is set now."),
            ("detector/config/bit_depth_image",),
        ),
        (
            Parameter(name="StreamState", default="", writable=False, doc="Of the box's stream."),
            ("stream/status/state",),
        ),
        (
            Parameter(
                name="StreamDropped", default=0, writable=False,
                doc="Frames that the stream has dropped, since nobody fetched them in time.",
            ),
            ("stream/status/dropped",),
        ),
        (
            Parameter(name="MonitorState", default="", writable=False, doc="Of the box's monitor."),
            ("monitor/status/state",),
        ),
        (
            Parameter(
                name="FileWriterState", default="", writable=False, doc="Of the box's own file writer."
            ),
            ("filewriter/status/state",),
        ),
    )
}  # fmt: skip
FILES = "FileWriterFiles"
IMAGE = "MonitorImage"
TEXTS: tuple[Parameter, ...] = (
    Parameter(
        name=FILES, default="", writable=False,
        doc="Files of the last series that the box has written itself, and where they can be fetched.",
    ),
    Parameter(
        name=IMAGE, default="", writable=False,
        doc='Address of the latest image of the monitor, a TIFF; "" where it is off.',
    ),
)  # fmt: skip

PARAMETERS = (
    *(setting.parameter for setting in SETTINGS),
    *LOCAL,
    *(parameter for parameter, _ in READINGS.values()),
    *TEXTS,
)
"""All of them, as panels show them."""
