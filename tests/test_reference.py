"""The reference pages name everything that the code has: a new key without a line in the docs fails here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import msgspec
import nxvalidate
import pytest

from penstock.devices._detector.detector import Detector
from penstock.devices._detector.view_attributes import VIEW_ATTRIBUTES
from penstock.devices._series.machine.states import TANGO_STATE
from penstock.devices._series.settings import DEVICE_SETTINGS, PERIOD_ATTRIBUTES
from penstock.devices._services import pipeline as pipeline_device
from penstock.devices._services.receiver import STATUS_ATTRIBUTES
from penstock.processing import models as processing_models
from penstock.processing.config.pipeline_config import PipelineConfig
from penstock.processing.config.pipeline_file import PipelineFile
from penstock.receiver import config, models
from penstock.receiver.config.rectangles import Rectangle
from penstock.receiver.files.contents import known
from penstock.receiver.models import FrameStatus
from penstock.receiver.sources import KINDS
from penstock.receiver.transforms.steps import Transform
from penstock.service.prometheus import COUNTER
from penstock.stins import messages
from penstock.streamer.camera.settings import STANDARD, Parameter
from penstock.streamer.remote import light_protocol

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"


def _page(name: str) -> str:
    return (REFERENCE / name).read_text()


def _row(page: str, key: str) -> str:
    """The table row of a key, which may stand with others in its first cell."""
    for line in page.splitlines():
        if line.startswith("|") and f"`{key}`" in line.split("|")[1]:
            return line
    pytest.fail(f"no row for `{key}`")


def _keys(page: str) -> set[str]:
    """Every key that stands in the first cell of a table row."""
    cells = (line.split("|")[1] for line in page.splitlines() if line.startswith("| `"))
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("struct", [messages.Header, messages.Image, messages.SeriesEnd])
def test_every_key_of_a_stins_message_is_described(struct: type[msgspec.Struct]) -> None:
    page = _page("stins.md")
    for field in msgspec.structs.fields(struct):
        _row(page, field.encode_name)


def test_every_request_refusal_and_count_of_a_light_streamer_is_described() -> None:
    page = _page("light-streamer.md")
    for request in get_args(light_protocol.AnyRequest):
        row = _row(page, request.__name__.lower())
        for field in msgspec.structs.fields(request):
            assert field.name == "id" or f"`{field.name}`" in row
    for field in msgspec.structs.fields(light_protocol.LightStatus):
        _row(page, field.name)
    for field in msgspec.structs.fields(light_protocol.LightDescription):
        assert f"`{field.name}`" in _row(page, "describe")
    script = [REFERENCE.parent.parent / "streamer/light_streamer.py"]
    kinds = set(_kinds("Refused", files=script)) | {"internal"}
    assert kinds >= {"bad_request", "no_receiver"}
    assert kinds <= _keys(page)


WHAT = {
    known.Kind.NUMBER: "number", known.Kind.FLAG: "true or false", known.Kind.TEXT: "text",
    known.Kind.IMAGE: "image", known.Kind.TABLE: "numbers",
}  # fmt: skip


def _place_rows(table: Mapping[str, known.Place]) -> list[str]:
    """A row for each place of the file: the keys that lead there, and what it takes."""
    keys: dict[tuple[str, str], list[str]] = {}
    for key, place in table.items():
        path = f"{place.parent.value}/{place.name or key.rpartition('.')[2]}".lstrip("/")
        takes = ", ".join(filter(None, (WHAT[place.kind], place.units)))
        if place.choices:
            takes = "; ".join(f'"{choice}"' for choice in place.choices)
        keys.setdefault((path, takes), []).append(f"`{key}`")
    return [f"| {', '.join(names)} | `{path}` | {takes} |" for (path, takes), names in keys.items()]


@pytest.mark.parametrize(
    ("title", "table"),
    [
        ("itself", known.KNOWN),
        ("acquisition", known.ACQUISITION),
        ("camserver", known.CAMSERVER),
        ("user", known.USER),
    ],
)
def test_the_page_of_the_file_has_the_table_of_known_keys(
    title: str, table: Mapping[str, known.Place]
) -> None:
    _, _, page = _page("file-format.md").partition(f"<!-- known keys: {title} -->\n")
    rows = [line for line in page.partition("\n\n")[0].splitlines() if line.startswith("| `")]
    assert rows == _place_rows(table)


def test_every_known_key_is_one_of_the_nexus_definitions() -> None:
    """But for those of `acquisition` and `camserver`, NXcollections of what NeXus has no names for."""
    folder = Path(nxvalidate.__file__).with_name("definitions") / "base_classes"
    classes = {
        known.Parent.ENTRY: "NXentry", known.Parent.INSTRUMENT: "NXinstrument",
        known.Parent.SAMPLE: "NXsample", known.Parent.USER: "NXuser", known.Parent.SOURCE: "NXsource",
        known.Parent.BEAM: "NXbeam", known.Parent.DETECTOR: "NXdetector",
    }  # fmt: skip
    for key, place in [*known.KNOWN.items(), *known.USER.items()]:
        definition = ElementTree.parse(folder / f"{classes[place.parent]}.nxdl.xml")
        name = place.name or key.rpartition(".")[2]
        fields = definition.findall(f"./{{*}}field[@name='{name}']")
        assert fields or name == "exptime", key  # STINS' own key, which its readers look for
        values = {item.get("value") for field in fields for item in field.findall(".//{*}item")}
        assert set(place.choices) <= values, key


def test_every_kind_of_bad_message_is_described() -> None:
    _, _, page = _page("stins.md").partition("## What is refused")
    root = REFERENCE.parent.parent
    for path in [*root.glob("stins/*.py"), *root.glob("receiver/**/*.py")]:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="StinsError" | "RemoteError" | "BlobError"), args=[first, *_]):
                    if isinstance(first, ast.Constant):
                        _row(page, str(first.value))


CONFIGURATION = (
    config.ReceiverConfig, config.SourceConfig, config.GapConfig, config.ForwardConfig, Rectangle,
    *get_args(Transform),
)  # fmt: skip


def test_the_configuration_has_every_key_that_is_described() -> None:
    known = {field.name for struct in CONFIGURATION for field in msgspec.structs.fields(struct)}
    assert _keys(_page("configuration.md")) == known


@pytest.mark.parametrize("struct", CONFIGURATION)
def test_every_key_of_the_configuration_is_described_with_its_default(struct: type[msgspec.Struct]) -> None:
    page = _page("configuration.md")
    for field in msgspec.structs.fields(struct):
        row = _row(page, field.name)
        default = field.default
        if field.required:
            assert "| needed |" in row
        elif isinstance(default, bool):
            assert f"| `{str(default).lower()}` |" in row
        elif isinstance(default, (int, float)):
            assert f"| `{default}` |" in row
        elif isinstance(default, str):
            assert f"| `{default}` |" in row or f'| `"{default}"` |' in row


@pytest.mark.parametrize("step", get_args(Transform))
def test_every_transform_is_described(step: type[msgspec.Struct]) -> None:
    assert f"\n| {step.__struct_config__.tag} |" in _page("configuration.md")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_stream_is_described(kind: str) -> None:
    assert f"\n| {kind} |" in _page("configuration.md")


def test_every_count_is_described() -> None:
    page = _page("accounting.md")
    for name in models.Counts.__dataclass_fields__:
        _row(page, name)


def test_every_frame_status_is_described_with_its_number() -> None:
    accounting, file_format = _page("accounting.md"), _page("file-format.md")
    for status in FrameStatus:
        name = status.name.lower().replace("_", " ")
        number = "–" if status is FrameStatus.PENDING else str(int(status))
        assert f"| {name} | {number} |" in accounting
        if status is not FrameStatus.PENDING:
            assert f"{number} {name}" in file_format


def test_every_key_of_the_status_is_described() -> None:
    page = _page("http.md")
    for name in models.Status.__dataclass_fields__:
        _row(page, name)


def test_every_address_of_the_http_interface_is_described() -> None:
    from penstock.receiver.http.api import create_app
    from penstock.receiver.process.supervisor.supervisor import Supervisor

    app = create_app(Supervisor("sim-1", config.ReceiverConfig(
        source=config.SourceConfig(endpoints=("tcp://127.0.0.1:1",)), data_root="/"
    )))  # fmt: skip
    page = _page("http.md")
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}" in page


def test_every_key_of_a_pipelines_file_is_described() -> None:
    page = _page("pipeline.md")
    for field in msgspec.structs.fields(PipelineFile):
        _row(page, field.encode_name)


def test_every_address_status_and_metric_of_a_pipeline_is_described() -> None:
    from penstock.processing.service.http import create_app
    from penstock.processing.service.metrics import METRICS
    from penstock.processing.service.supervisor import Supervisor

    page = _page("pipeline-http.md")
    app = create_app(Supervisor(PipelineConfig(name="a", steps=()), ()))
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            assert f"`{method.upper()} {path}" in page
    for struct in (processing_models.Status, processing_models.Counts):
        for name in struct.__dataclass_fields__:
            assert f"`{name}`" in page
    described = _keys(page.partition("## Metrics")[2])
    assert {row.name + ("_total" if row.kind is COUNTER else "") for row in METRICS} == described


def test_every_kind_with_which_a_pipeline_refuses_is_described() -> None:
    folder = REFERENCE.parent.parent / "processing/service"
    files = [folder / f"{name}.py" for name in ("result_values", "supervisor")]
    assert {*_kinds("NoResults", "Refused", files=files), "refused_parameters"} <= _keys(
        _page("pipeline-http.md")
    )


DETECTOR_ATTRIBUTES = (
    *STANDARD, *PERIOD_ATTRIBUTES, *DEVICE_SETTINGS, *(reading.parameter for reading in VIEW_ATTRIBUTES),
)  # fmt: skip


@pytest.mark.parametrize("parameter", DETECTOR_ATTRIBUTES, ids=lambda parameter: parameter.name)
def test_every_tango_attribute_of_a_detector_is_described_with_its_unit(parameter: Parameter) -> None:
    row = _row(_page("tango.md"), parameter.name)
    assert parameter.unit in row


@pytest.mark.parametrize("parameter", [*STANDARD, *DEVICE_SETTINGS], ids=lambda parameter: parameter.name)
def test_every_setting_is_described_with_what_it_is_at_first(parameter: Parameter) -> None:
    first = parameter.default
    text = str(first).lower() if isinstance(first, bool) else str(first) or '""'
    assert f"| `{text}` |" in _row(_page("tango.md"), parameter.name)


def test_every_tango_attribute_of_the_receiver_is_described() -> None:
    _, _, page = _page("tango.md").partition("## The receiver's device")
    for each in STATUS_ATTRIBUTES:
        _row(page, each.parameter.name)


def test_everything_of_the_device_of_a_pipeline_is_described() -> None:
    _, _, page = _page("tango.md").partition("## A pipeline's device")
    kind = pipeline_device.pipeline_class().TangoClassClass
    for name in [*kind.cmd_list, *kind.device_property_list, *kind.attr_list]:
        if name not in ("Init", "State", "Status"):
            _row(page, name)


def test_every_tango_command_property_and_state_is_described() -> None:
    page = _page("tango.md")
    known = Detector.TangoClassClass
    for name in [*known.cmd_list, *known.device_property_list]:
        if name not in ("Init", "State", "Status"):
            _row(page, name)
    for state in TANGO_STATE.values():
        _row(page, state)


def test_what_a_camera_may_describe_has_the_place_and_the_unit_that_the_how_to_says() -> None:
    page = (REFERENCE.parent / "how-to/add-a-camera.md").read_text()
    table = page[page.index("| key | in the file") :].split("\n\n")[0]
    for line in table.splitlines()[2:]:
        keys, place = line.strip("|").split(" | ")
        for key in re.findall(r"`(\w+)`", keys):
            known_place = known.KNOWN[key]
            assert (known_place.parent is known.Parent.BEAM) == ("`beam/" in place), key
            if known_place.units:
                assert place.split(", ")[1].split()[0] == known_place.units, key


def _kinds(*names: str, files: Iterable[Path]) -> Iterator[str]:
    """First arguments of the calls that make these errors."""
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(kind)), *_]) if (
                    name in names
                ):
                    yield kind


def _kinds_of_a_check() -> set[str]:
    """With which a receiver refuses a series before it begins."""
    receiver = REFERENCE.parent.parent / "receiver"
    asked = [receiver / "process/supervisor/series_check.py"]
    asked += [receiver / "files" / name for name in ("storage.py", "refusals.py", "causes.py")]
    return {*_kinds("Refused", "StorageError", "NameRefusedError", "NameTakenError", "Cause", files=asked)}


def test_every_kind_of_refusal_of_a_detector_is_described() -> None:
    page = _page("tango.md").partition("### Refusals")[2].partition("\n## ")[0]
    root = REFERENCE.parent.parent
    names = ("engine", "series", "jobs", "checks", "states")
    streamer = [root / f"streamer/camera/{name}.py" for name in names]
    known = {
        *_kinds("ArmRefused", files=(root / "devices").glob("_*/*.py")),
        *_kinds("Refused", files=streamer),
        *_kinds_of_a_check(),
    }
    assert known >= {"file_exists", "not_idle", "running", "out_of_range", "busy"}
    assert known <= _keys(page)


def test_every_kind_with_which_a_check_is_refused_is_described() -> None:
    assert _kinds_of_a_check() <= _keys(_page("http.md"))
