"""What is known of a series besides its frames: geometry, pixel mask, its scan, and lost frames.

Nothing is computed or copied before somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.receiver import geometry
from penstock.receiver.files.contents import nexus
from penstock.receiver.live.request import FrameRefused
from penstock.receiver.models import Geometry, LostFrames, LostRange, Scan
from penstock.receiver.series.running_series import RunningSeries
from penstock.receiver.transforms.joined import NO_PIXEL, assembled_metadata
from penstock.receiver.validity.mask import mask_image
from penstock.stins.blobs import announced_blobs, has_colours
from penstock.stins.messages import Frame
from penstock.stins.texts import of_series

MASK = "pixel_mask"


class SeriesFacts:
    """The facts of the running or last series.

    Args:
        series: the series; neither its frames nor its start message as sent are kept.
    """

    def __init__(self, series: RunningSeries) -> None:
        header = series.header
        self.id = series.id
        self._metadata = series.metadata
        self._account = series.account
        self._joined = series.joined
        self._channels = tuple(header.channels or ())
        self._format: tuple[tuple[int, ...], int] | None = None
        """Shape of a frame, and its number of blobs, once known."""
        if header.shape is not None:
            self._format = header.shape, announced_blobs(header.shape, self._channels)

    def first_frame(self, frame: Frame) -> None:
        """Learn the format from the first frame."""
        self._format = frame.image.shape, len(frame.blobs)

    def geometry(self) -> Geometry:
        """Return what the start message says of detector and beam.

        Raises:
            FrameRefused: the frames are no images.
        """
        self._check_images("no_geometry", "geometry")
        return geometry.known(self._metadata, self.id)

    def scan(self) -> Scan:
        """Return what the user's metadata say of the scan that the series belongs to."""
        user = self._metadata.get("user")
        user = user if isinstance(user, Mapping) else {}
        said = user.get("scan")
        said = said if isinstance(said, Mapping) else {}
        title, macro, motors, points = user.get("title"), *map(said.get, ("macro", "motors", "points"))
        return Scan(
            series=self.id,
            title=title if isinstance(title, str) else "",
            macro=macro if isinstance(macro, str) else "",
            motors=[each for each in motors if isinstance(each, str)] if isinstance(motors, list) else [],
            points=points if type(points) is int and 0 < points < 2**53 else None,
        )

    def lost(self, first: int, limit: int) -> LostFrames:
        """Return ranges of frames that are not, or not as a whole, in the file, from index `first` on.

        Raises:
            FrameRefused: the series does not reach to this index.
        """
        account = self._account
        if first > account.upto and (
            account.closed or (account.planned is not None and first > account.planned)
        ):
            end = account.upto if account.closed else account.planned
            raise FrameRefused(
                "out_of_range",
                f"the series ends at index {end}, and {first} was asked for{of_series(self.id)}",
            )
        ranges = [LostRange(*each) for each in account.lost(first, limit + 1)]
        following = ranges[limit].first if len(ranges) > limit else None
        return LostFrames(
            series=self.id,
            so_far=not account.closed,
            upto=account.upto,
            ranges=ranges[:limit],
            next=following,
        )

    def mask(self, channel: str | None) -> np.ndarray[Any, Any]:
        """Return the pixel mask, uint32 (rows, cols), for the image as it is shown: 0 is a good pixel, other
        values are bits as in NeXus' pixel_mask. Gaps between modules have bit 0.

        Args:
            channel: name of a channel, as sent or as in the file; `None` for the first one.

        Raises:
            FrameRefused: there is no mask, or it does not fit the frames.
        """
        self._check_images("no_mask", "mask")
        found = self._sent_mask(self._name_of(channel))
        whole = None if self._joined is None else self._joined.placed
        if found is None and whole is not None:
            found = np.full(whole.shape, NO_PIXEL, np.uint32)
            for place in whole.places:
                found[place.region] = 0
            if not found.any():
                found = None
        if found is None:
            raise FrameRefused(
                "no_mask",
                f"the start message has no {MASK}, so that all pixels count, except those that hold no number"
                f"{of_series(self.id)}",
            )
        size = self._size
        if found.shape != size and (size is not None or not found.size):
            raise FrameRefused(
                "no_mask",
                f"the {MASK} has {list(found.shape)} pixels, a frame {list(size or ())}: it cannot be used, "
                f"and all pixels count; compare it with the frames{of_series(self.id)}",
            )
        return _bits(found)

    @property
    def _size(self) -> tuple[int, int] | None:
        """Rows and columns of the image as it is shown; `None` while unknown."""
        if self._joined is not None and self._joined.placed is not None:
            return self._joined.placed.shape
        if self._format is None:
            return None
        return self._format[0][-2], self._format[0][-1]

    def _sent_mask(self, channel: str | None) -> np.ndarray[Any, Any] | None:
        metadata = self._metadata
        if self._joined is not None and isinstance(metadata.get(MASK), list):
            # Modules that are stored one by one: put together for those who look, turned ones too.
            metadata = assembled_metadata({MASK: metadata[MASK]}, self._joined, turn=True)
            if isinstance(metadata[MASK], list):
                why = self._joined.why_not or "their masks differ in shape"
                raise FrameRefused(
                    "no_mask",
                    f"each module has a {MASK} of its own: they form no image ({why}){of_series(self.id)}",
                )
        try:
            return mask_image(metadata, channel)
        except (TypeError, ValueError) as error:
            raise FrameRefused(
                "no_mask", f"the {MASK} of the start message is no image: {error}{of_series(self.id)}"
            ) from error

    def _name_of(self, channel: str | None) -> str | None:
        """Return the name of a channel as sent."""
        channels = self._channels
        if channel is None:
            return channels[0] if channels else None
        named = dict(zip(nexus.channel_names(channels), channels, strict=False))
        if channel in channels or channel in named:
            return named.get(channel, channel)
        has = f"channels are {', '.join(channels)}" if channels else "it has no channels: leave it out"
        raise FrameRefused(
            "no_such_channel", f"there is no channel {channel:.100}; {has}{of_series(self.id)}"
        )

    def _check_images(self, kind: str, what: str) -> None:
        """Refuse to describe frames that are no images.

        Raises:
            FrameRefused: they are spectra or colour images.
        """
        if self._format is None or self._joined is not None:
            return  # modules are images
        shape, blobs = self._format
        if len(shape) == 1 or has_colours(shape, blobs):
            frames = "spectra" if len(shape) == 1 else "colour images"
            raise FrameRefused(
                kind,
                f"{what} is known of images of [rows, cols], these frames of {list(shape)} are {frames}"
                f"{of_series(self.id)}",
            )


def _bits(mask: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return a mask as uint32; a value that has no bit there, such as 0.5, becomes bit 0."""
    if mask.dtype.kind in "bu" and mask.dtype.itemsize <= 4:
        return np.ascontiguousarray(mask, np.uint32)  # no copy of what the control units send
    with np.errstate(invalid="ignore"):
        bits = mask.astype(np.int64).astype(np.uint32) if mask.dtype.kind == "f" else mask.astype(np.uint32)
    bits[(bits == 0) & (mask != 0)] = NO_PIXEL
    return np.ascontiguousarray(bits)
