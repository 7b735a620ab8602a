"""A camera with features of its own; `python -m tests.system.feature_camera INSTANCE` serves its devices."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import msgspec
import tango.server

from penstock.devices._detector.detector_class import detector_class
from penstock.streamer.camera.features import Feature, HasFeatures
from penstock.streamer.camera.settings import Limits, Parameter, Value
from penstock.streamer.camera.unit import CameraError
from tests.streamer.rig import FakeCamera


class FeatureCamera(FakeCamera, HasFeatures):
    """Unit A and unit B differ in one feature."""

    properties = (
        Parameter(name="SerialNumber", default="A", doc="A or B."),
        Parameter(name="ShownFeatures", default="", doc="Features that are attributes, separated by commas."),
    )

    def __init__(self, properties: Mapping[str, Value]) -> None:
        super().__init__(properties)
        level: Value = 7 if properties["SerialNumber"] == "B" else 7.5
        self._features = {
            each.name: each
            for each in (
                Feature(name="BlackLevel", kind="float", value=4.0, writable=True, limits=Limits(0.0, 10.0),
                        unit="DN", doc="Value of a dark pixel", group="AnalogControl"),
                Feature(name="ReverseX", kind="boolean", value=False, writable=True),
                Feature(name="Pattern", kind="enumeration", value="Off", writable=True,
                        choices=("Off", "Bars")),
                Feature(name="Width", kind="integer", value=4, writable=True, set_by="AOIWidth"),
                Feature(name="Level", kind="integer" if isinstance(level, int) else "float", value=level),
            )
        }  # fmt: skip
        self._shown = str(properties["ShownFeatures"]).replace(",", " ").split()

    def shown(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(
                name=name, default=self.read(name), doc=f"{feature.doc or name}.", unit=feature.unit,
                limits=feature.limits, choices=feature.choices, writable=feature.writable,
            )
            for name in self._shown
            for feature in [self._features[name]]
        )  # fmt: skip

    def read(self, name: str) -> Value:
        if name in self._features:
            value = self._features[name].value
            assert value is not None
            return value
        return super().read(name)

    def list_features(self) -> Sequence[Feature]:
        return list(self._features.values())

    def get_feature(self, name: str) -> Feature:
        if name not in self._features:
            raise CameraError(f"this camera has no feature {name}")
        return self._features[name]

    def set_feature(self, name: str, value: Value) -> Feature:
        feature = self.get_feature(name)
        if feature.set_by:
            raise CameraError(f"{name} is set by the attribute {feature.set_by}; write that")
        self._features[name] = msgspec.structs.replace(feature, value=type(feature.value)(value))
        return self._features[name]

    def describe(self) -> Mapping[str, object]:
        return {"features": {name: self.read(name) for name in self._shown}}


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    from tests.system.feature_camera import FeatureCamera as Imported  # by the name that its streamer uses

    tango.server.run((detector_class(Imported),), args=["FeatureCamera", *sys.argv[1:]], raises=True)
