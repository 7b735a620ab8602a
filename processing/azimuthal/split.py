"""How pixels are shared between bins: cut along the edges of bins, by their area over radius and azimuth.

What lies outside of the bins is cut off, so that a pixel counts with its part that lies within; and azimuths
go around the circle, wherever the bins begin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.processing.compiled import compiled

TURN = 360.0
LEAST = 1e-7
"""Smaller parts of a pixel are rounding of its corners."""
CENTRE = 1e-3
"""A corner that is nearer to the beam, as a part of the farthest one, lies in it: it has no azimuth."""
VERTICES = 16
"""An outline has at most 6 corners and 3 vertices at the beam."""


class Bins(NamedTuple):
    """The bins of one axis, of one width."""

    low: float
    width: float
    number: int
    """0: all pixels are in one, whatever their place."""

    @classmethod
    def between(cls, limits: tuple[float, float], number: int) -> Bins:
        """Return so many bins between two limits."""
        return cls(limits[0], (limits[1] - limits[0]) / number, number)


def points(
    radius: np.ndarray[Any, Any], azimuth: np.ndarray[Any, Any], radial: Bins, sectors: Bins
) -> np.ndarray[Any, Any]:
    """Return the bin in which each point lies, int64; -1 of none.

    Args:
        radius, azimuth: of the points, azimuth in degrees; it may be empty if there are no sectors.
        radial, sectors: the bins; a bin's number is sector x radial bins + radial bin.
    """
    place = (radius - radial.low) / radial.width
    is_in = (place >= 0) & (place < radial.number)
    found: np.ndarray[Any, Any] = np.where(is_in, place, 0).astype(np.int64)
    if sectors.number:
        place = (azimuth - sectors.low) % TURN / sectors.width
        is_in &= place < sectors.number
        found += np.where(is_in, place, 0).astype(np.int64) * radial.number
    found[~is_in] = -1
    return found


@compiled
def share(
    corners: Any, mask: Any, radial: Any, sectors: Any, bins: Any, weights: Any, counts: Any
) -> int:  # pragma: no cover
    """Share pixels between bins; return the number of entries, with empty `bins` how many it is at most.

    Args:
        corners: (pixels, n, 2): radius and azimuth (degrees) of the corners of each pixel, all around it;
            with n = 2 the lowest and the highest corner of a box.
        mask: bool, (pixels,): true where a pixel does not count.
        radial, sectors: `Bins`, as of `points`.
        bins: integers, (entries,): becomes the bin of each part of a pixel.
        weights: float32, (entries,): becomes the part.
        counts: unsigned integers, (pixels,): becomes the number of parts of each pixel.
    """
    outline, entry, dry = np.empty((VERTICES, 2)), 0, len(bins) == 0
    before, after = np.empty(radial.number + 1), np.empty(radial.number + 1)
    rows = max(1, sectors.number)
    around = TURN / sectors.width if sectors.number else 0.0
    for pixel in range(len(mask)):
        if mask[pixel]:
            continue
        number = _outline(corners, pixel, radial, sectors, outline)
        left, right = _extent(outline, number, 0)
        bottom, top = _extent(outline, number, 1)
        if not (right > 0 and left < radial.number):
            continue
        column, end = max(0, int(np.floor(left))), min(radial.number, int(np.ceil(right)))
        whole, first = _under(outline, number, right, top), entry
        for turn in range(-2, 3) if sectors.number else range(1):
            shift = turn * around
            low, high = bottom + shift, top + shift
            row, last = (max(0, int(np.floor(low))), min(rows, int(np.ceil(high)))) if around else (0, 1)
            if row >= last:
                continue
            if dry:
                entry += (last - row) * (end - column)
                continue
            turned = entry
            _sums(outline, number, row - shift if around else -np.inf, column, end, before)
            for sector in range(row, last):
                _sums(outline, number, sector + 1 - shift if around else np.inf, column, end, after)
                for place in range(column, end):
                    part = (after[place + 1] - after[place] - before[place + 1] + before[place]) / whole
                    if part > LEAST:
                        found = _entry(sector * radial.number + place, bins, first, turned)
                        if found < turned:
                            weights[found] += part
                        else:
                            bins[entry], weights[entry] = sector * radial.number + place, part
                            entry += 1
                before, after = after, before
        if not dry:
            counts[pixel] = entry - first
    return entry


@compiled
def _entry(place: Any, bins: Any, first: Any, end: Any) -> Any:  # pragma: no cover
    """Return which of some entries has a bin, because the pixel reaches it from the other end of the circle,
    too; their end if none has."""
    for entry in range(first, end):
        if bins[entry] == place:
            return entry
    return end


@compiled
def _sums(
    outline: Any, number: Any, limit: Any, column: Any, end: Any, into: Any
) -> None:  # pragma: no cover
    """Write the area of a polygon below a limit of its azimuth and left of each of some edges of columns."""
    for edge in range(column, end + 1):
        into[edge] = _under(outline, number, np.float64(edge), limit)


@compiled
def _under(outline: Any, number: Any, right: Any, top: Any) -> float:  # pragma: no cover
    """Return the area of a polygon left of `right` and below `top`, negative if it goes around clockwise.

    It is the integral of min(x, right) dy along its sides, as far as they lie below `top` (Green's theorem).
    """
    area = 0.0
    x_end, y_end = outline[number - 1, 0], outline[number - 1, 1]
    for vertex in range(number):
        x, y = x_end, y_end
        x_end, y_end = outline[vertex, 0], outline[vertex, 1]
        x_1, y_1, x_2, y_2 = x, y, x_end, y_end
        if (y_1 >= top and y_2 >= top) or y_1 == y_2:
            continue
        if y_1 > top:
            x_1, y_1 = x_1 + (top - y_1) / (y_2 - y_1) * (x_2 - x_1), top
        elif y_2 > top:
            x_2, y_2 = x_1 + (top - y_1) / (y_2 - y_1) * (x_2 - x_1), top
        near, far = min(x_1, right), min(x_2, right)
        area += (near + far) / 2 * (y_2 - y_1)
        if (x_1 < right) != (x_2 < right):  # it bends where it meets `right`
            beyond = max(x_1, x_2) - right
            inner = right - min(x_1, x_2)
            area += inner / 2 * (beyond / (inner + beyond)) * (y_2 - y_1)
    return area


@compiled
def _outline(corners: Any, pixel: Any, radial: Any, sectors: Any, into: Any) -> int:  # pragma: no cover
    """Write a pixel as a polygon in units of bins, its azimuths in one piece; return its vertices' number."""
    number, made = corners.shape[1], 0
    if number == 2:
        for vertex in range(4):
            into[vertex, 0] = corners[pixel, int(vertex in (1, 2)), 0]
            into[vertex, 1] = corners[pixel, int(vertex > 1), 1]
        made = 4
    else:
        start = 0
        for corner in range(number):
            if corners[pixel, corner, 0] > corners[pixel, start, 0]:
                start = corner
        least, azimuth = CENTRE * corners[pixel, start, 0], np.float64(corners[pixel, start, 1])
        begin = azimuth
        for step in range(number + 1):
            corner = (start + step) % number
            if corners[pixel, corner, 0] < least:  # in the beam: it has the azimuths of both its neighbours
                into[made, 0], into[made, 1] = 0.0, azimuth
                made += 1
                continue
            near = np.float64(corners[pixel, corner, 1])
            near -= TURN * np.round((near - azimuth) / TURN)
            if made and into[made - 1, 0] == 0.0:
                into[made, 0], into[made, 1] = 0.0, near
                made += 1
            azimuth = near
            if step < number:
                into[made, 0], into[made, 1] = corners[pixel, corner, 0], azimuth
                made += 1
        if abs(azimuth - begin) > 1.0:  # once around: the beam is within
            into[made, 0], into[made, 1] = corners[pixel, start, 0], azimuth
            into[made + 1, 0], into[made + 1, 1] = 0.0, azimuth
            into[made + 2, 0], into[made + 2, 1] = 0.0, begin
            made += 3
    for vertex in range(made):
        into[vertex, 0] = (into[vertex, 0] - radial.low) / radial.width
        if sectors.number:
            into[vertex, 1] = (into[vertex, 1] - sectors.low) / sectors.width
    return made


@compiled
def _extent(outline: Any, number: Any, axis: Any) -> tuple[float, float]:  # pragma: no cover
    """Return the lowest and the highest place of a polygon along an axis."""
    low, high = np.inf, -np.inf
    for vertex in range(number):
        low, high = min(low, outline[vertex, axis]), max(high, outline[vertex, axis])
    return low, high
