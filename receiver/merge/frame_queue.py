"""The frames of a joined series that wait for modules: they leave whole, or when the gap clock says so.

The gap clock of a module runs only while nothing waits to be read at its socket (`idle`): a receiver that was
held up itself must not call late what lies in its own sockets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set

from penstock.receiver.connection.held_bytes import held_bytes
from penstock.receiver.merge import messages
from penstock.receiver.merge.stream import Stream
from penstock.receiver.processing.joined import Joined, JoinedFrame
from penstock.stins.messages import Buffer, Frame, Image


class _Incomplete:
    """One frame of which some modules are there."""

    def __init__(self, since: float) -> None:
        self.since = since
        self.came: dict[int, tuple[Image, Sequence[Buffer]]] = {}
        self.again: list[tuple[int, Frame]] = []
        """Second copies of a module: the first may be corrupt."""
        self.bytes = 0


class FrameQueue:
    """The frames of one series that wait for modules, by index.

    Args:
        joined: the series, as far as each of its frames has to know.
        series: its name.
        streams: one per module; those that are absent or done are not waited for.
        taken: whether a frame of this series and index has been entered already; what arrives of it now does
            not wait for other modules.
        gap: seconds after its first module that a frame waits for the others.
        origin: number of the series' first frame.
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
        self.bytes = 0
        """Memory of what waits."""
        self.left = 0
        """Frames that have left, once each."""

    @property
    def is_over(self) -> bool:
        """Whether the series has ended, so that nothing more of it is to be joined."""
        return self._joined.is_over

    @property
    def messages(self) -> int:
        """How many messages wait."""
        return sum(len(waiting.came) + len(waiting.again) for waiting in self._frames.values())

    def join(self, module: int, index: int, frame: Frame, now: float) -> list[JoinedFrame]:
        """One module's part of the frame at `index`; returns what need not wait any more."""
        waiting = self._frames.get(index)
        if waiting is None:
            if self._taken(self._series, index):
                return [self._frame(index, {module: (frame.image, frame.blobs)})]
            waiting = self._frames[index] = _Incomplete(now)
        nbytes = held_bytes(frame)
        waiting.bytes += nbytes
        self.bytes += nbytes
        if module in waiting.came:
            waiting.again.append((module, frame))
        else:
            waiting.came[module] = (frame.image, frame.blobs)
        return [] if self._expected(waiting) else self._leave(index)

    @property
    def held_back(self) -> Set[int]:
        """Modules that the frame that waits longest does not wait for."""
        oldest = next(iter(self._frames.values()), None)
        return set() if oldest is None else set(range(len(self._streams))) - set(self._expected(oldest))

    def complete(self) -> list[JoinedFrame]:
        """Somebody is not waited for any more: frames that have all others leave."""
        return self._leave_all(
            [index for index, waiting in self._frames.items() if not self._expected(waiting)]
        )

    def everything(self) -> list[JoinedFrame]:
        """All leave as they are."""
        return self._leave_all(list(self._frames))

    def clock(self, now: float, idle: Sequence[bool]) -> list[JoinedFrame]:
        """Those that have waited too long leave; the modules that they have waited for are absent.

        Args:
            idle: for each module, whether nothing waits to be read at its socket.
        """
        overdue = self._overdue(now, idle)
        for index in overdue:
            waiting = self._frames[index]
            for module in self._expected(waiting):
                # One that has sent something since has only left out this frame.
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
        """Modules that a frame waits for."""
        return [
            module
            for module, stream in enumerate(self._streams)
            if module not in waiting.came and not stream.absent and not stream.is_done
        ]

    def _leave_all(self, indices: Sequence[int]) -> list[JoinedFrame]:
        return [frame for index in indices for frame in self._leave(index)]

    def _leave(self, index: int) -> list[JoinedFrame]:
        """Take the frame out; return it, and behind it second copies of modules."""
        waiting = self._frames.pop(index)
        self.bytes -= waiting.bytes
        self.left += 1
        return [
            self._frame(index, waiting.came),
            *(self._frame(index, {module: (again.image, again.blobs)}) for module, again in waiting.again),
        ]

    def _frame(self, index: int, came: Mapping[int, tuple[Image, Sequence[Buffer]]]) -> JoinedFrame:
        return messages.frame(self._joined, self._series, index + self._origin, came)
