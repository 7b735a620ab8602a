"""Entry of joined frames: a frame's status follows from those of its modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.models import FrameStatus
from penstock.receiver.series.frame_entry import out_of_range
from penstock.receiver.series.module_status import ModuleStatus
from penstock.receiver.series.running_series import ResumedSeries, RunningSeries
from penstock.receiver.series.sink import Sink
from penstock.receiver.series.timeouts import GapError
from penstock.receiver.transforms.frame_processor import Result
from penstock.receiver.transforms.joined import JoinedFrame, JoinedStart
from penstock.receiver.transforms.module_layout import LayoutError
from penstock.receiver.transforms.module_processor import ModuleProcessor
from penstock.stins.errors import BlobError, StinsError
from penstock.stins.messages import Frame, Start
from penstock.stins.texts import of_series

NOTHING_YET = (FrameStatus.PENDING, FrameStatus.MISSING)


class ModuleEntry:
    """Entry of joined frames.

    Args:
        sink: receives sound frames; its exceptions pass through to the caller.
        processor: checks and transforms each module.
        config: gap policy, and number of the first frame of a series.
    """

    def __init__(self, sink: Sink, processor: ModuleProcessor, config: ReceiverConfig) -> None:
        self._sink = sink
        self._modules = processor
        self._policy = config.gap.policy
        origin = config.source.frame_origin
        # With "first", the merge has counted each module from its own first frame, and joined frames from 0.
        self._origin = 0 if origin == "first" else origin
        self._series: RunningSeries | None = None
        """The series that began last."""
        self._laid_out = False

    @property
    def run(self) -> None:
        """See `Entry.run`: of each frame several modules arrive."""

    def has(self, series: str, index: int) -> bool:
        """Return whether a module of this frame has been entered."""
        running = self._series
        if running is None or running.id != series or not running.account.in_range(index):
            return False
        return running.account.status(index) not in NOTHING_YET

    def begin(self, start: Start, resumed: ResumedSeries | None) -> RunningSeries:
        """Return the series that the start messages of all modules announce.

        Raises:
            StinsError: they announce something impossible, or more than the memory allows.
        """
        # Only the process that was killed knew which modules of a frame had arrived: no such series is
        # resumed.
        assert isinstance(start, JoinedStart) and resumed is None
        joined = start.joined
        announced, unable = self._modules.begin(start)
        if unable is not None:
            self._sink.bad_message(unable)
        series = self._series = RunningSeries(announced, self._origin)
        series.joined, series.modules = joined, ModuleStatus(len(joined.endpoints))
        self._laid_out = False
        if announced.header.shape is not None:
            self._say_layout(series, announced.header.shape)
        return series

    def learned(self, start: Start, metadata: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return nothing: of modules there is no such header; see `Entry.learned`."""
        return {}

    def take(self, series: RunningSeries, frame: Frame, result: Result | None) -> None:
        """Enter the modules of a frame of the running series; see `Entry.take`."""
        account, modules = series.account, series.modules
        assert isinstance(frame, JoinedFrame) and modules is not None
        series.numbering.count(None)  # it consists of several messages
        index = series.numbering.index(frame.image)
        if not account.in_range(index):
            out_of_range(self._sink, series, index, frame)
            return
        known = self.has(series.id, index)
        before = modules.good(index)
        arrived = set(frame.arrived)
        again = arrived & before
        account.duplicate += len(again)
        if not arrived - again:
            return
        if known and self._modules.assembles:
            self._sink.bad_message(
                StinsError(
                    "late_module",
                    f"{frame.image.said}: {', '.join(frame.joined.endpoints[n] for n in arrived)} "
                    "arrived after the image was assembled; raise gap.seconds, or leave out the step "
                    "assemble: the file then assembles it",
                )
            )
            return
        try:
            frame = self._modules.process(frame.without(again), None if again else result)
        except BlobError as error:
            status = modules.enter(index, dict.fromkeys(arrived, FrameStatus.CORRUPT))
            if known:
                account.revise(index, status, late=False)
            else:
                account.take(index, status)
            series.losses.note(index, error)
            self._sink.bad_message(error)
            return
        for why in frame.corrupt.values():
            series.losses.note(index, why)
            self._sink.bad_message(why)
        status = modules.enter(
            index, {module: self._status(series, index, frame, module) for module in frame.arrived}
        )
        sound = len(frame.corrupt) < len(frame.arrived)
        if sound and not self._laid_out:
            self._say_layout(series, frame.image.shape)
        if sound and before:
            self._sink.late_modules(series, index, frame)
        elif sound:
            try:
                self._sink.frame(series, index, frame, status)
            except Exception:
                account.refuse(index)
                modules.enter(index, dict.fromkeys(arrived, FrameStatus.MISSING))
                raise
        if known:
            account.revise(index, status, late=sound)
            return
        account.take(index, status)
        self._fail_on_gap(frame)

    def _status(self, series: RunningSeries, index: int, frame: JoinedFrame, module: int) -> FrameStatus:
        if module in frame.corrupt:
            return FrameStatus.CORRUPT
        if frame.image.discard:
            return FrameStatus.DISCARDED
        image = frame.images[module]
        if image is not None and image.partial is not None:
            partial = BlobError("partial", f"{image.said}: {image.partial}")
            series.losses.note(index, partial)
            self._sink.bad_message(partial)
            return FrameStatus.PARTIAL
        return FrameStatus.STORED if series.writes else FrameStatus.DELIVERED

    def _fail_on_gap(self, frame: JoinedFrame) -> None:
        missing = [
            name for name, image in zip(frame.joined.endpoints, frame.images, strict=True) if image is None
        ]
        if missing and self._policy == "fail":
            raise GapError(
                f"{frame.image.said} has come without {', '.join(missing)}, and gap.policy is fail; "
                "look for losses at these modules' streamers"
            )

    def _say_layout(self, series: RunningSeries, shape: tuple[int, ...]) -> None:
        """Report once per series, as soon as the size of a module is known, why no image is assembled."""
        self._laid_out = True
        joined = series.joined
        if self._modules.assembles or joined is None or joined.is_placeless:
            return
        layout = joined.arranged(shape[-2], shape[-1])
        why = joined.why_not
        if layout is not None and layout.is_turned and series.writes:
            why = (
                "modules are turned, which a virtual dataset cannot show; "
                "put {type: assemble} into the transforms for an assembled image in the file"
            )
        if why:
            self._sink.bad_message(
                StinsError(
                    LayoutError.kind,
                    f"{series.name} is stored module by module, not assembled: {why}{of_series(series.id)}",
                )
            )
