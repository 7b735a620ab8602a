"""The settings of the simulated camserver: their limits, and what it says of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import msgspec

SEND = 15
"""Code of answers of commands without a code of their own."""
LEAST_PERIOD = 2e-3
"""Seconds ([um] p. 53)."""
READOUT = 0.95e-3
"""Seconds by which the period has to be longer than the exposure ([um] p. 53)."""
LEAST_THRESHOLD, GREATEST_THRESHOLD = 1600, 18000
"""Least and greatest threshold in eV; camserver says only that another one is out of range."""
GAINS = ("lowg", "midg", "highg", "uhighg")
"""Words for gains, which a PILATUS3 ignores ([um] p. 55)."""
TRIMMED = "/tmp/setthreshold.cmd"
CUTOFF, CORRECTED_CUTOFF = 1048574, 1221026
"""Counts at which a pixel stops, without and with correction of the rate ([cct] `interpretMessage`, [ad]
`setAcquireParams`). The real one follows from tau and exposure time."""
MOST_TAU = 1e-3
"""Seconds."""


class Refused(Exception):
    """The answer is an ERR with these words."""

    def __init__(self, words: str, code: int = SEND) -> None:
        super().__init__(words)
        self.code = code


class Number(msgspec.Struct, frozen=True):
    """A setting that is a number."""

    default: float
    said: str
    """What camserver answers, with the value as `{}`."""
    wrong: str
    """How it refuses."""
    least: float = 0.0
    greatest: float = math.inf
    whole: bool = False


NUMBERS: Mapping[str, Number] = {
    "NImages": Number(1, "N images set to: {}", "Illegal number of images", 1, 65535, whole=True),
    "ExpTime": Number(1.0, "Exposure time set to: {} sec.", "Illegal exposure time", 1e-7),
    "ExpPeriod": Number(1.05, "Exposure period set to: {} sec", "Illegal exposure period", LEAST_PERIOD),
    "Delay": Number(0.0, "Delay time set to: {} sec", "Illegal delay time", 0.0, 64.0),
    "NExpFrame": Number(1, "Exposures per frame set to: {}", "Illegal number of exposures", 1, whole=True),
    "GapFill": Number(0, "Gap-fill byte set to {}", "Invalid argument", -1, 0, whole=True),
    "SetAckInt": Number(0, "Acknowledgement interval set to: {}", "Invalid argument", 0, whole=True),
    "DebTime": Number(0.0, "Debounce time set to: {} sec", "Invalid argument", 0.0, 85.0),
    "SetRetriggerMode": Number(1, "Retrigger mode set to: {}", "Invalid argument", 0, 1, whole=True),
}
"""Answers: [um] p. 53-58, [lima] `_run`, [cct] `interpretMessage`; those of the last four are ours."""


class Settings:
    """What camserver has been told; `settings["ExpTime"]` is the value of a number."""

    def __init__(self, folder: Path, model: str, *, trimmed: bool = True) -> None:
        self.model, self._start, self._trimmed = model, folder, trimmed
        self.power_on()

    def power_on(self) -> None:
        """Forget everything."""
        self._values = {name: number.default for name, number in NUMBERS.items()}
        self.folder = self._start
        self.energy: float | None = 12400.0 if self._trimmed else None
        self.threshold: float | None = 6200.0 if self._trimmed else None
        self.tau = 0.0
        """Dead time in seconds, for which counts are corrected; 0: they are not."""
        self.header = self.last = ""

    def __getitem__(self, name: str) -> float:
        return self._values[name]

    def set(self, name: str, text: str) -> None:
        """Set a number.

        Raises:
            Refused: it is none, or out of range.
        """
        number = NUMBERS[name]
        try:
            value = round(float(text.split()[0]), 7)  # [um] p. 53: seven digits are shown
        except (ValueError, IndexError):
            raise Refused(f"{number.wrong}: {text}") from None
        if not number.least <= value <= number.greatest or (number.whole and not value.is_integer()):
            raise Refused(f"{number.wrong}: {text}")
        if name == "ExpPeriod" and self.too_short(value):
            raise Refused(
                f"{number.wrong}: {text}; exposure time and {READOUT} s for the read-out are longer"
            )
        self._values[name] = value

    def too_short(self, period: float) -> bool:
        """Return whether exposure and read-out do not fit into a period."""
        return period < self["ExpTime"] + READOUT - 1e-9

    def reset(self, name: str) -> None:
        """Set a number to its default."""
        self._values[name] = NUMBERS[name].default

    def said(self, name: str) -> str:
        """Return what camserver says of a number."""
        value = self[name]
        return NUMBERS[name].said.format(f"{value:.0f}" if NUMBERS[name].whole else f"{value:.7f}")

    def said_energy(self) -> str:
        """Return the answer to SetEnergy without argument."""
        if self.energy is None:
            return "Energy has not been set"
        return f"Energy setting: {self.energy:.0f} eV\n {self.said_threshold()}"

    def said_threshold(self) -> str:
        """Return the answer to SetThreshold without argument."""
        if self.threshold is None:
            return "Threshold has not been set"
        return (
            f"Settings: mid gain; threshold: {self.threshold:.0f} eV; vcmp: 0.654 V\n Trim file:\n"
            f"  /home/det/p2_det/config/calibration/{self.trim_file}"
        )

    @property
    def trim_file(self) -> str:
        """Name of the file with which the pixels are trimmed."""
        return "(nil)" if self.threshold is None else f"simulated_T{self.threshold:.0f}.bin"

    @property
    def cutoff(self) -> int:
        """Counts at which a pixel stops."""
        return CORRECTED_CUTOFF if self.tau else CUTOFF

    def said_tau(self) -> str:
        """Return the answer to Tau without argument."""
        if not self.tau:
            return f"Rate correction is off, cutoff = {self.cutoff} counts"
        return f"Rate correction is on; tau = {self.tau:.4g} s, cutoff = {self.cutoff} counts"

    def set_tau(self, text: str) -> str:
        """Set the dead time; return the answer.

        Raises:
            Refused: it is no number, or out of range.
        """
        try:
            tau = float(text)
        except ValueError:
            tau = math.nan
        if not 0.0 <= tau <= MOST_TAU:
            raise Refused(f"Illegal tau: {text}")
        self.tau = tau
        return f"Set up rate correction: tau = {tau:.4g} s" if tau else "Turn off rate correction"

    def trim(self, argument: str, *, energy: bool) -> str:
        """Set the energy, or the threshold with or without it; return the answer.

        The number of images and GapFill are as at the start afterwards ([ad] `setThreshold`).

        Raises:
            Refused: it is no number, or out of range.
        """
        words = [word for word in argument.lower().split() if word not in GAINS]
        wanted, threshold = self.energy, 0.0
        try:
            if energy:
                wanted = float(words[0])
                threshold = wanted / 2
            elif words[0] == "energy":
                wanted, threshold = float(words[1]), float(words[2])
            else:
                threshold = float(words[0])
        except (ValueError, IndexError):
            raise Refused(f"ERROR: unknown gain setting: {argument}") from None
        if not energy and threshold == 0.0:
            self.threshold = None
            return TRIMMED
        if not LEAST_THRESHOLD <= threshold <= GREATEST_THRESHOLD:
            raise Refused(f"Requested threshold ({threshold:.0f} eV) is out of range")
        self.threshold = threshold
        self.energy = wanted if wanted is not None else 2 * threshold
        self.reset("NImages")
        self.reset("GapFill")
        return TRIMMED
