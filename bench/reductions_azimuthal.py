"""Azimuthal integration of 4M frames on one core: beside its parts and pyFAI, and how soon it is ready.

Frames of 2048² uint32, bslz4; 1,000 points of intensity and sigma, pixels split by their shape.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Thread
from typing import Any

import numpy as np

from penstock.bench.in_child import told
from penstock.bench.in_worker import InWorker
from penstock.bench.reductions import Figure, NotMeasured, Progress, median_ratio
from penstock.codecs import bslz4
from penstock.processing.processor import Frame, Processor, Result
from penstock.processing.series import Series
from penstock.receiver import geometry
from penstock.stins import codec
from penstock.stins.messages import Image

MODULE = "penstock.bench.reductions_azimuthal"  # which is __main__ in the processes that measure
SHAPE, POINTS, FRAMES = (2048, 2048), 1000, 6
HEADER = {
    "distance": 0.2, "beam_center_x": 1031.5, "beam_center_y": 1012.0, "x_pixel_size": 75e-6,
    "y_pixel_size": 75e-6, "incident_energy": 12_400.0,
}  # fmt: skip
RATE, WAIT_MS = 100, 200.0
"""Frames per second; longest time that one may take while another geometry is prepared."""
ARM_SECONDS, FIRST_MS, READY_SECONDS = 6.0, 500.0, 1.0
"""From the start message to the first frame; longest time to its curve; longest time to be ready once there
is a matrix."""
RANGE = (1.0, 30.0)
"""In 1/nm: without a range, pyFAI's begins where ours does not."""
WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
OURS, UNPACKED, PRODUCT, SCIPY, PYFAI = (
    "worker",
    "unpacking",
    "product",
    "product by scipy",
    "pyFAI in a worker",
)


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


def measure(rounds: int, progress: Progress) -> Iterator[Figure]:
    """Measure in child processes, whose matrices are kept in a folder of their own."""
    try:
        import numba  # noqa: F401
        import pyFAI  # noqa: F401
    except ModuleNotFoundError as error:
        raise NotMeasured(f"azimuthal needs {error.name}: install penstock[processing]") from error
    with tempfile.TemporaryDirectory() as folder:
        # First what compiles the functions, once per machine, and makes matrices of another shape.
        progress("azimuthal, another geometry while frames come")
        waits = _child("change", "1", folder)
        progress("azimuthal, cold")
        cold = _child("ready", "1", folder)
        progress("azimuthal, warm")
        warm = _child("ready", str(rounds), folder)
        progress(f"azimuthal, {rounds} rounds of {FRAMES} frames")
        values = _child("cost", str(rounds), folder)
    cost = "2048², uint32, bslz4, 1,000 points and sigma, processor time"
    both = [one + other for one, other in zip(values[UNPACKED], values[PRODUCT], strict=True)]
    yield Figure(
        part="azimuthal", text=f"{cost}: worker / (unpacking + product)",
        found=median_ratio(values[OURS], both), bar=1.25,
        values={name: values[name] for name in (OURS, UNPACKED, PRODUCT, SCIPY)},
    )  # fmt: skip
    yield Figure(
        part="azimuthal", text=f"{cost}: worker / pyFAI (CSR, Cython) in a worker",
        found=median_ratio(values[OURS], values[PYFAI]), bar=0.3,
        values={name: values[name] for name in (OURS, PYFAI)},
    )  # fmt: skip
    late = max(0.0, cold["ready"][0] - ARM_SECONDS) * 1000 + cold["first"][0]
    yield Figure(
        part="azimuthal", text="no matrix yet, first frame 6 s after the start message: its curve, after it",
        found=late, bar=FIRST_MS, unit="ms",
        values={
            "start, s": cold["ready"], "processor time, s": cold["processor"],
            "first frame, ms": cold["first"],
        },
    )  # fmt: skip
    yield Figure(
        part="azimuthal", text="matrix there: from the start message to ready",
        found=float(np.median(warm["ready"])), bar=READY_SECONDS, unit="s",
        values={
            "start, s": warm["ready"], "imports, s": warm["imports"], "processor time, s": warm["processor"],
            "first frame, ms": warm["first"],
        },
    )  # fmt: skip

    yield Figure(
        part="azimuthal", text="1024² at 100/s, beside which another geometry is prepared: longest frame",
        found=max(waits["frames, ms"]), bar=WAIT_MS, unit="ms",
        values={name: values if name == "prepared, s" else [max(values)] for name, values in waits.items()},
    )  # fmt: skip


