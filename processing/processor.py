"""What a scientist's class is made of: `Processor`, and the `Frame` and `Series` that it gets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import msgspec
import numpy as np

from penstock.processing.describe import Plot
from penstock.processing.pixels import Blob, Pixels, Pool
from penstock.processing.series import Series
from penstock.stins.messages import Buffer, Image

Parts: TypeAlias = "tuple[Buffer, Sequence[Blob]]"
"""The encoded header of a frame, and its blobs."""
Result: TypeAlias = "Mapping[str, Any] | None"
"""Values by name, see `Processor.process`."""


class CannotProcess(ValueError):
    """Raised by a processor whose sentence says all: it is shown without class and line."""


NO_CHANNELS: Mapping[str, float] = MappingProxyType({})


class FrameIsOver(RuntimeError):
    """Pixels of a frame were asked for when it was over."""


class Frame:
    """One frame. It is over when `process` returns: values that are kept longer are copied.

    Args:
        index: its index in the series.
        parts: header and blobs, or a function that returns them when they are needed.
        pool: buffers for unpacked pixels.
    """

    __slots__ = (
        "__weakref__",
        "_image",
        "_parts",
        "_pixels",
        "_pool",
        "_replaced",
        "channels",
        "gap",
        "index",
    )

    def __init__(self, index: int, parts: Parts | Callable[[], Parts], pool: Pool) -> None:
        self.index = index
        """Index in the series, from 0."""
        self.gap = 0
        """Frames between the last one that this worker has had of the series and this one: they were skipped
        (dropped, lost, absent), or others have them. Of an `ordered` class one worker has all, and this says
        what a rolling mean lacks. 0 for a frame that comes behind later ones."""
        self.channels: Mapping[str, float] = NO_CHANNELS
        """Values of the channels in `needs`, by name; NaN where there is none."""
        self._parts: Parts | Callable[[], Parts] | None = parts
        self._pool = pool
        self._image: Image | None = None
        self._pixels: Pixels | None = None
        self._replaced: Any = None
        """What a step has put in the pixels' place."""

    @property
    def pixels(self) -> np.ndarray[Any, Any]:
        """The pixels: shape (rows, cols), or (k, rows, cols) of k channels or modules, (n,) of a spectrum,
        (rows, cols, 3) of colours; of the detector's type. They cannot be written: their memory is used again
        when the frame is over, so a view of them must not be kept; `frame.pixels.copy()` may.

        A step of a pipeline may assign an array of its own, which is what the next step sees.

        Raises:
            FrameIsOver: `process` has returned.
            ValueError: they cannot be unpacked.
        """
        if self._replaced is not None:
            found: np.ndarray[Any, Any] = self._replaced
            return found
        if self._pixels is None:
            image = self.image
            self._pixels = Pixels(image, self._blobs(), self._pool)
        array = self._pixels.array
        assert array is not None
        return array

    @pixels.setter
    def pixels(self, array: np.ndarray[Any, Any]) -> None:
        self._replaced = array

    @property
    def is_replaced(self) -> bool:
        """True if a step has put an array of its own in the pixels' place: they are no detector's counts."""
        return self._replaced is not None

    @property
    def image(self) -> Image:
        """The frame's header as the receiver sent it.

        Raises:
            FrameIsOver: `process` has returned, and it was not asked for before.
        """
        if self._image is None:
            self._image = _decoder.decode(self._both()[0])
        return self._image

    @property
    def timestamp(self) -> float | None:
        """End of the exposure by the host's clock, seconds since 1970 (UTC); `None` if it is unknown."""
        return self.image.timestamp

    @property
    def partial(self) -> bool:
        """True if a part of the pixels is missing; those have the fill value: the greatest of an unsigned
        type, -1 of a signed one, NaN."""
        return self.image.partial is not None

    @property
    def missing(self) -> tuple[int, ...]:
        """Places of the channels or modules that are missing, of k that the pixels have; () of one image.

        Raises:
            FrameIsOver: `process` has returned.
        """
        return tuple(place for place, blob in enumerate(self._blobs()) if not len(blob))

    def _blobs(self) -> Sequence[Blob]:
        return self._both()[1]

    def _both(self) -> Parts:
        parts = self._parts
        if callable(parts):
            parts = self._parts = parts()
        if parts is None:
            raise FrameIsOver(
                f"frame {self.index} is over; keep what is needed, such as frame.pixels.copy(), in process"
            )
        return parts


