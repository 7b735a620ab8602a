"""Every step against its reference, and what each refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fabio
import msgspec
import numpy as np
import pytest

from penstock.receiver.process.transform_files import read
from penstock.receiver.transforms.steps import Transform, dark_flat, energy, mask, orientation
from penstock.receiver.transforms.steps.format import Format, FormatError, Step, TransformConfigError
from penstock.receiver.validity.pixels import PixelRule
from tests.receiver.transforms.steps import references

RANDOM = np.random.default_rng(3)


def step(**keys: Any) -> Step:
    """A step as the configuration would give it."""
    made: Step = msgspec.convert(keys, Transform)  # type: ignore[arg-type]
    return made


def counts(shape: tuple[int, int], dtype: str = "int32") -> np.ndarray[Any, Any]:
    """A frame with small differences, large ones, and masked pixels."""
    image = RANDOM.poisson(3, shape).astype("int64")
    image.flat[::7] = RANDOM.integers(0, 40_000, image.flat[::7].size)
    image.flat[::31] = RANDOM.integers(0, 2**31, image.flat[::31].size)
    image.flat[::13] = -2
    return image.astype(dtype)


SHAPES = [(1, 1), (1, 5), (7, 3), (24, 31)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("turns", [1, 2, 3])
def test_rotate_agrees_with_its_reference(turns: int, shape: tuple[int, int]) -> None:
    image = counts(shape)
    np.testing.assert_array_equal(orientation.rotate(image, turns), references.rotate(image, turns))


@pytest.mark.parametrize("direction", ["left-right", "up-down"])
def test_flip_agrees_with_its_reference(direction: str) -> None:
    image = counts((5, 8))
    np.testing.assert_array_equal(orientation.flip(image, direction), references.flip(image, direction))


def test_mask_agrees_with_its_reference_and_leaves_its_input_alone() -> None:
    image = counts((9, 8))
    before = image.copy()
    place = slice(2, 5), slice(0, 8)
    np.testing.assert_array_equal(mask.mask(image, *place, -1), references.mask(image, *place, -1))
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "uint32", "int64"])
def test_counts_to_energy_agrees_with_its_reference(dtype: str) -> None:
    image = counts((11, 7), dtype)
    table = energy.padded(np.linspace(1.5, 90.0, 200), np.nan)
    found = energy.counts_to_energy(image, table)
    assert found.dtype == np.dtype("<f4")
    np.testing.assert_array_equal(found, references.counts_to_energy(image, table))


@pytest.mark.parametrize("dark", [None, RANDOM.normal(100, 3, (6, 7)).astype("<f4")])
@pytest.mark.parametrize("flat", [None, RANDOM.normal(1, 0.1, (6, 7)).astype("<f4")])
def test_dark_flat_agrees_with_its_reference(dark: Any, flat: Any) -> None:
    image = RANDOM.poisson(1000, (6, 7)).astype("uint16")
    found = dark_flat.correct(image, dark, flat)
    assert found.dtype == np.dtype("<f4")
    np.testing.assert_allclose(found, references.correct(image, dark, flat), rtol=1e-6)


NAN = float("nan")
GOOD = [
    # What the detector says, type, pixels, and what is left of them behind a dark of 10 and a flat of 2.
    (PixelRule(), "uint32", [12, 2**32 - 1], [1, NAN]),  # a gap
    (PixelRule(), "int32", [12, 2**31 - 1, -2], [1, 1073741818.5, -6]),  # of a signed type all are values
    (PixelRule(), "uint16", [12, 65535], [1, NAN]),  # the end of counting
    (PixelRule(500.0), "uint16", [12, 499, 500, 65535], [1, 244.5, NAN, NAN]),
    (PixelRule(underload=0.0), "int32", [-1, -2, 100], [NAN, NAN, 45]),
    (PixelRule(500.0, -3.0), "int32", [-4, -3, 500, 2**31 - 1], [NAN, -6.5, NAN, NAN]),
    (PixelRule(), "float32", [12, np.inf, np.nan], [1, NAN, NAN]),
]


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize(("rule", "dtype", "sent", "left"), GOOD)
def test_dark_flat_makes_no_value_of_a_pixel_that_has_none_or_is_saturated(
    tmp_path: Path, rule: PixelRule, dtype: str, sent: list[float], left: list[float], partial: bool
) -> None:
    for name, value in (("dark", 10), ("flat", 2)):
        np.save(tmp_path / f"{name}.npy", np.full((1, len(sent) + 1), value, "float32"))
    made = step(type="dark_flat", dark=str(tmp_path / "dark.npy"), flat=str(tmp_path / "flat.npy"))
    fill = {"u": np.iinfo(dtype).max if dtype[0] == "u" else 0, "i": -1, "f": np.nan}[dtype[0]]
    image = np.array([[*sent, fill if partial else 12]], dtype)
    found = kernel(made, Format(image.shape, dtype, "none", rule, partial))(image)
    np.testing.assert_array_equal(found, np.array([[*left, NAN if partial else 1]], "float32"))


@pytest.mark.parametrize("name", ["dark", "flat"])
def test_a_gap_of_a_dark_or_flat_is_no_count(tmp_path: Path, name: str) -> None:
    path = tmp_path / "gap.npy"
    np.save(path, np.array([[2, 2**32 - 1, 4]], "uint32"))
    corrected = kernel(step(type="dark_flat", **{name: str(path)}), Format((1, 3), "int32", "none"))
    left = {"dark": [6, NAN, 4], "flat": [4, NAN, 2]}[name]
    found = corrected(np.array([[8, 8, 8]], "int32"))
    np.testing.assert_array_equal(found, np.array([left], "float32"))


def test_counts_to_energy_has_none_for_a_pixel_without_a_value_or_a_saturated_one() -> None:
    made = step(type="counts_to_energy", table=[0, 5, 7, 9], outside=-3)
    format = Format((1, 5), "int32", "none", PixelRule(3.0, 0.0))
    found = kernel(made, format)(np.array([[0, 2, 3, -1, 4]], "int32"))
    np.testing.assert_array_equal(found, np.array([[0, 7, NAN, NAN, NAN]], "float32"))
    found = kernel(made, format._replace(rule=PixelRule()))(np.array([[0, 2, 3, -1, 4]], "int32"))
    np.testing.assert_array_equal(found, np.array([[0, 7, 9, -3, -3]], "float32"))


# -- what a step says of formats and files ---------------------------------------------------------

IMAGE = Format((6, 7), "int32", "none")
STACK = IMAGE._replace(shape=(3, 6, 7))


@pytest.mark.parametrize(
    ("keys", "before", "after"),
    [
        ({"type": "cbf"}, IMAGE._replace(compression="cbf"), IMAGE),
        ({"type": "cbf"}, IMAGE._replace(compression=""), IMAGE),
        ({"type": "cbf"}, IMAGE, IMAGE),
        ({"type": "bslz4"}, IMAGE, IMAGE._replace(compression="bslz4")),
        ({"type": "decompress"}, IMAGE._replace(compression="bslz4"), IMAGE),
        ({"type": "decompress"}, IMAGE._replace(compression="lz4"), IMAGE),
        ({"type": "mono12p"}, IMAGE._replace(type="Mono12p"), IMAGE._replace(type="uint16")),
        ({"type": "mono12packed"}, IMAGE._replace(type="mono12p"), IMAGE._replace(type="uint16")),
        ({"type": "rotate", "quarter_turns": 1}, IMAGE, IMAGE._replace(shape=(7, 6))),
        ({"type": "rotate", "quarter_turns": 2}, IMAGE, IMAGE),
        ({"type": "rotate", "quarter_turns": 3}, STACK, STACK._replace(shape=(3, 7, 6))),
        ({"type": "flip", "direction": "up-down"}, IMAGE, IMAGE),
        ({"type": "counts_to_energy", "table": [1, 2.5]}, IMAGE, IMAGE._replace(type="float32")),
    ],
)  # fmt: skip
def test_a_step_says_how_frames_look_behind_it(keys: dict[str, Any], before: Format, after: Format) -> None:
    assert step(**keys).load(read)(before)[0] == after


RECTANGLE = {"first_row": 0, "first_column": 0, "rows": 2, "columns": 2}


@pytest.mark.parametrize(
    ("keys", "format", "says"),
    [
        ({"type": "cbf"}, Format((6, 7), "uint16", "cbf"), "gives 32-bit pixels, the stream says uint16"),
        ({"type": "cbf"}, Format((6, 7), "int32", "bslz4"), 'takes blobs of compression "cbf"'),
        ({"type": "bslz4"}, Format((6, 7), "int32", "cbf"), "put {type: cbf} before it"),
        ({"type": "bslz4"}, Format((6, 7), "int32", "lz4"), "put {type: decompress} before it"),
        ({"type": "decompress"}, Format((6, 7), "int32", "cbf"), "takes bslz4 or lz4 blobs"),
        ({"type": "mono12p"}, Format((6, 7), "uint8", "none"), "takes frames of type mono12p"),
        ({"type": "rotate", "quarter_turns": 1}, Format((6, 7), "int32", "bslz4"), "put {type: decompress}"),
        ({"type": "flip", "direction": "up-down"}, Format((6, 7), "mono12p", "none"), "put mono12p"),
        ({"type": "mask", **RECTANGLE}, Format((6, 1), "int32", "none"), "images have 6 rows, 1 column"),
        ({"type": "mask", **RECTANGLE, "fill": -1}, Format((6, 7), "uint16", "none"), "from 0 to 65535"),
        (
            {"type": "mask", **RECTANGLE, "fill": "nan"},
            Format((6, 7), "uint16", "none"),
            "give a whole number",
        ),
        ({"type": "mask", **RECTANGLE, "fill": 0.5}, Format((6, 7), "uint16", "none"), "give a whole number"),
        ({"type": "counts_to_energy", "table": [1]}, Format((6, 7), "float32", "none"), "takes whole counts"),
    ],
)
def test_a_step_refuses_what_it_cannot_take(keys: dict[str, Any], format: Format, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        step(**keys).load(read)(format)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "keys",
    [
        {"type": "sharpen"},
        {"type": "cbf", "level": 3},
        {"type": "rotate"},
        {"type": "rotate", "quarter_turns": 4},
        {"type": "flip", "direction": "sideways"},
        {"type": "mask", **RECTANGLE, "rows": 0},
        {"type": "mask", **RECTANGLE, "fill": float("nan")},
        {"type": "dark_flat"},
        {"type": "counts_to_energy"},
    ],
)
def test_a_wrong_key_of_a_step_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        step(**keys)


def kernel(made: Step, format: Format) -> Any:
    """What a step does to images of a format."""
    return made.load(read)(format)[1]


@pytest.mark.parametrize("name", ["table.npy", "table.txt", "table.csv"])
def test_an_energy_table_comes_from_a_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    np.save(path, [0.0, 2.0, 8.5]) if name.endswith("npy") else np.savetxt(
        path, [[0.0, 2.0, 8.5]], delimiter=","
    )
    if name.endswith("txt"):
        path.write_text("0.0\n2.0\n8.5\n")
    apply = kernel(step(type="counts_to_energy", table=str(path), outside=-1), IMAGE)
    assert apply(np.array([[0, 2, 3, -2]], "<i4")).tolist() == [[0.0, 8.5, -1.0, -1.0]]


def test_dark_and_flat_come_from_images_and_a_dead_pixel_of_the_flat_is_not_a_number(tmp_path: Path) -> None:
    flat = np.ones((6, 7), "float32")
    flat[2, 3] = 0
    np.save(tmp_path / "flat.npy", flat)
    fabio.tifimage.TifImage(data=np.full((6, 7), 10, "uint16")).write(str(tmp_path / "dark.tif"))
    made = step(type="dark_flat", dark=str(tmp_path / "dark.tif"), flat=str(tmp_path / "flat.npy"))
    corrected = kernel(made, IMAGE)(np.full((6, 7), 25, "<i4"))
    assert np.isnan(corrected[2, 3]) and corrected[0, 0] == 15.0
    with pytest.raises(
        FormatError, match=r"has \[6, 7\] pixels, images have \[7, 6\]; is a rotation before it"
    ):
        made.load(read)(Format((7, 6), "int32", "none"))


@pytest.mark.parametrize("content", [None, b"not a table"])
@pytest.mark.parametrize("name", ["x.npy", "x.txt", "x.tif"])
def test_a_table_that_cannot_be_read_is_said_at_the_start(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TransformConfigError, match=f"{name} cannot be read"):
        step(type="dark_flat", dark=str(path)).load(read)


def test_an_empty_table_is_called_empty() -> None:
    with pytest.raises(TransformConfigError, match="the table is empty; give energies"):
        step(type="counts_to_energy", table=[]).load(read)


def test_a_table_of_two_dimensions_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones((3, 2)))
    with pytest.raises(TransformConfigError, match=r"the table is \[3, 2\]"):
        step(type="counts_to_energy", table=str(tmp_path / "x.npy")).load(read)
    np.save(tmp_path / "y.npy", np.ones(3))
    with pytest.raises(TransformConfigError, match=r"is \[3\]; give one image"):
        step(type="dark_flat", flat=str(tmp_path / "y.npy")).load(read)
