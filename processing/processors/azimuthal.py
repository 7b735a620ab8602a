"""`processor: azimuthal`: intensity over angle or q of each frame, with its standard deviation."""

from __future__ import annotations

import logging
from importlib.metadata import version
from typing import Any, ClassVar, Literal

import msgspec
import numpy as np

from penstock.processing.azimuthal import facts, kept, poni, product
from penstock.processing.azimuthal.build import GEOMETRY
from penstock.processing.azimuthal.matrix import Matrix
from penstock.processing.azimuthal.plan import UNITS, Images, Plan, Splitting, Unit
from penstock.processing.describe import Axis, Plot, Value
from penstock.processing.processor import CannotProcess, Frame, Processor, Result
from penstock.processing.processors import _files
from penstock.processing.processors._image import image_of, masked_of, native, native_type
from penstock.processing.series import Series
from penstock.receiver import geometry as header_geometry
from penstock.receiver.validity.pixels import Flag

log = logging.getLogger(__name__)

REFERENCE = "pyFAI: G. Ashiotis et al., J. Appl. Cryst. 48 (2015) 510, doi:10.1107/S1600576715004306"
KEV = 12.398419843320026
"""h c in keV angstrom."""
MOST_BINS = 1_000_000
FILES = ("dark", "flat")


class Azimuthal(Processor):
    """Azimuthal integration: pyFAI's geometry and splitting of pixels, in a matrix; one pass over it per
    frame. Geometry, energy and mask are those of the series."""

    poni: str = ""
    """Another geometry than that of the series, which may be tilted: a .poni file, by its absolute path or
    its text."""
    unit: Unit = "q_nm^-1"
    points: int = 1000
    splitting: Splitting = "full"
    """How a pixel is shared between bins: not at all, by its bounding box, or by its exact shape."""
    radial_range: tuple[float, float] | None = None
    """Range of the radius, in `unit`; `None`: that of the image."""
    azimuth_points: int = 0
    """More than 0: so many sectors, a cake; 0: one curve."""
    azimuth_range: tuple[float, float] | None = None
    """Range of the azimuth, in degrees; `None`: all."""
    solid_angle: bool = True
    polarisation: float | None = None
    """Factor, from -1 (vertical) to 1 (horizontal); `None`: not corrected."""
    dark: str = ""
    """File with the dark, which is subtracted."""
    flat: str = ""
    """File with the flat field, by which is divided; not of a series whose detector has applied one."""
    mask: str = ""
    """File with a further mask: pixels do not count that are not 0 in its pixel_mask, or in its one image."""
    error_model: Literal["poisson", "none"] = "poisson"
    mask_value: float | Literal["auto", "none"] = "auto"
    """Value of pixels that do not count in this frame. "auto": those without a value, and saturated ones, as
    the series says (`receiver.validity`). NaN and infinity never count."""

    preparation: ClassVar[str] = "preparing geometry"
    _series: Series | None = None
    """Series being processed; `None` before `start`, which sets the following attributes, too."""
    _matrix: Matrix | None = None
    _poni: str = ""
    _shape: tuple[int, int] = (0, 0)

    def configure(self) -> None:
        """Check the parameters; within a series, make the matrix of the new ones over the same axis."""
        if not 1 <= self.points * max(1, self.azimuth_points) <= MOST_BINS or self.azimuth_points < 0:
            raise CannotProcess(
                f"points is {self.points}, azimuth_points {self.azimuth_points}: from 1 to {MOST_BINS:,} bins"
            )
        if self.polarisation is not None and not -1 <= self.polarisation <= 1:
            raise CannotProcess(f"polarisation is {self.polarisation}: a factor from -1 to 1, or null")
        for name in ("radial_range", "azimuth_range"):
            given = getattr(self, name)
            if given is not None and not (np.isfinite(given).all() and given[0] < given[1]):
                raise CannotProcess(
                    f"{name} is {list(given)}: give [from, to], two numbers, the smaller first"
                )
        if (turn := self.azimuth_range) is not None and not (
            (turn[0] >= -180 and turn[1] <= 180) or (turn[0] >= 0 and turn[1] <= 360)
        ):
            raise CannotProcess(
                f"azimuth_range is {list(turn)}: give degrees from -180 to 180, or from 0 to 360"
            )
        self._images = {name: _files.image(name, file) for name in FILES if (file := getattr(self, name))}
        self._further = _files.mask(self.mask) if self.mask else None
        self._notes = _files.notes(*self._images.values())
        self._geometry = poni.text(self.poni)
        if self._series is None:
            return
        if self._axes() != self._begun_with:
            raise CannotProcess(
                "unit, points, azimuth_points, radial_range, azimuth_range and error_model hold for a whole "
                "series, whose results have one axis: set them between two series"
            )
        if self._matrix is not None:
            self._matrix, self._poni = self._made(self._shape, self._matrix)

    def start(self, series: Series) -> None:
        """Make the matrix, if the start message says how large the images are.

        Raises:
            CannotProcess: neither the stream nor `poni` has a geometry, or there is no wavelength.
        """
        self._series = series
        self._begun_with = self._axes()
        self._matrix, self._poni, self._shape = None, "", (0, 0)
        self._check_geometry(series)
        shape = series.header.shape
        if shape is not None and len(shape) >= 2:
            kind = series.header.type
            if kind is None:
                self._prepare((shape[-2], shape[-1]))
                return
            # Compiled while the matrix is made by another process.
            with product.loading(native_type(kind), self.points * max(1, self.azimuth_points)):
                self._prepare((shape[-2], shape[-1]))

    def describe(self) -> list[Plot]:
        """Axes, errors, and the definition of NeXus."""
        if self._matrix is None:
            return []
        matrix, unit = self._matrix, UNITS[self.unit]
        axes = [Axis("radial_axis", matrix.radial, unit.unit, unit.label)]
        if self.azimuth_points:
            axes.insert(0, Axis("azimuthal_axis", matrix.azimuth, "deg", "azimuthal bin center"))
        # The definitions know of q and 2theta only.
        definition = f"NXazint{1 + bool(self.azimuth_points)}d" if unit.label in ("q", "2theta") else ""
        errors = "I_errors" if self.error_model == "poisson" else ""
        return [
            Plot(
                "I",
                errors,
                tuple(axes),
                "arbitrary units",
                "intensity",
                definition,
                self._fields(),
                self._how(),
            )
        ]

    def process(self, frame: Frame) -> Result:
        """Return `I`, and `I_errors` with an error model: float32, (points,) or (azimuth points, points)."""
        assert self._series is not None
        image = frame.pixels if frame.partial and frame.pixels.ndim == 2 else None
        image = image_of(frame, self._series, "azimuthal") if image is None else image
        if image is None:
            return None
        if image.shape != self._shape:
            if self._matrix is not None:
                raise CannotProcess(
                    f"the frame has {list(image.shape)} pixels, and the series {list(self._shape)}"
                )
            self._prepare((image.shape[0], image.shape[1]))
        curve = self._integrate(frame, native(image))
        return {"I": curve.intensity, "I_errors": curve.sigma}

    # -- within ----------------------------------------------------------------------------------------

    def _integrate(self, frame: Frame, image: np.ndarray[Any, Any]) -> product.Curve:
        assert self._matrix is not None and self._series is not None
        rule, kind = self._series.rule_for(frame), frame.pixels.dtype
        if frame.partial and self.mask_value != "auto":  # what is missing never counts
            missing = rule.flags(frame.pixels, partial=True) == Flag.INVALID
            image = np.where(missing, np.nan, image.astype(np.float64))
        limits = facts.limits(self.mask_value, rule, kind, partial=frame.partial)
        return product.integrate(self._matrix, image, limits, self.error_model == "poisson")

    def _axes(self) -> tuple[Any, ...]:
        return (
            self.unit, self.points, self.azimuth_points, self.radial_range, self.azimuth_range,
            self.error_model,
        )  # fmt: skip

    def _check_geometry(self, series: Series) -> None:
        if self._geometry:
            return
        name = series.header.filename or "the series"
        remarks = "".join(f"; {each}" for each in series.metadata.get(header_geometry.REMARKS) or ())
        if series.geometry is None:
            raise CannotProcess(f"{name} has no geometry: {header_geometry.NEEDED}; or set `poni`{remarks}")
        if self.unit.startswith("q_") and series.geometry.wavelength is None:
            raise CannotProcess(f"{name} {header_geometry.NO_ENERGY}{remarks}")

    def _prepare(self, shape: tuple[int, int]) -> None:
        self._shape = shape
        self._matrix, self._poni = self._made(shape, None)

    def _made(self, shape: tuple[int, int], before: Matrix | None) -> tuple[Matrix, str]:
        """Return the matrix of these parameters, and its geometry.

        Args:
            shape: of the images.
            before: the matrix whose axes are kept.
        """
        series = self._series
        assert series is not None
        known = series.geometry
        plan = Plan(
            geometry=self._geometry or (header_geometry.poni(known, shape) if known is not None else ""),
            shape=shape, unit=self.unit, points=self.points, splitting=self.splitting,
            radial_range=self.radial_range or (before and facts.ends(before.radial_edges)),
            azimuth_points=self.azimuth_points,
            azimuth_range=self.azimuth_range or (before and facts.ends(before.azimuth_edges)),
            solid_angle=self.solid_angle, polarisation=self.polarisation,
            wavelength=facts.wavelength_in(series.metadata),
        )  # fmt: skip
        mask = masked_of(series, shape, "azimuthal")
        found = {
            name: _files.of_shape(name, getattr(self, name), image, shape)
            for name, image in self._images.items()
        }
        if self._further is not None:
            further = _files.of_shape("mask", self.mask, self._further, shape)
            mask = further if mask is None else mask | further
        if series.metadata.get("flatfield_applied"):
            found.pop("flat", None)
        try:
            return kept.get(plan, Images(mask, found.get("flat"), found.get("dark")), self._say)
        except kept.NoMatrixError as error:
            whose = poni.name(self.poni) if self.poni else "the series"
            raise CannotProcess(str(error).replace(GEOMETRY, f"the geometry of {whose}")) from error

    def _say(self, why: str) -> None:
        log.warning("%s", why)
        self._remark = why

    def _fields(self) -> dict[str, Value]:
        """Return what the definition asks for."""
        assert self._series is not None
        said = self._series.metadata
        fields: dict[str, Value] = {
            "solid_angle_applied": self.solid_angle, "polarization_applied": self.polarisation is not None,
            "normalization_applied": True,
            "instrument/name": facts.text(said, "instrument_name", "instrument", "beamline"),
            "instrument/source/name": facts.text(said, "source.name", "source_name", "source"),
            "instrument/source/probe": facts.text(said, "source.probe", default="x-ray"),
        }  # fmt: skip
        if (kind := facts.text(said, "source.type")) != facts.UNKNOWN:
            fields["instrument/source/type"] = kind
        wavelength = facts.wavelength_of(self._poni) or facts.wavelength_in(said)
        if wavelength:
            fields["instrument/monochromator/wavelength"] = (wavelength * 1e10, "angstrom")
            fields["instrument/monochromator/energy"] = (KEV / (wavelength * 1e10), "keV")
        return fields

    def _how(self) -> dict[str, Value]:
        found: dict[str, Value] = {
            name: value
            if isinstance(value, bool | int | float | str)
            else msgspec.json.encode(value).decode()
            for name, value in ((name, getattr(self, name)) for name in Azimuthal.__annotations__)
            if not name.startswith("_") and name not in ("poni", "preparation")
        }
        return {**found, "poni": self._poni, "pyFAI": version("pyFAI"), "reference": REFERENCE}