def end(frame: Frame) -> Pixels | None:
    """End a frame; return its pixels, if they were used, to be ended and recycled."""
    frame._parts = frame._replaced = None
    pixels, frame._pixels = frame._pixels, None
    return pixels


def memory(frame: Frame) -> Pixels | None:
    """Return the pixels of a frame as they came, if they were used."""
    return frame._pixels


class Processor:
    """The class that a scientist derives from: it is made once per series in each worker.

    Parameters are class attributes with a type and a default, `threshold: int = 1000`; types are int, float,
    str, bool, tuple, list, dict, Literal and unions with None. They are set before `configure` is called.
    """

    batch: ClassVar[int] = 1
    """Frames that `process_batch` wants together. There are fewer when no more have come for `batch_seconds`,
    and at the end."""
    batch_seconds: ClassVar[float] = 0.5
    """Longest time that the first frame of a batch waits for others, in seconds."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Names of channels of the pipeline whose values a frame has to have before it is processed:
    `frame.channels`. Frames wait for them, as long as late values are waited for, and no longer."""
    ordered: ClassVar[bool] = False
    """True if frames come in ascending order of their index, to one worker alone."""

    preparation: ClassVar[str] = ""
    """What `start` does, if it takes long: for the status, such as "preparing geometry"."""

    _label: ClassVar[str] = ""
    """Name of the step in the pipeline's file, if it has one."""

    _remark: str = ""
    """What was not as it should be in `start`, and did not keep it from its work: for the status."""

    _notes: tuple[str, ...] = ()
    """What a reader of the results has to know, such as of how many frames a dark is: for the result file."""

    def configure(self) -> None:
        """Prepare what follows from the parameters; called before `start`, and whenever they change.

        On a change it is called on a copy that has the new parameters, in another thread, while frames are
        still processed with the old ones; the attributes that it assigns are taken over when all workers have
        prepared theirs. So assign, and change nothing in place. An exception refuses the parameters, and the
        old ones hold.
        """

    def start(self, series: Series) -> None:
        """Prepare for a series, before its first frame."""

    def describe(self) -> Sequence[Plot] | None:
        """Say what the results mean: axes, units, errors; called once, after `start`.

        What is said holds for the whole series: `configure` refuses parameters that would change an axis.
        """
        return None

    def process(self, frame: Frame) -> Result:
        """Process one frame.

        Returns:
            Values by name, or `None`: numbers and arrays of numbers, which are kept per frame; `Events`;
            `Sum`, `Mean`, `Max`, `Min` of a number or array, which are accumulated over the frames. A name
            keeps kind, type and shape of its first value. A value of `None` is left out.

        Raises:
            Exception: any; the frame is *failed*, and the last line of the traceback is in the result file.
        """
        raise NotImplementedError

    def process_batch(self, frames: Sequence[Frame]) -> Sequence[Result]:
        """Process several frames at once; defined in place of `process`.

        Returns:
            For each frame what `process` returns for one.

        Raises:
            Exception: any; all these frames are failed.
        """
        raise NotImplementedError

    def end(self) -> None:
        """End the series in this worker, after its last frame here: let go of what `start` has opened."""

    def finish(self, totals: Mapping[str, np.ndarray[Any, Any]]) -> Result:
        """Make results of the whole series, in one of the workers, after its last frame.

        Args:
            totals: the accumulated values of all workers by name.

        Returns:
            Numbers and arrays by name, or `None`.
        """
        return None


_decoder = msgspec.json.Decoder(Image)
