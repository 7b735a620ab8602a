"""The parameters and readings of a DECTRIS detector: Tango names, and the keys of the control unit.

Keys: [ref18] sections "Detector", "Monitor", "FileWriter" and "Stream Subsystem"; for 1.6.0 [ref16], the same
sections. Public clients use the same keys: Lima-camera-eiger `Requests.cpp` (`ParamDescription`),
fastcs-eiger `eiger_parameter.py`, ADEiger `eigerApp/src/eigerParam.cpp` (`threshold/N/mode`,
`threshold/difference/mode`, `roi_mode`, `extg_mode`, `nexpi`).
"""

from __future__ import annotations

import msgspec

from penstock.devices._dectris.host import HOST
from penstock.devices._dectris.rest import number_of
from penstock.streamer.camera.settings import Limits, Parameter, Value

STREAMS = ("v1", "v2")
PORTS = {"v1": 9999, "v2": 31001}
"""Default TCP ports of the two streams ([v2] "Stream Version Comparison")."""
FORMATS = {"v1": "legacy", "v2": "cbor"}
"""Values of stream/config/format ([v2] "SIMPLON Configuration Parameters")."""

PROPERTIES: tuple[Parameter, ...] = (
    HOST,
    Parameter(name="Port", default=80, limits=Limits(1, 65535), doc="TCP port of its REST interface."),
    Parameter(name="ApiVersion", default="", doc='Version of SIMPLON, as "1.8.0"; "" asks the box.'),
    Parameter(
        name="Stream", default="v1", choices=STREAMS,
        doc="Version of its stream; several thresholds need v2.",
    ),
    Parameter(
        name="StreamPort", default=0, limits=Limits(0, 65535),
        doc="TCP port of the stream; 0 means 9999 (v1) or 31001 (v2).",
    ),
)  # fmt: skip


class Setting(msgspec.Struct, frozen=True):
    """One parameter, and its key in the control unit."""

    parameter: Parameter
    paths: tuple[str, ...]
    """Its keys in various models and versions; the first one that the unit has is used."""

    @property
    def is_number(self) -> bool:
        """True if the parameter is a number, which may have limits."""
        return type(self.parameter.default) in (int, float)

    def to_box(self, value: Value) -> Value:
        """Return a value in the form of the key: a bool is "enabled" or "disabled" if the key is a mode."""
        if isinstance(value, bool) and self.paths[0].endswith("mode"):
            return "enabled" if value else "disabled"
        return value

    def from_box(self, value: object, allowed: tuple[object, ...] | None = None) -> Value | None:
        """Return a value of the key in the parameter's type; `None` if the box does not know it.

        Args:
            value: value as the box gives it; null and "" are unknown ([ref18] p. 25).
            allowed: the key's allowed values; "" is a value where it is one of them.
        """
        if isinstance(value, str) and type(self.parameter.default) is bool:
            return {"enabled": True, "disabled": False}.get(value)
        if value == "" and isinstance(self.parameter.default, str) and "" in (allowed or ()):
            return ""
        return in_type_of(self.parameter, value)


def in_type_of(parameter: Parameter, value: object) -> Value | None:
    """Return a value of the box in a parameter's type; `None` for "", and for any other type."""
    kind, number = type(parameter.default), number_of(value)
    if kind is float:
        return number
    if kind is int:
        return int(number) if number is not None and number.is_integer() else None
    return value if isinstance(value, kind) and value != "" else None


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
"""Switches of the images of a frame: EIGER2 has two thresholds, PILATUS4 four, EIGER one without a switch."""
STORED = ("bslz4", "lz4", "none")
"""Compressions that the receiver stores."""


def _energy(number: int) -> Setting:
    return _setting(
        f"{DETECTOR}/threshold/{number}/energy", name=f"Threshold{number}", default=9300.0, unit="eV",
        doc=f"Energy of threshold {number}, if the model has it.",
    )  # fmt: skip


def _mode(number: int) -> Setting:
    return _setting(
        f"{DETECTOR}/threshold/{number}/mode", name=f"Threshold{number}Mode", default=number == 1,
        doc=f"Include the image of threshold {number} in the frames; several images need stream v2.",
    )  # fmt: skip


