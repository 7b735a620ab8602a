"""A processor as a worker runs it, without sockets: frames in, messages and arrays out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from penstock.processing.config import classes
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame
from penstock.processing.series import from_start
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.running import Bunch, Job, Run
from penstock.stins import codec
from penstock.stins.messages import Header, Image


class InWorker:
    """One series in one worker.

    Args:
        processor: as in a pipeline's file.
        parameters: of it.
        shape: rows and columns of the frames.
        dtype: their type.
        metadata: of the start message.
    """

    def __init__(
        self, processor: str, parameters: Mapping[str, Any], shape: tuple[int, int], dtype: str,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        step = StepConfig(processor=processor, parameters=dict(parameters))
        self.chain = chain = Chain(classes.steps(PipelineConfig(name="bench", steps=(step,))))
        chain.prepare(1, step.parameters)
        chain.use(1)
        series = from_start(
            Header(filename="", shape=shape, type=dtype), [json.dumps(metadata or {}).encode()]
        )
        self.steps = chain.begin(1, series)
        """The instance of the processor."""
        self._run = Run(1, chain, self.steps)
        self._pool = Pool()
        self._bunches = 0

    def process(self, parts: list[tuple[bytes, bytes]]) -> list[Any]:
        """Process a bunch; return the arrays of its message.

        Raises:
            RuntimeError: a frame has failed.
        """
        self._bunches += 1
        bunch = Bunch(self._bunches, len(parts), lambda: True)
        for place, (header, blob) in enumerate(parts):
            self._run.process([Job(Frame(place, (header, [blob]), self._pool), bunch, place)])
        done, arrays = self._run.done(bunch)
        if done.errors:
            raise RuntimeError(next(iter(done.errors.values())))
        return arrays


def parts_of(images: np.ndarray[Any, Any]) -> list[tuple[bytes, bytes]]:
    """Return header and blob of each image, plain."""
    header = codec.encode_image(
        Image(shape=images.shape[1:], type=images.dtype.name, compression="none", timestamp=1e9)
    )
    return [(header, image.tobytes()) for image in images]
