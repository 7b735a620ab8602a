"""What every unit of a detector declares: the part that both contract suites share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar

import pytest

from penstock.stins.messages import IndexSource
from penstock.streamer.camera.settings import STANDARD, TriggerMode
from penstock.streamer.camera.unit import Unit


class UnitContract:
    """A subclass gives `unit`, an open one, as a fixture."""

    OPTIONAL: ClassVar[Mapping[str, str]] = {}
    """Hooks that a test class may lack, each with what is true of a detector without it; beside the hook."""

    def needs(self, hook: str) -> None:
        """Skip the test, with a sentence, if the test class lacks this hook."""
        owner = next(each for each in type(self).__mro__ if hook in vars(each))
        if reason := vars(owner).get("OPTIONAL", {}).get(hook):
            pytest.skip(f"no {hook}(): {reason}")

    def test_names_of_properties_and_parameters_are_unique_and_not_standard(self, unit: Unit) -> None:
        names = [p.name.lower() for p in (*STANDARD, *unit.parameters)]
        assert len(set(names)) == len(names)
        names = [p.name.lower() for p in unit.properties]
        assert len(set(names)) == len(names)

    def test_every_default_is_one_that_could_be_set(self, unit: Unit) -> None:
        for parameter in (*unit.properties, *unit.parameters):
            assert not parameter.choices or parameter.default in parameter.choices, parameter.name
            if isinstance(parameter.default, float | int):
                low, high = parameter.limits.minimum, parameter.limits.maximum
                assert low is None or parameter.default >= low, parameter.name
                assert high is None or parameter.default <= high, parameter.name

    def test_every_parameter_is_documented_in_a_sentence(self, unit: Unit) -> None:
        for parameter in (*unit.properties, *unit.parameters):
            assert parameter.doc[-1] in ".…", parameter.name

    def test_limits_are_of_declared_parameters(self, unit: Unit) -> None:
        numbers = {p.name for p in (*STANDARD, *unit.parameters) if not isinstance(p.default, str)}
        assert set(unit.limits()) <= numbers
        assert "ExposureTime" in unit.limits()

    def test_it_says_how_it_knows_a_frames_trigger(self, unit: Unit) -> None:
        assert isinstance(unit.index_source, IndexSource)
        assert unit.trigger_modes
        assert set(unit.trigger_modes) <= set(TriggerMode)
        assert unit.readout_time() >= 0

    def test_its_description_goes_into_json(self, unit: Unit) -> None:
        json.dumps(dict(unit.describe()))
