"""Macros for Penstock detectors: det_status, det_setup, det_live, det_take."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, ClassVar

import tango
from sardana.macroserver.macro import Macro, Type
from sardana.macroserver.msexception import UnknownEnv

from penstock.sardana.channel import file_template
from penstock.sardana.channel import text as detector_text
from penstock.sardana.channel.client import ACTIVE, ChannelClient, find, sentence
from penstock.sardana.channel.detector import Refused, TangoDetector
from penstock.sardana.channel.files import choose_free, scan_folder
from penstock.sardana.channel.metadata import without_scan
from penstock.sardana.channel.sentences import no_files
from penstock.stins.texts import plural


class det_status(Macro):
    """Show state, series, frames and file of Penstock detectors, and their own status.

    Examples:

    >>> det_status
    >>> det_status sim
    """

    param_def: ClassVar[list[Any]] = [
        ["channels", [["channel", Type.TwoDExpChannel, None, "2D channel"], {"min": 0}], None, "default: all"]
    ]

    def run(self, channels: list[Any]) -> None:
        """See the class."""
        chosen = channels or self.findObjs(".*", type_class=Type.TwoDExpChannel, reserve=False)
        found = find(sorted(channel.getFullName() for channel in chosen))
        if not found:
            self.output("There is no Penstock detector: `penstock sardana-register` adds one.")
        for channel in found:
            for line in detector_text.status_lines(channel):
                self.output("%s", line)


class det_setup(Macro):
    """Show the parameters of a Penstock detector, or set some; refused values change nothing.

    Examples:

    >>> det_setup sim
    >>> det_setup sim ExposureTime 0.5
    >>> det_setup sim Pattern gradient Fliplr true
    """

    param_def: ClassVar[list[Any]] = [
        ["channel", Type.TwoDExpChannel, None, "2D channel"],
        [
            "settings",
            [
                ["parameter", Type.String, None, "name of a parameter"],
                ["value", Type.String, None, "its new value"],
                {"min": 0},
            ],
            None,
            "default: show all",
        ],
    ]

    def run(self, channel: Any, settings: list[tuple[str, str]]) -> None:
        """See the class."""
        device = _client(channel).detector
        if not settings:
            for line in detector_text.parameter_lines(device):
                self.output("%s", line)
        for name, value in settings:
            detector_text.write(device, name, value)
            self.output("%s = %s", name, detector_text.read(device, name))


class det_live(Macro):
    """Show live frames of a Penstock detector, at its own pace, without a file, until it is switched off.

    Examples:

    >>> det_live sim
    >>> det_live sim off
    """

    param_def: ClassVar[list[Any]] = [
        ["channel", Type.TwoDExpChannel, None, "2D channel"],
        ["switch", Type.String, "on", "on or off"],
    ]

    def run(self, channel: Any, switch: str) -> None:
        """See the class."""
        if switch not in ("on", "off"):
            raise ValueError(f"det_live {channel.getName()} {switch}: write on or off")
        client = _client(channel)
        device = client.detector
        running = device.state() in ACTIVE
        if running and device.FileWritten:
            raise RuntimeError(f"{client.name} is taking a series into a file: {device.status()}")
        if switch == "on" and not running:
            _command(device, "Continuous")
        elif switch == "off" and running:
            _command(device, "Stop")
            if late := client.await_idle(self.output):
                raise RuntimeError(late)
        self.output("%s", f"{client.name} is live: {device.status()}" if switch == "on" else device.status())


class det_take(Macro):
    """Take frames with a Penstock detector at its own pace, into a file in ScanDir.

    Without ScanDir it names the folder that it takes: that of the last scan, or else the receiver's.

    Ctrl-C ends the series; the file is completed with the frames so far.

    Examples:

    >>> det_take sim 100 0.01
    """

    param_def: ClassVar[list[Any]] = [
        ["channel", Type.TwoDExpChannel, None, "2D channel"],
        ["frames", Type.Integer, None, "number of frames"],
        ["time", Type.Float, None, "exposure time of each in s"],
    ]

    def run(self, channel: Any, frames: int, exposure: float) -> Iterator[float]:
        """See the class."""
        client = _client(channel)
        device = client.detector
        if not device.SaveRaw:
            raise ValueError(no_files(client.detector_name, client.name))
        for name, value, shown in (
            ("nFramesPerTrigger", frames, "frames"), ("ExposureTime", exposure, "time"),
            ("TriggerMode", "INTERNAL", ""), ("LatencyTime", 0.0, ""), ("nTriggers", 1, ""),
            ("DestinationFileOverwritable", False, ""),
            ("Metadata", without_scan(str(device.Metadata or "")), ""),  # left by an aborted scan, say
        ):  # fmt: skip
            detector_text.put(device, name, value, shown)
        file = self._choose_file(client)
        self.output("%s", f"{client.name} takes {plural(frames, 'frame')} of {exposure:g} s into {file}")
        before = device.SeriesId
        try:
            _command(device, "Arm")
            while device.state() in ACTIVE:
                yield 100.0 * device.nFramesAcquired / frames
                self.checkPoint()
                time.sleep(0.05)
        finally:  # Ctrl-C may come while the detector arms
            series = device.SeriesId
            if series != before and device.DestinationFilename == file:
                if device.state() in ACTIVE:
                    device.command_inout("Stop")
                if late := client.await_idle(self.output):
                    self.warning("%s", late)
                self._report_account(device, series)

    def _choose_file(self, client: ChannelClient) -> str:
        """Return a file that does not exist, named as in scans."""
        context = {"scan_dir": self._folder(client), "scan_file": "take", "scan_id": 0}
        template, setting = self._pattern(client.name), file_template.PATTERN
        if not template:
            template, setting = client.read("FileTemplate"), file_template.SETTING

        def name(number: int) -> str:
            return file_template.render(template, context, client.name, number, setting)

        return choose_free(TangoDetector(client.detector_name), name, 0)[1]

    def _pattern(self, channel: str) -> str:
        """Return ValueRefPattern of the active measurement group, if the channel gives references in it."""
        try:
            group = self.getMeasurementGroup(self.getEnv("ActiveMntGrp"))
        except UnknownEnv:
            return ""
        if group is None or not group.getValueRefEnabled().get(channel):
            return ""
        return str(group.getValueRefPattern().get(channel) or "")

    def _folder(self, client: ChannelClient) -> str:
        """Return ScanDir, or else the folder of the last scan, or else that of the receiver."""
        folder, not_set = scan_folder(self._environment)
        if not_set:
            self.warning("%s", not_set)
        try:
            return folder or TangoDetector(client.detector_name).data_root()
        except Refused as refused:
            raise RuntimeError(f"ScanDir is not set, and {refused}") from refused

    def _environment(self, name: str) -> Any:
        try:
            return self.getEnv(name)
        except UnknownEnv:
            return None

    def _report_account(self, device: tango.DeviceProxy, series: str) -> None:
        last = json.loads(device.LastSeries or "{}")
        if last.get("series") == series:
            report = self.output if last["complete"] else self.warning
            report("%s", last["verdict"])
            self.output("%s", last["file"])


def _client(channel: Any) -> ChannelClient:
    found = find([channel.getFullName()])
    if not found:
        raise ValueError(
            f"{channel.getName()} is not a Penstock detector, or its Pool does not answer; see `det_status`"
        )
    return found[0]


def _command(device: tango.DeviceProxy, name: str) -> None:
    try:
        device.command_inout(name)
    except tango.DevFailed as error:
        raise RuntimeError(sentence(error)) from error
