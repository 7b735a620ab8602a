"""Hooks of scans: `defgh det_begin pre-scan` and `defgh det_end post-scan`."""

from __future__ import annotations

import getpass
import json
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any, TypeVar

import tango
from sardana.macroserver.macro import Macro
from sardana.macroserver.msexception import InterruptException, UnknownEnv
from sardana.macroserver.scan.gscan import CAcquisition, ScanEndStatus
from sardana.pool import AcqSynchType

from penstock.sardana.channel.client import ChannelClient, Series, find, find_results, sentence
from penstock.sardana.channel.files import scan_folder

T = TypeVar("T")

SOFTWARE_LATENCY = 0.1
"""Seconds from the end of an exposure to the next software trigger of a continuous scan. Sardana skips a
trigger that comes before it has seen the end of the last point, some 20 ms later, more on a busy machine."""


class det_begin(Macro):
    """Prepare Penstock detectors for a scan; a hook: `defgh det_begin pre-scan`.

    Each Penstock detector in the active measurement group must be ready, and so must its receiver:
    otherwise the scan ends here, with the detector's own sentence, before anything moves. The
    detectors receive folder, file, number and title of the scan: their files are named after it,
    and record which scan they belong to. A continuous scan or time scan by software triggers gets
    a latency time of at least 0.1 s, without which Sardana would skip points.

    Results of live processing that are missing are counted over the whole scan.

    Examples:

    >>> defgh det_begin pre-scan
    >>> udefgh det_begin
    """

    def run(self) -> None:
        """See the class."""
        group = _group(self)
        channels = _channels(group)
        for channel in channels:
            channel.check_ready()
        _leave_time(self, group, [channel.name for channel in channels])
        text = json.dumps(_context(self)) if channels else ""
        for channel in channels:
            channel.proxy.write_attribute("ScanContext", text)
        for results in _results(group):
            results.write_attribute("InScan", True)


class det_end(Macro):
    """Leave Penstock detectors idle after a scan; a hook: `defgh det_end post-scan`.

    If the scan failed or was stopped, a detector that still waits for its triggers is stopped, and
    its file is completed with the frames so far. Lost frames, and whatever else there is to know
    about a detector's series, are reported as warnings, and so are frames that have no result of live
    processing, with what has become of them. A continuous scan whose detector has failed
    fails here, with the detector's own sentence: Sardana itself does not check. Nothing else that
    goes wrong here makes a scan fail.

    Examples:

    >>> defgh det_end post-scan
    >>> det_end
    """

    def run(self) -> None:
        """See the class."""
        channels: list[ChannelClient] = []
        try:
            group = _group(self)
            channels = _channels(group)
            series = [_quietly(self, channel, _leave_scan) for channel in channels]
            if Series.RUNNING in series:
                self._stop_group(
                    group, [c for c, ran in zip(channels, series, strict=True) if ran is Series.RUNNING]
                )
            for channel, ran in zip(channels, series, strict=True):
                if ran is not None:  # else it does not answer, which was reported
                    _quietly(self, channel, partial(self._end_channel, ran=ran))
            self._end_results(group)
        except InterruptException:
            raise
        except Exception as error:  # the scan is good, whatever this is
            self.warning(f"det_end: {error}")
        if _ended_well(self):
            faults = [
                fault for channel in channels if (fault := _quietly(self, channel, ChannelClient.fault))
            ]
            if faults:
                raise RuntimeError("; ".join(faults))

    def _end_results(self, group: Any) -> None:
        """Say once which frames have no result: channels of one pipeline say the same."""
        said = []
        for results in _results(group):
            if _ended_well(self) and results.state() is tango.DevState.FAULT:
                self.warning(results.status().replace("\n", ": "))  # of continuous scans nobody else says it
            for warning in str(results.read_attribute("ResultWarning").value).splitlines():
                if warning not in said:
                    said.append(warning)
                    self.warning(warning)
            results.write_attribute("InScan", False)

    def _stop_group(self, group: Any, channels: list[ChannelClient]) -> None:
        """Stop the whole group: Sardana 3.7 never ends the next count of a channel that was stopped alone."""
        try:
            tango.DeviceProxy(group.getFullName()).command_inout("Stop")
        except tango.DevFailed as error:  # another of its channels hangs
            self.warning(f"{group.getName()}: {sentence(error)}")
            for channel in channels:
                _quietly(self, channel, lambda channel: channel.detector.command_inout("Stop"))

    def _end_channel(self, channel: ChannelClient, ran: Series) -> None:
        if ran is not Series.FOREIGN:
            if late := channel.await_idle(self.output):
                self.warning(late)
        elif self.getParentMacro() is None:  # a scan has failed with this sentence
            self.warning(channel.in_use())
        if warning := channel.read("Warning"):
            self.warning(warning)
        channel.forget_scan()


