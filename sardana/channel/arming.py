"""The steps before the first point: wait for the detector, its settings, the name of the file, Arm."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.sardana.channel import file_template, sentences
from penstock.sardana.channel.detector import ACTIVE, LOST, Detector, Refused, Snapshot
from penstock.sardana.channel.files import NoName, SeriesNumber, choose_free
from penstock.sardana.channel.metadata import ScanMetadata
from penstock.sardana.channel.plan import Plan

CLOSING_WITHIN: Final = 2.0
"""Seconds that a new series waits for the file of the last one: Sardana gives all channels of a group 3 s
together to prepare."""
POLL: Final = 0.01
"""Seconds between two polls."""
SETTINGS: Final = (
    "TriggerMode", "ExposureTime", "LatencyTime", "nTriggers", "nFramesPerTrigger", "DestinationFilename",
    "DestinationFileOverwritable", "Metadata", "SaveRaw",
)  # fmt: skip


class Arming:
    """Arms one detector for one channel.

    Args:
        detector: its device.
        name: returns the channel's name; called when a file is named.
        clock: monotonic seconds.
        pause: waits between two polls, in seconds.
    """

    def __init__(
        self, detector: Detector, name: Callable[[], str], *, clock: Callable[[], float] = time.monotonic,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:  # fmt: skip
        self._detector = detector
        self._name = name
        self._clock = clock
        self._pause = pause
        self._number = SeriesNumber()
        self._metadata = ScanMetadata()
        self._last_folder = ""
        self._context: dict[str, Any] = {}
        self.file_template = file_template.DEFAULT
        self.pattern = ""
        """Pattern of the measurement group; takes precedence over `file_template`."""
        self.references = True
        """Sardana wants references to files; else images."""

    @property
    def context(self) -> str:
        """ScanContext as JSON; "" outside a scan."""
        return json.dumps(self._context) if self._context else ""

    @context.setter
    def context(self, text: str) -> None:
        """Take the context of the next series.

        Raises:
            Refused: it is not a JSON object.
        """
        try:
            found = json.loads(text) if text.strip() else {}
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise Refused("scan_context", f"ScanContext must be a JSON object, not {text!r}")
        self._context = found
        self._last_folder = str(found.get("scan_dir") or self._last_folder)

    def await_idle(self, own: str) -> None:
        """Wait until the detector is ready for a series.

        Args:
            own: id of the last series of this channel, which is stopped if it still waits for triggers.

        Raises:
            Refused: somebody else uses it, it does not become ready, or it is in FAULT.
        """
        snapshot = self._detector.snapshot()
        if snapshot.state in ACTIVE:
            facts = self._detector.facts()
            if facts.planned < 0 or snapshot.acquired < facts.planned:
                if not own or snapshot.series != own:
                    raise Refused(
                        "in_use",
                        sentences.in_use(self._detector.name, facts.armed_by, snapshot.status)
                        + ", and start again",
                    )
                self._detector.stop()
            snapshot = self._await_closed()
        if snapshot.state != "ON":
            raise Refused("not_idle", snapshot.status)

    def arm(self, asked: Plan) -> str:
        """Arm a series; return the name of its file, "" for none.

        Raises:
            Refused: nothing is armed.
        """
        self._check_mode(asked)
        present = self._detector.settings(SETTINGS)
        if self.references and present["SaveRaw"] is False:
            raise Refused(
                "save_raw",
                sentences.no_files(self._detector.name, self._name()) + ", or switch value references off",
            )
        wanted: dict[str, Any] = {
            "TriggerMode": asked.mode,
            "ExposureTime": asked.exposure,
            "LatencyTime": asked.latency,
            "nTriggers": asked.triggers,
            "nFramesPerTrigger": asked.frames_per_trigger,
            "DestinationFileOverwritable": False,
            "Metadata": self._metadata.merged(str(present["Metadata"] or ""), self._context),
        }
        try:
            if self.references:
                return self._arm_with_file(present, wanted)
            self._write(present, {**wanted, "DestinationFilename": ""})
            self._detector.arm()
        except Refused as refused:
            if refused.kind == LOST:
                stop_quietly(self._detector)
            raise
        return ""

    def _check_mode(self, asked: Plan) -> None:
        modes = self._detector.facts().modes
        if modes and asked.mode not in modes:
            raise Refused(
                "no_such_mode",
                f"{self._detector.name} has no TriggerMode {asked.mode}, which synchronization "
                f"{asked.name} needs; it has {', '.join(modes)}: choose another synchronization for "
                f"{self._name()} (set_meas_conf Synchronization)",
            )

    def _arm_with_file(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
        context = self._naming()
        number = self._number.next(tuple(context.get(key) for key in ("scan_dir", "scan_file", "scan_id")))
        name = self._file_name(context, number)
        self._write(present, {**wanted, "DestinationFilename": name})
        try:
            self._detector.arm()
        except Refused as refused:
            if refused.kind != "file_exists":
                raise
            return self._arm_with_free_name(context, number)
        return name

    def _arm_with_free_name(self, context: Mapping[str, Any], first: int) -> str:
        try:
            self._number.value, name = choose_free(
                self._detector, lambda number: self._file_name(context, number), first
            )
        except NoName as error:
            raise Refused("file_exists", f"{self._name()}: {error}") from error
        self._detector.arm()
        return name

    def _naming(self) -> dict[str, Any]:
        """Return the ScanContext; where it has no value, that of `ct` outside a scan."""
        given = {key: value for key, value in self._context.items() if value}
        folder = given.get("scan_dir") or self._last_folder or self._detector.data_root()
        return {"scan_file": "ct", "scan_id": 0, **given, "scan_dir": folder}

    def _file_name(self, context: Mapping[str, Any], number: int) -> str:
        template, setting = self.file_template, file_template.SETTING
        if self.pattern:
            template, setting = self.pattern, file_template.PATTERN
        try:
            return file_template.render(template, context, self._name(), number, setting)
        except file_template.TemplateError as error:
            raise Refused("file_template", str(error)) from error

    def _write(self, present: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
        """Write only what differs: after each write the device measures again."""
        differing = {name: value for name, value in wanted.items() if not _same(present[name], value)}
        if differing:
            self._detector.write(differing)

    def _await_closed(self) -> Snapshot:
        limit = self._clock() + CLOSING_WITHIN
        while True:
            snapshot = self._detector.snapshot()
            if snapshot.state not in ACTIVE:
                return snapshot
            if self._clock() >= limit:
                raise Refused(
                    "closing",
                    f"{self._name()}: the last series of {self._detector.name} has not ended within "
                    f"{CLOSING_WITHIN:g} s: {snapshot.status} Start again when its State is ON",
                )
            self._pause(POLL)


def stop_quietly(detector: Detector) -> None:
    """Stop the detector, if it can be reached."""
    try:
        detector.stop()
    except Refused:
        return


def _same(present: Any, wanted: Any) -> bool:
    if isinstance(wanted, float) and isinstance(present, (int, float)):
        return math.isclose(present, wanted, rel_tol=1e-9, abs_tol=1e-12)
    return bool(present == wanted)
