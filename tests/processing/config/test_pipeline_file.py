"""The file of a pipeline, and its classes, as a user writes them."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from penstock.processing import Processor
from penstock.processing.config import built_in, classes, pipeline_file
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.config.pipeline_file import PipelineError
from penstock.processing.worker.loading import load

SPOTS = """\
from penstock.processing import Processor


class Spots(Processor):
    def process(self, frame):
        return None
"""


D = "attribute: a/b/c/d"
CHANNEL = "processor: a:B\nchannels: [{name: e"
THREE_LINES = "processor: spots.py:Spots\nparameters: {threshold: 500}\nworkers: 4\n"


def written(folder: Path, text: str, name: str = "spots.yaml") -> Path:
    (folder / "spots.py").write_text(SPOTS)
    path = folder / name
    path.write_text(text)
    return path


def test_three_lines_are_a_pipeline_named_after_its_file(tmp_path: Path) -> None:
    path = written(
        tmp_path, "processor: spots.py:Spots\nparameters: {threshold: 500}\nworkers: 4\n", "my spots.yaml"
    )
    config = pipeline_file.load(path)
    assert (config.name, config.workers) == ("my_spots", 4)
    (step,) = config.steps
    assert step.processor == f"{tmp_path}/spots.py:Spots"
    assert step.parameters == {"threshold": 500}
    (sent,) = classes.steps(config)
    assert (sent.name, sent.file, sent.source) == ("Spots", "spots.py", SPOTS)


def test_steps_are_files_and_modules_in_their_order(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        "steps:\n- processor: spots.py:Spots\n- {processor: institute.spots:Others, parameters: {a: 1}}\n",
    )
    first, second = classes.steps(pipeline_file.load(path))
    assert (first.file, first.module) == ("spots.py", "")
    assert (second.name, second.module, second.source) == ("Others", "institute.spots", "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("processor: spots.py:Spots\nworker: 4\n", "no setting \"worker\"; did you mean workers?"),
        ("processor: a:B\nworkers: many\n", 'workers is "many"; give a whole number from 0 to 1024'),
        ("processor: spots.py\n", 'processor is "spots.py"; give FILE.py:CLASS, such as spots.py:Spots'),
        ("processor: region\n", 'processor is "region"; is regions meant? give FILE.py:CLASS'),
        ("steps: [{processor: x}]\n", "or one of those that come with Penstock: "),
        (f"{CHANNEL}, attribute: energy}}]\n", 'attribute of channel e is "energy"; give DOMAIN/FAMILY'),
        (f"{CHANNEL}, attribute: 'epics://X'}}]\n", "or pva://PV or ca://PV for EPICS"),
        (f"{CHANNEL}, attribute: 'pva:/X'}}]\n", 'attribute of channel e is "pva:/X"; give pva://PV or ca://PV'),
        (f"{CHANNEL}, attribute: 'ca://'}}]\n", 'attribute of channel e is "ca://"; give pva://PV or ca://PV'),
        (f"{CHANNEL}, attribute: 'PVA://X'}}]\n", 'is "PVA://X"; give pva://PV or ca://PV'),
        (f"{CHANNEL}, attribute: 'pva://X Y'}}]\n", 'is "pva://X Y"; give pva://PV or ca://PV'),
        (f"{CHANNEL}, {D}}}, {{name: e, {D}}}]\n", "two channels would have results e"),
        (f"{CHANNEL}, {D}, tolerance: 61}}]\n", "tolerance of channel e is 61 s; give at most 60"),
        (f"{CHANNEL}, {D}, by: frame, offset: 1}}]\n", "channel e is joined by frame, and how"),
        (f"{CHANNEL}, {D}, how: next}}]\n", "give exact, hold or nearest"),
        ("processor: a:B\nchannels: [{name: 3d, attribute: a/b/c/d}]\n", 'channel "3d" needs another name'),
        ("workers: 4\n", "processor is missing; give processor: FILE.py:CLASS"),
        ("processor: a:B\nsteps: [{processor: a:B}]\n", "processor and steps are both given"),
        ("steps: [{processor: a:B}]\nparameters: {x: 1}\n", "with steps write each step's below it"),
        ("processor: a:B\nhttp: a:1\nhttp: b:1\n", 'line 3, column 1: the key "http" is given twice'),
        ("processor: [\n", "it is not YAML: line 2"),
        ("processor: a:B\nreceiver: sim-1\n", 'receiver is "sim-1"; give its address, such as http://'),
        ("processor: a:B\nlisten: 5101\n", "listen is 5101; give tcp://HOST:PORT, such as"),
        ("processor: a:B\nlisten: '*:5101'\n", 'listen is "*:5101"; give tcp://HOST:PORT'),
        ("processor: a:B\nworkers: 0\n", "workers is 0 and there is no listen"),
        ("processor: a:B\npages: [5200]\n", "pages[0] is 5200; give text"),
        ("processor: a:B\npages: [daq-1]\n", 'pages has "daq-1"; give an address, such as'),
        ("processor: a:B\nhttp: 5100\n", "http is 5100; give HOST:PORT, such as 127.0.0.1:5100"),
        ("processor: a:B\nresults_root: results\n", 'results_root is "results"; give an absolute path'),
        ("processor: a:B\nname: a/b\n", 'name is "a/b"; give at most 64 letters, digits, _ and -'),
        ("- processor: a:B\n", "a pipeline has lines of KEY: VALUE"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_a_sentence_with_file_and_key(tmp_path: Path, text: str, sentence: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(PipelineError, match=re.escape(sentence)) as raised:
        pipeline_file.load(path)
    assert str(raised.value).startswith(str(path))


def test_a_built_in_processor_is_named_without_file_and_module(tmp_path: Path) -> None:
    (sent,) = classes.steps(pipeline_file.load(written(tmp_path, "processor: regions\n")))
    assert (sent.name, sent.module, sent.source) == ("Regions", "penstock.processing.processors.regions", "")


def test_a_class_of_pvapy_is_sent_with_what_makes_a_processor_of_it(tmp_path: Path) -> None:
    config = pipeline_file.load(written(tmp_path, "processor: pvapy:spots.py:Spots\n"))
    assert config.steps[0].processor == f"pvapy:{tmp_path}/spots.py:Spots"
    (sent,) = classes.steps(config)
    assert (sent.name, sent.source, sent.adapter) == ("Spots", SPOTS, built_in.PVAPY_ADAPTER)
    (sent,) = classes.steps(pipeline_file.load(written(tmp_path, "processor: pvapy:pvapy.hpc.a:Spots\n")))
    assert (sent.module, sent.adapter) == ("pvapy.hpc.a", built_in.PVAPY_ADAPTER)
    with pytest.raises(PipelineError, match='processor is "pvapy:spots.py"; give FILE.py:CLASS'):
        pipeline_file.load(written(tmp_path, "processor: pvapy:spots.py\n"))


def test_files_of_built_in_processors_are_those_beside_the_pipelines_file(tmp_path: Path) -> None:
    text = "steps: [{processor: correct, parameters: {dark: d.npy, flat: /x/f.npy}}, {processor: images}]\n"
    config = pipeline_file.load(written(tmp_path, text))
    assert config.steps[0].parameters == {"dark": f"{tmp_path}/d.npy", "flat": "/x/f.npy"}
    text = "processor: spots.py:Spots\nparameters: {dark: d.npy}\n"
    assert pipeline_file.load(written(tmp_path, text)).steps[0].parameters == {"dark": "d.npy"}


@pytest.mark.parametrize(
    ("exports", "sentence"),
    [
        ("{as: stempy}", "exports"), ("[{as: stem}]", "stempy"), ("[{as: stempy, scan: [0, 4]}]", "scan"),
    ],
)  # fmt: skip
def test_an_export_that_cannot_be_made_is_said(tmp_path: Path, exports: str, sentence: str) -> None:
    with pytest.raises(PipelineError, match=sentence):
        pipeline_file.load(written(tmp_path, f"processor: electrons\nexports: {exports}\n"))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="No such file or directory; give the file of a pipeline"):
        pipeline_file.load(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("class Spot:\n    pass\n", "there is no class Spots in {file}; it has Spot"),
        ("import numpy\n", "there is no class Spots in {file}; it has no class"),
        ("class Spots:\n    def f(self, frame)\n", "{file}, line 2: expected ':': def f(self, frame)"),
        ("#" * 200_000 + SPOTS.replace("from", "\nfrom"), "has 200,119 bytes, and 100,000 can be sent"),
    ],
)  # fmt: skip
def test_source_that_no_worker_could_load_is_refused_at_once(
    tmp_path: Path, source: str, sentence: str
) -> None:
    config = pipeline_file.load(written(tmp_path, "processor: spots.py:Spots\n"))
    file = tmp_path / "spots.py"
    file.write_text(source)
    with pytest.raises(PipelineError, match=re.escape(sentence.format(file=file))):
        classes.steps(config)


def test_a_class_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "spots.yaml"
    path.write_text("processor: spots.py:Spots\n")
    with pytest.raises(PipelineError, match=re.escape(f"{tmp_path}/spots.py: No such file or directory")):
        classes.steps(pipeline_file.load(path))


@pytest.mark.parametrize(
    "made", ["from institute import Spots\n", "if True:\n    class Spots: ...\n", "Spots = 1\n"]
)
def test_a_class_that_is_made_in_another_way_is_left_to_the_worker(tmp_path: Path, made: str) -> None:
    config = pipeline_file.load(written(tmp_path, "processor: spots.py:Spots\n"))
    (tmp_path / "spots.py").write_text(made)
    assert classes.steps(config)[0].source == made


def test_source_text_leaves_this_machine_only_with_a_key(tmp_path: Path) -> None:
    beyond = "processor: spots.py:Spots\nlisten: tcp://0.0.0.0:5101\n"
    with pytest.raises(PipelineError, match=re.escape("give the pipeline a key (key: FILE")):
        classes.steps(pipeline_file.load(written(tmp_path, beyond)))
    config = pipeline_file.load(written(tmp_path, beyond + "key: spots.key\n"))
    assert config.key == f"{tmp_path}/spots.key"
    assert classes.steps(config)
    loopback = pipeline_file.load(
        written(tmp_path, "processor: spots.py:Spots\nlisten: tcp://127.0.0.1:5101\n")
    )
    assert classes.steps(loopback)
    assert classes.steps(
        PipelineConfig(name="a", steps=(StepConfig(processor="a:B"),), listen="tcp://0.0.0.0:5101")
    )


def test_the_shipped_example_is_a_pipeline_and_its_schema_is_that_of_the_file() -> None:
    folder = files("penstock.resources") / "pipelines"
    config = pipeline_file.load(Path(str(folder / "rings.yaml")))
    (step,) = classes.steps(config)
    assert (config.name, step.name) == ("rings", "Rings")
    assert issubclass(load(step), Processor)
    shipped = json.loads((folder / "pipeline.schema.json").read_text())
    made = json.loads(json.dumps(pipeline_file.PIPELINE.schema()))
    assert shipped == made, "penstock process --schema > resources/pipelines/pipeline.schema.json"
