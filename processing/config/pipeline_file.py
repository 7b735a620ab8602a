"""The file of a pipeline: typed, unknown keys refused, errors with the key and the file.

One YAML file per pipeline: see `resources/pipelines/rings.yaml`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import msgspec

from penstock.processing.config import built_in
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.service.config_file import ConfigFileError, FileKind, name_of, twice
from penstock.service.setting_errors import sentence

NAME = r"^[A-Za-z0-9_-]{0,64}$"
"""Pattern of a pipeline's name: it becomes a part of the result file's name."""
CLASS = r"^[^:]+:[A-Za-z_]\w*$"
LISTEN = r"tcp://(\[[^\[\]\s]+\]|[^\[\]:\s]+):([0-9]{1,5}|\*)"


class PipelineError(ConfigFileError):
    """The file of a pipeline cannot be used; the sentence names the file, the key and the remedy."""


class PipelineFile(PipelineConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pipeline, as it is written: one class needs no steps, and the file's name is that of the pipeline."""

    name: Annotated[str, msgspec.Meta(pattern=NAME)] = ""
    """A part of the result files' names; if not given, the name of this file."""
    processor: str = ""
    """The class that is run on every frame: FILE.py:CLASS, with FILE relative to this file's folder;
    MODULE:CLASS for one that is installed where the workers run; or the name of a built-in one."""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    """Its parameters that differ from their defaults."""
    steps: tuple[StepConfig, ...] = ()
    """Several classes in place of one: each sees the pixels that its predecessor has left."""
    receiver: str = "http://127.0.0.1:5000"
    """Address of the receiver's HTTP interface."""

    def __post_init__(self) -> None:
        for processor in (self.processor, *(step.processor for step in self.steps)):
            if processor and not re.fullmatch(CLASS, processor.removeprefix(built_in.PVAPY)):
                built_in.target(processor)
        if bool(self.processor) == bool(self.steps):
            both = "processor and steps are both given" if self.steps else "processor is missing"
            raise ValueError(
                f"{both}; give processor: FILE.py:CLASS, or a list of steps, each with a processor"
            )
        if self.steps and self.parameters:
            raise ValueError("parameters is for one processor; with steps write each step's below it")
        labels = [step.name for step in self.steps if step.name]
        if name := twice(labels):
            raise ValueError(f"two steps have the name {name}: give one of them another name")
        alike = next(((a, b) for a in labels for b in labels if b.startswith(f"{a}_")), None)
        if alike is not None:
            raise ValueError(
                f"steps have the names {alike[0]} and {alike[1]}: results whose names begin with {alike[1]}_ "
                "could be those of either; give one of the steps another name"
            )
        if why := built_in.collision(self.steps):
            raise ValueError(why)
        if not re.fullmatch(r"https?://[^/\s]+/?", self.receiver):
            raise ValueError(
                f'receiver is "{self.receiver}"; give its address, such as http://127.0.0.1:5000'
            )
        if why := PIPELINE.wrong_http(self.http):
            raise ValueError(why)
        for page in self.pages:
            if not re.fullmatch(r"https?://[^/\s]+/?", page):
                raise ValueError(f'pages has "{page}"; give an address, such as http://127.0.0.1:5200/')
        if self.listen and not re.fullmatch(LISTEN, self.listen):
            raise ValueError(f'listen is "{self.listen}"; give tcp://HOST:PORT, such as tcp://0.0.0.0:5101')
        if self.results_root and not self.results_root.startswith("/"):
            raise ValueError(f'results_root is "{self.results_root}"; give an absolute path')
        names = [name for each in self.channels for name in (each.name, f"{each.name}_matched")]
        if name := twice(names):
            raise ValueError(f"two channels would have results {name}: give one of them another name")
        if not self.workers and not self.listen:
            raise ValueError(
                "workers is 0 and there is no listen, so that nobody could process a frame; give one of them"
            )


PIPELINE = FileKind(
    model=PipelineFile,
    service="pipeline",
    example="spots.yaml",
    line="processor: spots.py:Spots",
    http="127.0.0.1:5100",
    error=PipelineError,
    program="penstock process",
    texts={
        "listen": "tcp://HOST:PORT, such as tcp://0.0.0.0:5101",
        "results_root": "an absolute path",
        "receiver": "the address of a receiver, such as http://127.0.0.1:5000",
        "processor": "FILE.py:CLASS or MODULE:CLASS, such as spots.py:Spots, or regions",
    },
)
"""The file of a pipeline."""


def load(path: str | Path) -> PipelineConfig:
    """Read the file of a pipeline; paths in it become absolute, and its name is filled in.

    Raises:
        PipelineError: it cannot be read, is not YAML, or has a wrong or unknown key.
    """
    path = Path(path)
    config = parse(PIPELINE.read(path), str(path))
    folder = path.parent.absolute()
    steps = config.steps or (StepConfig(processor=config.processor, parameters=config.parameters),)
    values = {name: getattr(config, name) for name in PipelineConfig.__struct_fields__}
    return PipelineConfig(
        **{
            **values,
            "name": config.name or name_of(path),
            "steps": tuple(
                msgspec.structs.replace(
                    step,
                    processor=_absolute(step.processor, folder),
                    parameters=built_in.with_files(step.processor, step.parameters, folder),
                )
                for step in steps
            ),
            "key": str(folder / config.key) if config.key else "",
        }
    )


def parse(raw: Any, origin: str) -> PipelineFile:
    """Check what has already been read; errors name `origin`.

    Raises:
        PipelineError: a wrong or unknown key.
    """
    try:
        config = msgspec.convert(raw, PipelineFile)
        msgspec.json.encode(config)
    except msgspec.ValidationError as error:
        said = sentence(raw, PipelineFile, str(error), "", PIPELINE.words)
        raise PipelineError(f"{origin}: {said}") from error
    except (TypeError, UnicodeEncodeError) as error:
        raise PipelineError(
            f"{origin}: parameters are numbers, texts, lists and mappings: {error}"
        ) from error
    return config


def errors(path: str | Path) -> list[str]:
    """Return every error of the file of a pipeline, each a sentence.

    Raises:
        PipelineError: it cannot be read, or is not YAML.
    """
    return PIPELINE.errors(PIPELINE.read(path), str(path))[0]


def _absolute(processor: str, folder: Path) -> str:
    """Return FILE.py:CLASS with an absolute path; modules stay as they are."""
    bare = processor.removeprefix(built_in.PVAPY)
    prefix = processor.removesuffix(bare)
    file, _, kind = bare.rpartition(":")
    return f"{prefix}{folder / file}:{kind}" if file.endswith(".py") else processor
