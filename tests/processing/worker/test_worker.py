"""The worker as a process of its own: what it says and does from Hello to Bye."""

from __future__ import annotations

import json
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.processing import wire
from penstock.processing.worker.worker import Worker
from penstock.receiver.forward.shared import SharedSlots
from penstock.stins.messages import SharedMemory
from penstock.stins.shared import Reference
from tests.processing.worker.worker_process import (
    PIXELS,
    SUM,
    TOTAL,
    Router,
    ended,
    frame,
    put,
    shared,
    step,
    worker,
)

# -- from Hello to Bye -----------------------------------------------------------------------------


def test_a_worker_says_who_it_is_what_its_class_wants_and_what_the_frames_give(router: Router) -> None:
    with worker(router, "w1") as process:
        hello = router.expect(wire.Hello)
        assert (hello.name, hello.pid, hello.wire) == ("w1", process.pid, wire.WIRE)
        router.greet(step(TOTAL), parameters={"factor": 3}, version=5)
        ready = router.expect(wire.Ready)
        assert ready == wire.Ready(version=5, parameters=(wire.Parameter("factor", "int", 1),))
        router.begin()

        bunch = router.work([frame(PIXELS + place, place) for place in range(3)])

        done, arrays = router.done()
        assert (done.series, done.bunch, done.version, done.held, done.errors) == (1, bunch, 5, False, {})
        assert done.seconds > 0
        assert arrays["total"].tolist() == [3 * 66, 3 * 78, 3 * 90]
        router.say(wire.Stop())
        router.expect(wire.Bye)
        assert ended(process)[0] == 0


def test_frames_by_reference_are_read_where_the_receiver_has_put_them(
    router: Router, slots: SharedSlots
) -> None:
    with worker(router):
        assert router.welcome(step(TOTAL), shared=shared(slots)).shares
        router.begin(shared=shared(slots))
        channels = np.stack([PIXELS, PIXELS + 1])
        references = [
            put(slots, 7, frame(PIXELS)),
            put(slots, 8, frame(channels, blobs=[each.tobytes() for each in channels])),
            put(slots, 9, frame(PIXELS, blobs=[bslz4.compress(PIXELS)], compression="bslz4")),
        ]

        router.say(wire.Work(series=1, bunch=1, references=tuple(references)))

        done, arrays = router.done()
        assert not done.errors and not done.unread
        assert arrays["total"].tolist() == [66, 66 + 78, 66]


def test_frames_that_the_receiver_has_taken_back_are_neither_done_nor_failed(
    router: Router, slots: SharedSlots
) -> None:
    with worker(router):
        router.welcome(step(SUM), shared=shared(slots))
        router.begin(shared=shared(slots))
        reference = put(slots, 0, frame(PIXELS))
        slots.take_back()

        router.say(wire.Work(series=1, bunch=1, references=(reference,)))

        done, arrays = router.done()
        assert done.unread == (0,) and not done.errors and not arrays and not done.held


def test_a_worker_that_cannot_read_the_memory_says_so_and_takes_frames_by_value(
    router: Router, tmp_path: Path
) -> None:
    elsewhere = SharedMemory(str(tmp_path / "of-another-machine"), "00" * 16, 10, 1024)
    with worker(router):
        assert not router.welcome(step(TOTAL), shared=elsewhere).shares
        router.begin(shared=elsewhere)
        router.work([frame(PIXELS)])
        assert router.done()[1]["total"].tolist() == [66]
        router.say(wire.Work(series=1, bunch=9, references=(Reference(0, 0, 10, (10,)),)))
        assert router.done()[0].unread == (0,)


def test_what_the_start_message_says_is_in_the_series(router: Router) -> None:
    source = """
        class Mine(Processor):
            def start(self, series):
                where = series.geometry
                self.found = [series.frames, series.mask.sum(), series.metadata["a"], where.distance]
            def process(self, frame):
                return {"found": self.found, "partial": frame.partial, "time": frame.timestamp}
        """
    where = {
        "distance": 0.5,
        "beam_center_x": 1,
        "beam_center_y": 2,
        "x_pixel_size": 1e-4,
        "y_pixel_size": 1e-4,
    }
    with worker(router):
        router.welcome(step(source))
        router.begin(1, json.dumps({"a": 7, "pixel_mask": [[0, 1], [1, 1]], **where}).encode(), frames=9)
        router.work([frame(PIXELS, timestamp=1.5, partial="module 2 is missing")])
        arrays = router.done()[1]
        assert arrays["found"].tolist() == [[9, 3, 7, 0.5]]
        assert arrays["partial"].tolist() == [True] and arrays["time"].tolist() == [1.5]

        mask = BytesIO()
        np.save(mask, np.ones((2, 2), np.uint8))
        router.begin(2, json.dumps({"a": 7, **where}).encode(), mask.getvalue(), frames=8)
        router.work([frame(PIXELS)], series=2)
        arrays = router.done()[1]
        assert arrays["found"].tolist() == [[8, 4, 7, 0.5]]
        assert arrays["partial"].tolist() == [False] and "time" not in arrays


# -- start -----------------------------------------------------------------------------------------


def test_a_worker_imports_nothing_that_would_make_it_start_slowly() -> None:
    heavy = "h5py", "hdf5plugin", "fastapi", "uvicorn", "ruamel", "tango", "scipy", "requests"
    program = (
        "import sys; import penstock.processing.worker.worker; "
        "from penstock.processing import Mean, Processor; "
        "from penstock.codecs import bslz4; import numpy; bslz4.compress(numpy.zeros(100)); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("address", ["10.0.0.1:5", "tcp://10.0.0.1", "nonsense"])
def test_an_address_that_is_none_is_said_at_once(address: str) -> None:
    with pytest.raises(ValueError, match=f"^{address} is no address of a distributor .*tcp://HOST:PORT"):
        Worker(address, "", None, 0, 0)
