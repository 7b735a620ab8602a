"""The frames of a joined series that wait for modules: they leave when complete, or when the gap clock ends.

The gap clock of a module runs only while its socket is empty (`idle`): messages that wait in the receiver's
own sockets are not late.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from penstock.receiver.connection.reorder_buffer import held_bytes
from penstock.receiver.merge import messages
from penstock.receiver.merge.stream import Stream
from penstock.receiver.transforms.joined import Joined, JoinedFrame
from penstock.stins.messages import Buffer, Frame, Image


class _Incomplete:
    """A frame with some of its modules."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.arrived: dict[int, tuple[Image, Sequence[Buffer]]] = {}
        self.again: list[tuple[int, Frame]] = []
        """Second copies of a module: the first may be corrupt."""
        self.bytes = 0


class FrameQueue:
    """The frames of one series that wait for modules, by index.

    Args:
        joined: common properties of the frames of the series.
        series: name of the series.
        streams: one per module; frames do not wait for those that are absent or done.
        taken: tells whether a frame of this series and index has been entered already; later modules of it
            leave at once.
        gap: seconds after its first module that a frame waits for the others.
        origin: number of the first frame of the series.
    """

    def __init__(
        self,
        joined: Joined,
        series: str,
        streams: Sequence[Stream],
        taken: Callable[[str, int], bool],
        gap: float,
        origin: int,
    ) -> None:
        self._joined = joined
        self._series = series
        self._streams = streams
        self._taken = taken
        self._gap = gap
        self._origin = origin
        self._frames: dict[int, _Incomplete] = {}  # in the order of `since`
        self._newest = [-1] * len(streams)
        """Index of the last frame of each module."""
        self.bytes = 0
        """Memory of the waiting frames in bytes."""
        self.left = 0
        """Number of distinct frames that have left."""

    @property
    def is_over(self) -> bool:
        """True if the series has ended: nothing more of it is joined."""
        return self._joined.is_over

    @property
    def messages(self) -> int:
        """Number of waiting messages."""
        return sum(len(waiting.arrived) + len(waiting.again) for waiting in self._frames.values())

    def join(self, module: int, index: int, frame: Frame, now: float) -> list[JoinedFrame]:
        """Take the part of one module of the frame at `index`; return the frames that leave."""
        self._newest[module] = index
        waiting = self._frames.get(index)
        if waiting is None:
            if self._taken(self._series, index):
                return [self._frame(index, {module: (frame.image, frame.blobs)})]
            waiting = self._frames[index] = _Incomplete(now)
        nbytes = held_bytes(frame)
        waiting.bytes += nbytes
        self.bytes += nbytes
        if module in waiting.arrived:
            waiting.again.append((module, frame))
        else:
            waiting.arrived[module] = (frame.image, frame.blobs)
        return [] if self._expected(waiting) else self._leave(index)

    @property
    def held_back(self) -> Set[int]:
        """Modules that are ahead: the frame that has waited longest does not wait for them."""
        oldest = next(iter(self._frames.values()), None)
        return set() if oldest is None else set(range(len(self._streams))) - set(self._expected(oldest))

    def relieve(self, most_bytes: float) -> list[JoinedFrame]:
        """Return the oldest frames until the others fit into this memory, but none that may still be
        completed: a module keeps its order, so one that has sent a later frame will not send this one."""
        left: list[JoinedFrame] = []
        while self.bytes > most_bytes:
            index, oldest = next(iter(self._frames.items()))
            if any(self._newest[module] <= index for module in self._expected(oldest)):
                break
            left += self._leave(index)
        return left

    def complete(self) -> list[JoinedFrame]:
        """Return frames that leave because one module is no longer waited for."""
        return self._leave_all(
            [index for index, waiting in self._frames.items() if not self._expected(waiting)]
        )

    def everything(self) -> list[JoinedFrame]:
        """Return all frames as they are."""
        return self._leave_all(list(self._frames))

    def clock(self, now: float, idle: Sequence[bool]) -> list[JoinedFrame]:
        """Return frames that have waited too long; the modules missing from them become absent.

        Args:
            idle: for each module, whether its socket is empty.
        """
        overdue = self._overdue(now, idle)
        for index in overdue:
            waiting = self._frames[index]
            for module in self._expected(waiting):
                # A module that has sent something since then has only left out this frame.
                stream = self._streams[module]
                stream.absent = stream.last <= waiting.since
        if not overdue:
            return []
        return self._leave_all(overdue) + self.complete()

    def _overdue(self, now: float, idle: Sequence[bool]) -> list[int]:
        due = []
        for index, waiting in self._frames.items():
            if now - waiting.since <= self._gap:
                break
            if all(idle[module] for module in self._expected(waiting)):
                due.append(index)
        return due

    def _expected(self, waiting: _Incomplete) -> list[int]:
        """Return the modules for which a frame waits."""
        return [
            module
            for module, stream in enumerate(self._streams)
            if module not in waiting.arrived and not stream.absent and not stream.is_done
        ]

    def _leave_all(self, indices: Sequence[int]) -> list[JoinedFrame]:
        return [frame for index in indices for frame in self._leave(index)]

    def _leave(self, index: int) -> list[JoinedFrame]:
        """Remove the frame; return it, followed by second copies of modules."""
        waiting = self._frames.pop(index)
        self.bytes -= waiting.bytes
        self.left += 1
        return [
            self._frame(index, waiting.arrived),
            *(self._frame(index, {module: (again.image, again.blobs)}) for module, again in waiting.again),
        ]

    def _frame(self, index: int, arrived: Mapping[int, tuple[Image, Sequence[Buffer]]]) -> JoinedFrame:
        return messages.frame(self._joined, self._series, index + self._origin, arrived)
