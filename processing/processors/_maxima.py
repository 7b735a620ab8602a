"""Local maxima of images, compiled by numba once per type of pixels, and kept for the next process."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.processing.compiled import compiled


@compiled
def threshold_integers(
    image: Any, dark: Any, masked: Any, low: Any, high: Any, into: Any
) -> None:  # pragma: no cover
    """Subtract a dark from integers; what is not between the limits becomes 0.

    Args:
        image: (rows, cols), of any integer type that `into` holds.
        dark: int32, (rows, cols).
        masked: places of pixels that become 0, in the image as one line.
        low, high: integers; a pixel is kept if it is above the one and below the other.
        into: signed integers, (rows + 2, cols + 2); its border stays as it is.
    """
    rows, columns = image.shape
    for row in range(rows):
        for column in range(columns):
            value = into.dtype.type(image[row, column]) - dark[row, column]
            into[row + 1, column + 1] = value if low < value < high else 0
    for place in masked:
        into[place // columns + 1, place % columns + 1] = 0


@compiled
def threshold_floats(
    image: Any, dark: Any, factor: Any, masked: Any, low: Any, high: Any, into: Any
) -> None:  # pragma: no cover
    """Subtract a dark, multiply by a factor, in float32; what is not between the limits, or NaN, becomes 0.

    Args:
        image: (rows, cols), of any type.
        dark, factor: float32, (rows, cols).
        masked: places of pixels that become 0, in the image as one line.
        low, high: float64; a pixel is kept if it is above the one and below the other.
        into: float32, (rows + 2, cols + 2); its border stays as it is.
    """
    rows, columns = image.shape
    for row in range(rows):
        for column in range(columns):
            value = (np.float32(image[row, column]) - dark[row, column]) * factor[row, column]
            into[row + 1, column + 1] = value if low < value < high else np.float32(0)
    for place in masked:
        into[place // columns + 1, place % columns + 1] = 0


@compiled
def strict_maxima(bordered: Any, zeros: bool, out: Any) -> int:  # pragma: no cover
    """Find the pixels that are greater than each of their eight neighbours.

    Args:
        bordered: (rows + 2, cols + 2); the border is less than any pixel.
        zeros: whether a pixel of 0 may be one.
        out: uint32, receives row × cols + column of each, ascending; long enough for one in four pixels.

    Returns:
        The number of them.
    """
    count, rows, columns = 0, bordered.shape[0] - 2, bordered.shape[1] - 2
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            value = bordered[row, column]
            if value == 0 and not zeros:
                continue
            if (
                value > bordered[row, column - 1]
                and value > bordered[row, column + 1]
                and value > bordered[row - 1, column]
                and value > bordered[row + 1, column]
                and value > bordered[row - 1, column - 1]
                and value > bordered[row - 1, column + 1]
                and value > bordered[row + 1, column - 1]
                and value > bordered[row + 1, column + 1]
            ):
                out[count] = (row - 1) * columns + column - 1
                count += 1
    return count


@compiled
def highest_around(
    image: Any, masked: Any, low: Any, high: Any, radius: int, out: Any
) -> int:  # pragma: no cover
    """Find the pixels that are the highest of those around them; of equal ones the first counts.

    Args:
        image: (rows, cols).
        masked: bool, (rows, cols), or without rows if all pixels count.
        low, high: only pixels above the one and not above the other count.
        radius: pixels in each direction, so that (2 × radius + 1)² are compared.
        out: int64, receives row × cols + column of each, ascending, as many as it holds.

    Returns:
        The number of them, which may be more than `out` holds.
    """
    count, (rows, columns), has_mask = 0, image.shape, masked.shape[0] > 0
    for row in range(rows):
        for column in range(columns):
            value = image[row, column]
            if not (low < value <= high) or (has_mask and masked[row, column]):
                continue
            is_highest = True
            for other_row in range(max(0, row - radius), min(rows, row + radius + 1)):
                for other in range(max(0, column - radius), min(columns, column + radius + 1)):
                    neighbour = image[other_row, other]
                    if (
                        not neighbour >= value  # less, or NaN
                        or neighbour > high
                        or (has_mask and masked[other_row, other])
                    ):
                        continue
                    is_later = other_row > row or (other_row == row and other >= column)
                    if neighbour > value or not is_later:
                        is_highest = False
                        break
                if not is_highest:
                    break
            if is_highest:
                if count < out.shape[0]:
                    out[count] = row * columns + column
                count += 1
    return count
