"""What the processors that come with Penstock take of one core, as a worker runs them, beside others.

A part is measured in a child process, alone with its imports, or with packages of others, which `make judges`
installs: python -P -m penstock_bench.processors PART ROUNDS [PACKAGES] prints turns as JSON.

- azimuthal: frames of 2048² uint32, bslz4; 1,000 points of intensity and sigma, pixels split by their shape;
- electrons: frames of 576² with noise and electrons; both programs find the same positions;
- pvapy: `AdImageProcessor` of PvaPy, which publishes what it gets. Ours is what a worker takes with it, less
  the
  time in the class, less what a worker takes with a class of `Processor` that returns the image.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from penstock.codecs import bslz4
from penstock.processing.config import classes
from penstock.processing.config.pipeline_config import PipelineConfig, StepConfig
from penstock.processing.pixels import Pool
from penstock.processing.processor import Frame, Processor, Result
from penstock.processing.series import Series, from_start
from penstock.processing.worker.chain import Chain
from penstock.processing.worker.running import Bunch, Job, Run
from penstock.receiver import geometry
from penstock.stins import codec
from penstock.stins.messages import Header, Image
from penstock_bench.results import Turn, Turns
from penstock_bench.runner import PATH, Bench, NotMeasured, packages_with, python

MODULE = "penstock_bench.processors"  # which is __main__ in the processes that measure
SHAPE, POINTS, FRAMES = (2048, 2048), 1000, 6
HEADER = {
    "distance": 0.2, "beam_center_x": 1031.5, "beam_center_y": 1012.0, "x_pixel_size": 75e-6,
    "y_pixel_size": 75e-6, "incident_energy": 12_400.0,
}  # fmt: skip
RATE, ARM_SECONDS = 100, 6.0
"""Frames per second while another geometry is prepared; from the start message to the first frame."""
RANGE = (1.0, 30.0)
"""In 1/nm: without a range, pyFAI's begins where ours does not."""
OURS, UNPACKED, PRODUCT = "worker", "unpacking", "product"
SCIPY, PYFAI = "product by scipy", "pyFAI in a worker"
US = "µs per frame"
ELECTRON_SHAPE, ELECTRON_FRAMES, ELECTRONS = (576, 576), 200, 0.006
"""A frame of the 4D Camera; how many; share of the pixels that are hit."""
BACKGROUND, XRAY = 20.0, 2000.0
CLASS_SHAPE, BUNCH, BUNCHES = (512, 512), 16, 20
CLASS_OF_PVAPY = "pvapy:pvapy.hpc.adImageProcessor:AdImageProcessor"


