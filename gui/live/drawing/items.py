"""The two items of the plot: the frame, which is whole and not drawn, and its picture, which is drawn.

silx' tools take the first, the active image. The second lies over the axes like silx' own overlays, so that
a new frame leaves axes and labels alone: matplotlib needs ten times as long for those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.image import AxesImage
from silx.gui.plot.backends.BackendMatplotlib import BackendMatplotlib
from silx.gui.plot.items import ImageBase, ImageData, ImageRgba, ItemChangedType

from penstock.gui.live.drawing.picture import Picture, Port
from penstock.gui.live.drawing.whole import Whole


class FrameItem(ImageData):
    """Holds a frame as received, for silx' tools; what they need beyond its counts is made when they ask."""

    def __init__(self) -> None:
        super().__init__()
        self._whole: Whole | None = None
        self._changing = False

    def set_whole(self, whole: Whole) -> None:
        """Hold this frame."""
        if whole is not self._whole:
            self._hold(whole.image, (whole.scale, whole.row_scale), whole)

    def set_counts(self, counts: npt.NDArray[Any], scale: float) -> None:
        """Hold what is drawn otherwise, as a curve."""
        self._hold(counts, (scale, scale), None)

    def _hold(self, counts: npt.NDArray[Any], scale: tuple[float, float], whole: Whole | None) -> None:
        self._changing, self._whole = True, None  # silx asks for the mask, which would be made for it
        ImageBase.setData(self, counts)  # that of ImageData copies
        self.setScale(scale)
        self._changing, self._whole = False, whole
        self._updated(ItemChangedType.DATA)

    def getMaskData(self, copy: bool = True) -> npt.NDArray[np.uint8] | None:
        """Return the `Flag`s: silx' own tools leave masked pixels out."""
        if self._whole is None or not self._whole.flags.any():
            return None
        return np.array(self._whole.flags) if copy else self._whole.flags

    def getColormappedData(self, copy: bool = True) -> npt.NDArray[Any]:
        """Return the counts, NaN where there is none."""
        return np.asarray(self.getValueData(copy=copy))

    def _updated(self, event: ItemChangedType | None = None, checkVisibility: bool = True) -> None:
        # That of silx masks all pixels at once, and has the whole plot drawn.
        if event is not None and not self._changing:
            self.sigItemChanged.emit(event)

    def _addBackendRenderer(self, backend: Any) -> None:
        return None


class PictureItem(ImageRgba):
    """What is drawn: one colour for each pixel of the screen, in its place.

    Args:
        port: what is in sight now. A picture of something else is stretched, until the next one is there.
    """

    def __init__(self, port: Callable[[], Port | None]) -> None:
        super().__init__()
        self._picture: Picture | None = None
        self._port = port

    def show_picture(self, picture: Picture) -> None:
        """Show a picture."""
        self._picture = picture
        if picture.port is not None:
            rows, columns = picture.port.rows, picture.port.columns
            scale, along = picture.whole.scale, picture.whole.row_scale
            self.setOrigin((columns.origin * scale, rows.origin * along))
            self.setScale((columns.step * scale, rows.step * along))
        self.setData(picture.colours, copy=False)

    def picture(self) -> Picture | None:
        """Return what is on show."""
        return self._picture

    def isOverlay(self) -> bool:
        """Return whether axes and labels need not be drawn again."""
        plot = self.getPlot()
        return plot is not None and isinstance(plot.getBackend(), BackendMatplotlib)

    def _getBounds(self) -> None:
        return None  # those of the plot are the frame's, not those of what is in sight

    def _addBackendRenderer(self, backend: Any) -> Any:
        picture = self._picture
        if picture is None or picture.port is None:
            return None
        if not isinstance(backend, BackendMatplotlib):
            return super()._addBackendRenderer(backend)
        (x, y), (width, height) = self.getOrigin(), self.getScale()
        rows, columns = picture.colours.shape[:2]
        artist = _Pixels(backend.ax, origin="upper", interpolation="nearest", animated=True)
        artist.set_extent((x, x + width * columns, y + height * rows, y))
        artist.set_picture(picture, self._port)
        backend.ax.add_artist(artist)
        return artist


class _Pixels(AxesImage):
    """An image that is copied to the screen where it is known which pixel goes where, else stretched."""

    def set_picture(self, picture: Picture, port: Callable[[], Port | None]) -> None:
        """Take a picture; `port`: see `PictureItem`."""
        self._A = picture.colours  # `set_data` copies
        self._made_for = picture.port
        self._port = port

    def make_image(
        self, renderer: Any, magnification: float = 1.0, unsampled: bool = False
    ) -> tuple[npt.NDArray[np.uint8], float, float, Any]:
        """Return the pixels from the bottom, and the place of their lower left corner, for matplotlib."""
        canvas: Any = self.axes.figure.canvas
        on_screen = not canvas.is_saving() and renderer is canvas.get_renderer()
        if self._made_for is None or not on_screen or self._port() != self._made_for:
            return super().make_image(renderer, magnification, unsampled)
        bottom = int(renderer.height) - self._made_for.rows.first - self._A.shape[0]
        return self._A[::-1], self._made_for.columns.first, bottom, None