def _ended_well(macro: Macro) -> bool:
    """Return whether the caller is a scan that is good so far, as Sardana sees it."""
    scan = macro.getParentMacro()
    gscan = getattr(scan, "gscan", None)
    if gscan is None or scan.isStopped() or scan.isAborted():
        return False
    return bool(gscan._env.get("endstatus") == ScanEndStatus.Normal)  # it has no public name


def _leave_scan(channel: ChannelClient) -> Series:
    channel.proxy.write_attribute("ScanContext", "")
    return channel.series()


def _quietly(macro: Macro, channel: ChannelClient, call: Callable[[ChannelClient], T]) -> T | None:
    try:
        return call(channel)
    except tango.DevFailed as error:
        macro.warning(f"{channel.name}: {channel.sentence_of(error)}")
        return None


def _group(macro: Macro) -> Any:
    """Return the measurement group of the calling scan, or else the active one; `None` if there is none."""
    gscan = getattr(macro.getParentMacro(), "gscan", None)
    if gscan is not None:
        return gscan.measurement_group
    try:
        return macro.getMeasurementGroup(macro.getEnv("ActiveMntGrp"))
    except UnknownEnv:
        macro.warning(f"{macro.getName()}: no measurement group is active; choose one with `set_meas`")
        return None


def _channels(group: Any) -> list[ChannelClient]:
    """Return the Penstock channels that are enabled in the group."""
    return find(info.full_name for info in group.getChannelsEnabledInfo()) if group is not None else []


def _results(group: Any) -> list[tango.DeviceProxy]:
    """Return the channels of pipelines that are enabled in the group."""
    return (
        find_results(info.full_name for info in group.getChannelsEnabledInfo()) if group is not None else []
    )


def _leave_time(macro: Macro, group: Any, channels: list[str]) -> None:
    """Give a continuous scan by software the latency time without which it loses points."""
    scan = macro.getParentMacro()
    if not channels or not isinstance(getattr(scan, "gscan", None), CAcquisition):
        return
    synchronizers, kinds = group.getSynchronizer(), group.getSynchronization()
    by_software = [
        name
        for name in channels
        if synchronizers.get(name) == "software" and kinds.get(name) != AcqSynchType.Start
    ]
    if by_software and getattr(scan, "latency_time", SOFTWARE_LATENCY) < SOFTWARE_LATENCY:
        macro.info(
            f"det_begin: software triggers {', '.join(by_software)}: latency time {SOFTWARE_LATENCY:g} s, "
            "without which points would be lost"
        )
        scan.latency_time = SOFTWARE_LATENCY


def _context(macro: Macro) -> dict[str, Any]:
    """Return the content of the channels' ScanContext."""
    parent = macro.getParentMacro()
    gscan = getattr(parent, "gscan", None)
    folder, not_set = scan_folder(partial(_environment, macro))
    if not_set:
        macro.warning(f"det_begin: {not_set}")
    if gscan is None:
        caller = parent.getName() if parent is not None else "the command line"
        macro.info(f"det_begin: {caller} is not a scan; the detectors' files are named like those of ct")
        return {
            "scan_dir": folder, "scan_file": "", "scan_id": 0,
            "title": parent.getMacroCommand() if parent is not None else "",
            "macro": parent.getName() if parent is not None else "", "user": _user(macro),
            "motors": [], "points": None,
        }  # fmt: skip
    points = getattr(parent, "nb_points", None)
    return {
        "scan_dir": gscan.scan_dir or folder,
        "scan_file": PurePath((gscan.scan_file or [""])[0]).stem,
        "scan_id": gscan.scan_id,
        "title": parent.getMacroCommand(),
        "macro": parent.getName(),
        "user": _user(macro),
        "motors": [moveable.moveable.getName() for moveable in gscan.moveables],
        "points": points if isinstance(points, int) else None,
    }


def _user(macro: Macro) -> str:
    return str(_environment(macro, "ScanUser") or getpass.getuser())


def _environment(macro: Macro, name: str) -> Any:
    try:
        return macro.getEnv(name)
    except UnknownEnv:
        return None