def azimuthal(bench: Bench, load: str) -> Turns:
    """Integrate beside unpacking, the bare product and pyFAI; and see how soon it is ready.

    Matrices are kept in a folder of their own: another geometry comes first, which compiles the functions.
    """
    if missing := [name for name in ("numba", "pyFAI") if find_spec(name) is None]:
        raise NotMeasured(f"{missing[0]} is missing: install penstock[processing]")
    with tempfile.TemporaryDirectory() as folder:
        one_thread = {"PENSTOCK_CACHE": folder, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        turns = {"beside another geometry": _child(bench, "change", one_thread)["change"]}
        for name, rounds in (("no matrix yet", 1), ("matrix there", bench.rounds)):
            turns[name] = [_child(bench, "ready", one_thread)["ready"][0] for _ in range(rounds)]
        for turn in turns["no matrix yet"]:
            late = max(0.0, turn["ready after, s"] - ARM_SECONDS) * 1e3
            turn["curve after its frame, ms"] = late + turn.pop("first frame, ms")
        found = _child(bench, "cost", one_thread)
    both = zip(found[UNPACKED], found[PRODUCT], strict=True)
    return found | {"unpacking + product": [{US: one[US] + other[US]} for one, other in both]} | turns


def electrons(bench: Bench, load: str) -> Turns:
    """Count electrons beside stempy's `electron_count_frame`, in one process."""
    return _child(bench, "stempy", packages=packages_with("stempy"))


def pvapy(bench: Bench, load: str) -> Turns:
    """Run PvaPy's class in a worker, beside one of ours that returns the image."""
    return _child(bench, "pvapy", packages=packages_with("pvapy"))


def _child(
    bench: Bench, part: str, environment: Mapping[str, str] | None = None, packages: Path | None = None
) -> Turns:
    """Return what a child process has measured.

    Raises:
        RuntimeError: it has failed; the last line of what it said.
    """
    bench.say(part)
    argv = python("processors", part, bench.rounds, *([packages] if packages else []))
    around = os.environ | PATH | dict(environment or {})
    done = subprocess.run(argv, check=False, capture_output=True, text=True, env=around)
    if done.returncode != 0:
        raise RuntimeError(f"{part}: {done.stderr.strip().splitlines()[-1]}")
    turns: Turns = json.loads(done.stdout)
    return turns


class InWorker:
    """One series in one worker, without sockets: frames in, arrays of messages out.

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
        self.chain = Chain(classes.steps(PipelineConfig(name="bench", steps=(step,))))
        self.chain.prepare(1, step.parameters)
        self.chain.use(1)
        header = Header(filename="", shape=shape, type=dtype)
        self.steps = self.chain.begin(1, from_start(header, [json.dumps(metadata or {}).encode()]))
        """The instance of the processor."""
        self._run, self._pool, self._bunches = Run(1, self.chain, self.steps), Pool(), 0

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


def parts_of(images: np.ndarray[Any, Any], compression: str = "none") -> list[tuple[bytes, bytes]]:
    """Return header and blob of each image."""
    image = Image(shape=images.shape[1:], type=images.dtype.name, compression=compression, timestamp=1e9)
    header = codec.encode_image(image)
    return [(header, each.tobytes() if compression == "none" else bslz4.compress(each)) for each in images]


def timed(call: Callable[[], object], frames: int, times: int = 1) -> Turn:
    """Return the processor time per frame of calls that take so many each."""
    begun = time.process_time()
    for _ in range(times):
        call()
    return {US: (time.process_time() - begun) / (frames * times) * 1e6}


# -- in the child: azimuthal -------------------------------------------------------------------------------


class Stock(Processor):
    """pyFAI as it is: CSR, Cython."""

    def start(self, series: Series) -> None:
        """Make pyFAI's integrator."""
        import pyFAI

        assert series.geometry is not None
        self.ai = pyFAI.load(geometry.poni(series.geometry, SHAPE))

    def process(self, frame: Frame) -> Result:
        """Return intensity and sigma."""
        found = self.ai.integrate1d(
            frame.pixels, POINTS, unit="q_nm^-1", method=("full", "csr", "cython"), error_model="poisson",
            dummy=np.iinfo(np.uint32).max, radial_range=RANGE,
        )  # fmt: skip
        return {"I": found.intensity, "I_errors": found.sigma}


class Unpack(Processor):
    """Nothing but unpacked pixels."""

    def process(self, frame: Frame) -> Result:
        """Look at one pixel."""
        return {"first": frame.pixels[0, 0]}


class Returns(Processor):
    """The image of each frame."""

    def process(self, frame: Frame) -> Result:
        """Return it, as PvaPy's class publishes it."""
        return {"image": frame.pixels, "output_count": 1}


def image() -> np.ndarray[Any, Any]:
    """Return rings with Poisson noise."""
    y, x = np.indices(SHAPE, np.float32)
    radius = np.hypot(x - HEADER["beam_center_x"], y - HEADER["beam_center_y"])
    mean = 10 + 200 * np.exp(-((radius % 150 - 75) ** 2) / 50)
    found: np.ndarray[Any, Any] = np.random.default_rng(5).poisson(mean).astype(np.uint32)
    return found


def ready(bench: Bench) -> Turns:
    """Return how long the start of a series takes, imports included, and the first frame."""
    import penstock.processing.processors.azimuthal  # noqa: F401  as with Welcome

    imported = time.perf_counter()
    worker = InWorker("azimuthal", {"points": POINTS}, SHAPE, "uint32", HEADER)
    started, frame = time.perf_counter(), parts_of(image()[None], "bslz4")
    before = time.perf_counter()
    worker.process(frame)
    first = (time.perf_counter() - before) * 1000
    return {"ready": [{"ready after, s": started - imported, "first frame, ms": first}]}


def change(bench: Bench) -> Turns:
    """Return how long a frame takes at most, at 100 per second, while the worker prepares another geometry,
    which nobody has made yet."""
    worker = InWorker("azimuthal", {"points": POINTS}, (1024, 1024), "uint32", HEADER)
    frame = parts_of(image()[None, :1024, :1024].copy(), "bslz4")
    worker.process(frame)
    poni = worker.steps[0]._poni.replace("Rot1: 0.0", "Rot1: 0.01")  # type: ignore[attr-defined]
    preparation = worker.chain.preparation(2, {"points": POINTS, "poni": poni})
    thread = Thread(target=preparation.run)
    begun = time.perf_counter()
    thread.start()
    found: list[float] = []
    while thread.is_alive():
        time.sleep(max(0.0, begun + len(found) / RATE - time.perf_counter()))
        came = time.perf_counter()
        worker.process(frame)
        found.append((time.perf_counter() - came) * 1000)
    took = time.perf_counter() - begun
    worker.chain.take(preparation)
    return {"change": [{"longest frame, ms": max(found), "prepared, s": took}]}


def cost(bench: Bench) -> Turns:
    """Return the processor time per frame.

    Raises:
        RuntimeError: pyFAI's curve is another one.
    """
    from scipy.sparse import csc_matrix

    from penstock.processing.azimuthal import product

    pixels = image()
    frame = parts_of(pixels[None], "bslz4")
    ranged = {"points": POINTS, "radial_range": RANGE}
    workers = {
        OURS: InWorker("azimuthal", ranged, SHAPE, "uint32", HEADER),
        UNPACKED: InWorker(f"{MODULE}:Unpack", {}, SHAPE, "uint32", HEADER),
        PYFAI: InWorker(f"{MODULE}:Stock", {}, SHAPE, "uint32", HEADER),
    }
    answers = {name: worker.process(frame) for name, worker in workers.items()}
    for mine, theirs in zip(answers[OURS], answers[PYFAI], strict=True):
        # At the limits of a range pyFAI shares pixels otherwise.
        if not np.allclose(mine[..., 4:-1], theirs[..., 4:-1], rtol=1e-4, equal_nan=True):
            raise RuntimeError("pyFAI finds another curve")
    matrix = workers[OURS].steps[0]._matrix  # type: ignore[attr-defined]
    ends = np.concatenate(([0], np.cumsum(matrix.counts, dtype=np.int64)))
    by_bin = csc_matrix((matrix.weights, matrix.bins, ends), shape=(POINTS, pixels.size)).tocsr()
    flat, as_float = pixels.reshape(-1), pixels.reshape(-1).astype(np.float32)
    sums, top = np.zeros((POINTS, 4)), float(np.iinfo(np.uint32).max)

    def bare() -> None:
        sums.fill(0)
        ours = matrix.weights, matrix.bins, matrix.counts, matrix.divisor, matrix.dark_image
        product.add(flat, *ours, 0.0, top, math.nan, sums)

    bare()
    calls: dict[str, Callable[[], object]] = {
        **{name: partial(worker.process, frame) for name, worker in workers.items()}, PRODUCT: bare,
        SCIPY: lambda: by_bin @ as_float,
    }  # fmt: skip
    return bench.in_turn({name: partial(timed, call, 1, FRAMES) for name, call in calls.items()})


# -- in the child: beside packages of others ---------------------------------------------------------------


def beside_stempy(bench: Bench) -> Turns:
    """Return the processor time per frame of both.

    Raises:
        RuntimeError: they do not find the same.
    """
    from stempy.image import electron_count_frame

    rng = np.random.default_rng(31)
    images = rng.poisson(3, (ELECTRON_FRAMES, *ELECTRON_SHAPE)).astype(np.uint16)
    images[rng.random(images.shape) < ELECTRONS] += 60
    dark = np.full(ELECTRON_SHAPE, 2.0, np.float32)
    keys = {"darkreference": dark, "background_threshold": BACKGROUND, "xray_threshold": XRAY}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "dark.npy")
        np.save(path, dark)
        parameters = {"dark": str(path), "background": BACKGROUND, "xray": XRAY}
        worker = InWorker("electrons", parameters, ELECTRON_SHAPE, "uint16")
    parts = parts_of(images)
    counts, events = sorted(worker.process(parts), key=lambda array: array.size)

    def theirs() -> list[Any]:
        return [electron_count_frame(each, **keys).data[0, 0] for each in images]

    if not np.array_equal(events, np.concatenate(theirs())) or counts.sum() != len(events):
        raise RuntimeError("Penstock and stempy do not find the same electrons")
    calls: dict[str, Callable[[], object]] = {OURS: partial(worker.process, parts), "stempy": theirs}
    return bench.in_turn({name: partial(timed, call, ELECTRON_FRAMES) for name, call in calls.items()})


