"""Built-in processors on frames, through the worker's own chain, without any process."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.processing import accumulate, wire
from penstock.processing.config import classes
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.series import from_start
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.running import Bunch, Job, Run
from penstock.stins.messages import Header
from tests.processing.worker.worker_process import frame

Given = np.ndarray[Any, Any] | Sequence[bytes]
"""Pixels of a frame, or its header and blobs."""


class Made:
    """What a pipeline has made of the frames of one series, in one worker.

    Args:
        run: the series.
        metadata: of the start message.
    """

    def __init__(self, run: Run, chain: Chain) -> None:
        self.run, self.chain = run, chain
        self.values: dict[str, dict[int, Any]] = {}
        """Results per frame by name and index; of events an array each."""
        self.errors: dict[int, str] = {}

    def take(self, frames: Iterable[Given], first: int = 0) -> Made:
        """Process frames, each as a bunch of its own."""
        for index, given in enumerate(frames, first):
            header, *blobs = frame(given, index) if isinstance(given, np.ndarray) else given
            bunch = Bunch(index + 1, 1, lambda: True)
            self.run.process([Job(Frame(index, (header, blobs), Pool()), bunch, 0)])
            done, arrays = self.run.done(bunch)
            if done.errors:
                self.errors[index] = done.errors[0]
            for described, array in zip(done.arrays, arrays, strict=True):
                value = array if described.kind == "events" else array[0]
                self.values.setdefault(described.name, {})[index] = value
        return self

    def change(self, **parameters: Any) -> None:
        """Change parameters, as between two bunches."""
        version = self.chain.version + 1
        self.chain.prepare(version, parameters)
        self.chain.use(version)

    def totals(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the accumulated values by name, as users see them."""
        described, arrays = self.run.hand_over()[1]
        return {
            each.name: accumulate.shown(each.kind, array, each.n, masked=each.masked)
            for each, array in zip(described, arrays, strict=True)
        }

    def of(self, name: str) -> list[Any]:
        """Return the values of a result in the order of the frames."""
        return list(self.values.get(name, {}).values())


def begun(
    steps: str | Sequence[tuple[str, Mapping[str, Any]]], parameters: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None, **header: Any,
) -> Made:  # fmt: skip
    """Begin a series with built-in processors.

    Args:
        steps: name of the processor, or names and parameters of several.
        parameters: of one.
        metadata: of the start message.
        header: keys of the start message.

    Raises:
        Refusal, ParameterError: a processor does not take its parameters or the series.
    """
    given = [(steps, parameters or {})] if isinstance(steps, str) else steps
    config = PipelineConfig(
        name="a", steps=tuple(StepConfig(processor=name, parameters=dict(values)) for name, values in given)
    )
    return begun_by(classes.steps(config), config, metadata, **header)


def begun_by(
    steps: Sequence[wire.Step], config: PipelineConfig, metadata: Mapping[str, Any] | None = None,
    **header: Any,
) -> Made:  # fmt: skip
    """Begin a series with the steps of a pipeline's file."""
    chain = Chain(steps)
    chain.prepare(1, config.parameters)
    chain.use(1)
    start = from_start(Header(**{"filename": ""} | header), [json.dumps(metadata or {}).encode()])
    instances = chain.begin(1, start)
    chain.describe(instances)  # as a worker does
    return Made(Run(1, chain, instances), chain)


def saved(path: Path, array: np.ndarray[Any, Any]) -> Path:
    """Save an array as .npy."""
    np.save(path, array)
    return path
