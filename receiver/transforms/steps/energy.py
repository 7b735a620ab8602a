"""Conversion of counts to energy by a table, for time-over-threshold detectors (Pilatus)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
import numpy as np

from penstock.receiver.transforms.steps import tables
from penstock.receiver.transforms.steps.facts import of_good_pixels
from penstock.receiver.transforms.steps.format import (
    Format,
    FormatError,
    Kernel,
    Plan,
    ReadArray,
    Step,
    TransformConfigError,
    plain,
)

Finite = Annotated[float, msgspec.Meta(ge=-1e38, le=1e38)]


def padded(table: np.ndarray, outside: float) -> np.ndarray:
    """Return the table as float32, with the value `outside` added before and after it."""
    return np.concatenate(([outside], table, [outside])).astype("<f4")


def counts_to_energy(image: np.ndarray, padded_table: np.ndarray) -> np.ndarray:
    """Return the image with each count replaced by its entry, float32; `padded_table` is from `padded`."""
    place = image.astype(np.int64)
    np.clip(place, -1, len(padded_table) - 2, out=place)
    place += 1
    return padded_table.take(place)


class CountsToEnergy(Step, frozen=True, kw_only=True, tag="counts_to_energy"):
    """Each count becomes the table's entry of that index, float32, in the table's unit; NaN where a pixel has
    no value or is saturated."""

    table: tuple[Finite, ...] | str
    """Energies of 0, 1, 2, … counts: inline, or a file with one row or column of them."""
    changes_counts: ClassVar[bool] = True
    outside: Finite | None = None
    """Value for counts that are not in the table; NaN by default."""

    def load(self, read: ReadArray) -> Plan:
        entries = (
            tables.read(self.table, "counts_to_energy")
            if isinstance(self.table, str)
            else np.array(self.table, float)
        )
        if entries.size == 0:
            raise TransformConfigError(
                "counts_to_energy: the table is empty; give energies of 0, 1, 2, … counts"
            )
        if entries.size != max(entries.shape):
            raise TransformConfigError(
                f"counts_to_energy: the table is {list(entries.shape)}; give one row of energies"
            )
        table = padded(entries.reshape(-1), np.nan if self.outside is None else self.outside)

        def plan(format: Format) -> tuple[Format, Kernel]:
            plain(format, "counts_to_energy")
            if format.dtype.kind not in "iu" or format.type == "uint64":
                raise FormatError(f"counts_to_energy takes whole counts below 2⁶³, these are {format.type}")
            return format._replace(type="float32"), of_good_pixels(
                lambda image: counts_to_energy(image, table), format
            )

        return plan