def beside_pvapy(bench: Bench) -> Turns:
    """Return the processor time per frame in a worker, of it in the class, and with a class of ours."""
    images = np.random.default_rng(1).integers(0, 1000, (BUNCH, *CLASS_SHAPE)).astype(np.uint16)
    parts, inside = parts_of(images), 0.0
    worker = InWorker(CLASS_OF_PVAPY, {}, CLASS_SHAPE, "uint16")
    plain = InWorker(f"{MODULE}:Returns", {}, CLASS_SHAPE, "uint16")

    def counted(call: Callable[[Any], None], sign: int) -> Callable[[Any], None]:
        """Add the time in a call, or subtract it: that in which what the class publishes is taken is ours."""

        def called(argument: Any) -> None:
            nonlocal inside
            begun = time.thread_time()
            call(argument)
            inside += sign * (time.thread_time() - begun)

        return called

    step: Any = worker.steps[0]
    step._made.process = counted(step._made.process, 1)
    step._publisher.updateOutputChannel = counted(step._publisher.updateOutputChannel, -1)

    def take() -> Turn:
        nonlocal inside
        worker.process(parts)
        inside = 0.0
        turn = timed(partial(worker.process, parts), BUNCH, BUNCHES)
        return turn | {"of this the class, µs": inside / (BUNCH * BUNCHES) * 1e6}

    theirs = partial(timed, partial(plain.process, parts), BUNCH, BUNCHES)
    found = bench.in_turn({OURS: take, "a Processor's image": theirs})
    for mine, image_alone in zip(*found.values(), strict=True):
        mine["ours, µs"] = mine[US] - mine["of this the class, µs"] - image_alone[US]
    return found


PARTS = {"ready": ready, "change": change, "cost": cost, "stempy": beside_stempy, "pvapy": beside_pvapy}

if __name__ == "__main__":
    sys.path += sys.argv[3:]  # behind ours
    bench = Bench(folder=Path(), rounds=int(sys.argv[2]))
    turns = PARTS[sys.argv[1]](bench)
    if bench.failed:
        sys.exit(bench.notes[-1])
    print(json.dumps(turns))
