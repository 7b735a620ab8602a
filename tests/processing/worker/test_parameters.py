"""Parameters of processors: what a class declares, and which values it takes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from penstock.processing import Processor
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.wire import Parameter
from penstock.processing.worker.parameters import ParameterError, declared, described, split


class Spots(Processor):
    threshold: int = 1000
    radius: float = 1.5
    method: Literal["max", "sum"] = "max"
    box: tuple[int, int] | None = None
    names: list[str] = []  # noqa: RUF012
    table: dict[str, float] = {}  # noqa: RUF012
    dry: bool = False
    good: np.ndarray  # set in start
    LIMIT: ClassVar[int] = 5
    _hidden: int = 3
    batch = 4

    def process(self, frame: Any) -> None: ...


class Rings(Spots):
    threshold: int = 7
    rings: int = 3


def test_parameters_are_the_annotated_attributes_that_have_a_default() -> None:
    assert [(each.name, each.type, each.default, each.step) for each in described([Spots, Rings])] == [
        ("threshold", "int", 1000, 0), ("radius", "float", 1.5, 0),
        ("method", "Literal['max', 'sum']", "max", 0), ("box", "tuple[int, int] | None", None, 0),
        ("names", "list[str]", [], 0), ("table", "dict[str, float]", {}, 0), ("dry", "bool", False, 0),
        ("threshold", "int", 7, 1), ("radius", "float", 1.5, 1),
        ("method", "Literal['max', 'sum']", "max", 1), ("box", "tuple[int, int] | None", None, 1),
        ("names", "list[str]", [], 1), ("table", "dict[str, float]", {}, 1), ("dry", "bool", False, 1),
        ("rings", "int", 3, 1),
    ]  # fmt: skip
    assert isinstance(described([Spots])[0], Parameter)


def test_values_are_given_by_name_and_the_others_are_the_defaults() -> None:
    (found,) = split([Spots], {"threshold": 5, "radius": 2, "box": [3, 4], "method": "sum"})
    assert found == {
        "threshold": 5, "radius": 2.0, "method": "sum", "box": (3, 4), "names": [], "table": {}, "dry": False,
    }  # fmt: skip
    assert type(found["radius"]) is float


def test_text_stands_for_a_number_as_from_a_command_line() -> None:
    (found,) = split([Spots], {"threshold": "5", "dry": "true", "radius": "0.5"})
    assert (found["threshold"], found["dry"], found["radius"]) == (5, True, 0.5)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"threshold": True}, "parameter threshold of Spots is True; it has to be int"),
        ({"threshold": None}, "parameter threshold of Spots is None; it has to be int"),
        ({"method": "mean"}, "parameter method of Spots is 'mean'; it has to be one of max, sum"),
        (
            {"box": [1, 2, 3]},
            r"box of Spots is \[1, 2, 3\]; it has to be tuple\[int, int\] \| None",
        ),
        ({"LIMIT": 3}, "there is no parameter LIMIT: Spots has threshold, radius, "),
        ({"batch": 3}, "there is no parameter batch"),
        ({"treshold": 3}, "is threshold meant"),
        ({"1.threshold": 3}, "there is no parameter 1.threshold: .*; is threshold meant"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_a_sentence(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError, match=sentence):
        split([Spots], values)


def test_of_several_steps_the_number_says_which_is_meant_where_the_name_does_not() -> None:
    first, second = split([Spots, Rings], {"0.threshold": 1, "1.threshold": 2, "rings": 9})
    assert (first["threshold"], second["threshold"], second["rings"]) == (1, 2, 9)
    with pytest.raises(ParameterError, match=r"write 0.radius \(Spots\) or 1.radius \(Rings\)"):
        split([Spots, Rings], {"radius": 1.0})


def test_the_parameters_of_a_configuration_go_to_the_steps_that_they_were_given_for() -> None:
    steps = [StepConfig(processor="a.py:A", parameters=given) for given in ({"threshold": 1}, {"rings": 3})]
    assert PipelineConfig(name="one", steps=(steps[0],)).parameters == {"threshold": 1}
    both = PipelineConfig(name="two", steps=tuple(steps)).parameters
    assert both == {"0.threshold": 1, "1.rings": 3}
    first, second = split([Spots, Rings], both)
    assert (first["threshold"], second["rings"]) == (1, 3)


def test_a_default_of_another_type_or_a_type_that_no_file_can_give_is_refused() -> None:
    class Wrong(Processor):
        threshold: int = 1.5  # type: ignore[assignment]

    class Strange(Processor):
        dark: np.ndarray = None  # type: ignore[assignment]

    with pytest.raises(ParameterError, match="parameter threshold of Wrong cannot be int = 1.5"):
        declared(Wrong)
    with pytest.raises(ParameterError, match="parameter dark of Strange cannot be ndarray = None.*ClassVar"):
        declared(Strange)


def test_a_type_that_is_not_there_is_refused() -> None:
    class Wrong(Processor):
        threshold: Nonsense = 1  # type: ignore[name-defined]  # noqa: F821

    with pytest.raises(ParameterError, match="types of the parameters of Wrong cannot be read.*Nonsense"):
        declared(Wrong)