SETTINGS: tuple[Setting, ...] = (
    # The energy is first: it changes every threshold.
    _setting(
        f"{DETECTOR}/photon_energy", name="Energy", default=12400.0, unit="eV",
        doc="Photon energy; wavelength and thresholds are set from it, which may take a minute.",
    ),
    _setting(
        f"{DETECTOR}/threshold/1/energy", f"{DETECTOR}/threshold_energy",
        name="Threshold", default=6200.0, unit="eV", doc="Least energy of photons that are counted.",
    ),
    _mode(1),
    *(setting for number in (2, 3, 4) for setting in (_energy(number), _mode(number))),
    _setting(
        f"{DETECTOR}/threshold/difference/mode", name="ThresholdDifferenceMode", default=False,
        doc="Include the difference of the images of thresholds 1 and 2 in the frames.",
    ),
    _setting(
        f"{DETECTOR}/flatfield_correction_applied", name="FlatfieldCorrectionApplied", default=True,
        doc="Correct the counts with the flat field.",
    ),
    _setting(
        f"{DETECTOR}/countrate_correction_applied", name="CountrateCorrectionApplied", default=True,
        doc="Correct for photons that were lost at high count rates.",
    ),
    _setting(
        f"{DETECTOR}/pixel_mask_applied", name="PixelMaskApplied", default=True,
        doc="Set masked pixels to the greatest value of the pixel type.",
    ),
    _setting(
        f"{DETECTOR}/virtual_pixel_correction_applied", name="VirtualPixelCorrectionApplied", default=True,
        doc="Distribute the counts of the large pixels between chips over virtual pixels.",
    ),
    _setting(
        f"{DETECTOR}/auto_summation", name="AutoSummation", default=True,
        doc="Sum read-outs in the detector: 32-bit images for long exposures.",
    ),
    _setting(
        f"{DETECTOR}/compression", name="Compression", default="bslz4", choices=STORED,
        doc="Compression of the frames; bslz4 packs best.",
    ),
    _setting(
        f"{DETECTOR}/roi_mode", name="RoiMode", default="disabled",
        doc="Region that is read out, as the model names it: 4M, lines; sets the frames' shape.",
    ),
    _setting(
        f"{DETECTOR}/roi_y_size", name="RoiYSize", default=0, unit="pixel",
        doc="Number of rows in RoiMode lines.",
    ),
    _setting(
        f"{DETECTOR}/roi_bit_depth", name="RoiBitDepth", default=16, doc="Bits per pixel in RoiMode lines."
    ),
    _setting(
        f"{DETECTOR}/nexpi", name="Nexpi", default=1, limits=Limits(1, None),
        doc="Gates summed in each frame if GateTriggerMode is extg.",
    ),
    _setting(
        f"{DETECTOR}/counting_mode", name="CountingMode", default="normal", choices=("normal", "retrigger"),
        doc="retrigger counts photons that pile up several times (instant retrigger).",
    ),
    _setting(
        f"{DETECTOR}/trigger_start_delay", name="TriggerStartDelay", default=0.0, unit="s",
        doc="From an external trigger to the exposure that it starts.",
    ),
    _setting(
        f"{DETECTOR}/omega_start", name="OmegaStart", default=0.0, unit="deg",
        doc="Angle omega of the goniometer at the first frame: for the file.",
    ),
    _setting(
        f"{DETECTOR}/omega_increment", name="OmegaIncrement", default=0.0, unit="deg",
        doc="Rotation of omega per frame: for the file.",
    ),
    _setting(
        f"{FILEWRITER}/mode", name="FileWriter", default=False,
        doc="The control unit also writes files of its own; they stay there.",
    ),
    _setting(
        f"{FILEWRITER}/name_pattern", name="FileWriterNamePattern", default="series_$id",
        doc="Name of the control unit's own files; $id is its number of the series.",
    ),
    _setting(
        f"{FILEWRITER}/nimages_per_file", name="FileWriterImagesPerFile", default=1000,
        doc="Images per data file of the control unit's own.",
    ),
    _setting(
        f"{MONITOR}/mode", name="Monitor", default=False,
        doc="The control unit offers the latest image at the address MonitorImage.",
    ),
)  # fmt: skip

GATE_MODES = ("exte", "extg", "eies")
SOFTWARE_MODES = ("ints", "inte")
LOCAL: tuple[Parameter, ...] = (
    Parameter(
        name="SoftwareTriggerMode", default="ints", choices=SOFTWARE_MODES,
        doc="In SOFTWARE: ints, nFramesPerTrigger frames per trigger; inte, one frame, exposed as it says.",
    ),
    Parameter(
        name="GateTriggerMode", default="exte", choices=GATE_MODES,
        doc="In EXTERNAL_MULTI_GATE: exte, one gate per frame; extg, Nexpi gates per frame (EIGER2 X, XE); "
        "eies, each frame lasts from one edge to the next.",
    ),
)  # fmt: skip
"""Settings without a key of their own in the control unit."""

HV_RESET = Parameter(
    name="HighVoltageReset", default=0, unit="s", limits=Limits(0, 3600),
    doc="Writing it switches the sensor's high voltage off for so many seconds, to depolarise CdTe; reads 0.",
)  # fmt: skip
"""The command hv_reset (ADEiger `eigerDetector.cpp`, `hvReset`); offered where the unit lists it."""

READINGS: dict[str, tuple[Parameter, tuple[str, ...]]] = {
    parameter.name: (parameter, paths)
    for parameter, paths in (
        (
            Parameter(
                name="DetectorState", default="", writable=False, doc="State that the control unit reports."
            ),
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
                doc="State of the sensor's high voltage, READY for taking data; in volts with SIMPLON 1.6.0.",
            ),
            ("detector/status/high_voltage/state", "detector/status/module_000/hv"),
        ),
        (
            Parameter(
                name="Wavelength", default=0.0, unit="angstrom", writable=False,
                doc="Of the photons; the control unit sets it from Energy.",
            ),
            ("detector/config/wavelength",),
        ),
        (
            Parameter(
                name="BitDepth", default=0, writable=False, doc="Bits per pixel with the present settings."
            ),
            ("detector/config/bit_depth_image",),
        ),
        (
            Parameter(name="StreamState", default="", writable=False, doc="State of the stream."),
            ("stream/status/state",),
        ),
        (
            Parameter(
                name="StreamDropped", default=0, writable=False,
                doc="Frames that the stream has dropped because they were not fetched in time.",
            ),
            ("stream/status/dropped",),
        ),
        (
            Parameter(
                name="MonitorState", default="", writable=False, doc="State of the control unit's monitor."
            ),
            ("monitor/status/state",),
        ),
        (
            Parameter(
                name="FileWriterState", default="", writable=False,
                doc="State of the control unit's file writer.",
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
        doc="Addresses of the files that the control unit itself has written of the last series.",
    ),
    Parameter(
        name=IMAGE, default="", writable=False,
        doc='Address of the latest image of the monitor, a TIFF; "" if the monitor is off.',
    ),
)  # fmt: skip

PARAMETERS = (
    *(setting.parameter for setting in SETTINGS),
    *LOCAL,
    HV_RESET,
    *(parameter for parameter, _ in READINGS.values()),
    *TEXTS,
)
"""All parameters and readings, in the order of panels."""