def _child(what: str, rounds: str, folder: str) -> dict[str, list[float]]:
    """Return what a child process has measured; of several rounds of "ready" each is a process of its own."""
    found: dict[str, list[float]] = {}
    for _ in range(int(rounds) if what == "ready" else 1):
        command = [sys.executable, "-P", "-m", MODULE, what, rounds]
        environment = os.environ | {
            "PENSTOCK_CACHE": folder,
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
        }
        for name, values in told(command, environment).items():
            found.setdefault(name, []).extend(values)
    return found


def image() -> np.ndarray[Any, Any]:
    """Return rings with Poisson noise."""
    y, x = np.indices(SHAPE, np.float32)
    radius = np.hypot(x - HEADER["beam_center_x"], y - HEADER["beam_center_y"])
    mean = 10 + 200 * np.exp(-((radius % 150 - 75) ** 2) / 50)
    found: np.ndarray[Any, Any] = np.random.default_rng(5).poisson(mean).astype(np.uint32)
    return found


def parts(pixels: np.ndarray[Any, Any], number: int) -> list[tuple[bytes, bytes]]:
    """Return header and blob of a frame, so often."""
    header = codec.encode_image(
        Image(shape=pixels.shape, type=pixels.dtype.name, compression="bslz4", timestamp=1e9)
    )
    return [(header, bslz4.compress(pixels))] * number


def ready() -> dict[str, list[float]]:
    """Return how many seconds imports and the start of a series take, and milliseconds of the first frame."""
    begun = time.perf_counter()
    import penstock.processing.processors.azimuthal  # noqa: F401  as with Welcome

    imported = time.perf_counter()
    worker = InWorker("azimuthal", {"points": POINTS}, SHAPE, "uint32", HEADER)
    started = time.perf_counter()
    used = sum(resource.getrusage(who)[kind] for who in WHO for kind in (0, 1))
    frame = parts(image(), 1)
    before = time.perf_counter()
    worker.process(frame)
    first = (time.perf_counter() - before) * 1000
    return {
        "imports": [imported - begun], "ready": [started - imported], "first": [first], "processor": [used]
    }  # fmt: skip


def cost(rounds: int) -> dict[str, list[float]]:
    """Return processor time per frame in µs, by round.

    Raises:
        RuntimeError: pyFAI's curve is another one.
    """
    from scipy.sparse import csc_matrix

    from penstock.processing.azimuthal import product

    pixels = image()
    frames = parts(pixels, FRAMES)
    steps = {OURS: "azimuthal", UNPACKED: f"{MODULE}:Unpack", PYFAI: f"{MODULE}:Stock"}
    workers = {
        name: InWorker(
            step, {"points": POINTS, "radial_range": RANGE} if name == OURS else {}, SHAPE, "uint32", HEADER
        )
        for name, step in steps.items()
    }
    answers = {name: worker.process(frames[:1]) for name, worker in workers.items()}
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
        product.add(
            flat,
            matrix.weights,
            matrix.bins,
            matrix.counts,
            matrix.divisor,
            matrix.dark_image,
            0.0,
            top,
            math.nan,
            sums,
        )

    bare()
    calls: dict[str, Callable[[], Any]] = {
        **{name: partial(worker.process, frames[:1]) for name, worker in workers.items()},
        PRODUCT: bare, SCIPY: lambda: by_bin @ as_float,
    }  # fmt: skip
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begun = time.process_time()
            for _ in frames:
                call()
            found[name].append((time.process_time() - begun) / FRAMES * 1e6)
    return found


def change() -> dict[str, list[float]]:
    """Return how long each frame takes, at 100 per second, while the worker prepares another geometry, which
    nobody has made yet."""
    small = (1024, 1024)
    worker = InWorker("azimuthal", {"points": POINTS}, small, "uint32", HEADER)
    frame = parts(image()[: small[0], : small[1]].copy(), 1)
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
    return {"frames, ms": found, "prepared, s": [took]}


def main() -> None:
    """`ready`, `change`, or `cost ROUNDS`, as JSON."""
    what, rounds = sys.argv[1], int(sys.argv[2])
    calls: dict[str, Callable[[], Any]] = {"ready": ready, "change": change, "cost": partial(cost, rounds)}
    print(json.dumps(calls[what]()))


if __name__ == "__main__":
    main()
