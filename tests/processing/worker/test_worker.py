"""The worker as a process of its own: every message of a distributor, and what it does when it is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import zmq

from penstock.codecs import bslz4, lz4
from penstock.processing import wire
from penstock.processing.wire import keys
from penstock.processing.wire.sockets import is_local
from penstock.processing.worker.worker import Worker
from penstock.receiver.config import ForwardConfig
from penstock.receiver.forward.shared import SharedSlots
from penstock.stins.messages import SharedMemory
from penstock.stins.shared import Reference
from tests.processing.worker.worker_process import SECONDS, Router, ended, frame, step, worker

PIXELS = np.arange(12, dtype=np.uint16).reshape(3, 4)
TOTAL = """
    class Mine(Processor):
        factor: int = 1
        def process(self, frame):
            return {"total": frame.pixels.sum(dtype="u8") * np.uint64(self.factor)}
    """
SUM = """
    class Mine(Processor):
        def process(self, frame):
            return {"sum": Sum(frame.pixels), "index": frame.index}
    """


@pytest.fixture
def router() -> Iterator[Router]:
    found = Router()
    yield found
    found.close()


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[SharedSlots]:
    """Memory as a receiver has it."""
    config = ForwardConfig(
        name="live", endpoint="tcp://127.0.0.1:*", shared=True, queue_mb=1, shared_folder=str(tmp_path)
    )
    made = SharedSlots(config, "sim-1")
    made.lay_out(1000)
    yield made
    made.close()


def shared(slots: SharedSlots) -> SharedMemory:
    return SharedMemory(str(slots.path), slots.nonce.hex(), slots.layout.slots, slots.layout.slot_bytes)


def put(slots: SharedSlots, index: int, parts: list[bytes]) -> Reference:
    slot = slots.put(parts[0], parts[1:])
    assert slot is not None
    return Reference(index, slot, len(parts[0]), tuple(map(len, parts[1:])))


# -- from Hello to Bye -------------------------------------------------------------------------------


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


# -- accumulated values ----------------------------------------------------------------------------


def test_accumulated_values_are_held_until_the_distributor_asks_for_them(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        router.begin()
        bunches = [router.work([frame(PIXELS), frame(PIXELS + 1)], first=2 * each) for each in range(3)]
        assert [router.done()[0].held for _ in bunches] == [True] * 3

        router.say(wire.HandOver(series=1))

        message, arrays = router.handed_over()
        assert message.bunches == tuple(bunches)
        assert message.arrays[0].kind == "sum" and message.arrays[0].n == 6
        assert np.array_equal(arrays["sum"], 6 * PIXELS.astype("u8") + 3)
        router.say(wire.HandOver(series=1))
        assert router.handed_over()[0] == wire.HandedOver(series=1, bunches=())


def test_accumulated_values_are_handed_over_after_a_time(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=0.05)
        router.begin()
        bunch = router.work([frame(PIXELS)])
        assert router.done()[0].held
        assert router.handed_over()[0].bunches == (bunch,)


def test_a_bunch_that_is_tried_alone_is_handed_over_at_once(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        router.begin()
        bunch = router.work([frame(PIXELS)], alone=True)
        assert router.done()[0].held
        assert router.handed_over()[0].bunches == (bunch,)


def test_what_is_held_is_handed_over_at_the_end_of_the_series_each_for_itself(router: Router) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        for series in (1, 2):
            router.begin(series)
            router.work([frame(PIXELS * series)], series=series)
            router.done()
        for series in (1, 2):
            router.say(wire.End(series=series))
            message, arrays = router.handed_over()
            assert message.series == series and message.bunches == (series,)
            assert np.array_equal(arrays["sum"], PIXELS * series)


def test_a_failed_frame_is_in_no_sum(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 1:
                    self.last = frame.pixels
                return {"sum": Sum(frame.pixels), "wrong": [1] if frame.index == 2 else 1}
        """
    with worker(router):
        router.welcome(step(source), hand_over_seconds=1e9)
        router.begin()
        router.work([frame(PIXELS + place) for place in range(4)])
        assert set(router.done()[0].errors) == {1, 2}
        router.say(wire.HandOver(series=1))
        message, arrays = router.handed_over()
        assert message.arrays[0].n == 2
        assert np.array_equal(arrays["sum"], 2 * PIXELS + 3)


def test_finish_makes_results_of_the_totals(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                return {"mean": Mean(frame.pixels)}
            def finish(self, totals):
                return {"greatest": totals["mean"].max(), "row": totals["mean"][0]}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        total = PIXELS.astype("<u8") * 4
        described = wire.Array(name="mean", dtype="<u8", shape=total.shape, kind="mean", n=4)
        router.say(wire.Finish(series=1, arrays=(described,)), total.tobytes())
        finished = router.expect(wire.Finished)
        assert not finished.error
        arrays = wire.arrays(finished.arrays, router.parts)
        assert arrays["greatest"] == 11.0 and arrays["row"].tolist() == [0, 1, 2, 3]

        router.say(wire.Finish(series=1))
        error = router.expect(wire.Finished).error
        assert error == "Mine.finish: KeyError: 'mean' (mine.py, line 7, in finish)"


# -- user code that fails --------------------------------------------------------------------------


def test_an_exception_fails_its_frame_with_file_and_line_of_the_users_code(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 1:
                    np.linalg.inv(np.zeros((2, 2)))
                if frame.index == 2:
                    raise SystemExit("enough")
                return {"index": frame.index}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        router.work([frame(PIXELS, index) for index in range(4)])
        done, arrays = router.done()
        assert done.errors == {
            1: "LinAlgError: Singular matrix (mine.py, line 6, in process)",
            2: "SystemExit: enough (mine.py, line 8, in process)",
        }
        assert done.arrays[0].places == (0, 3) and arrays["index"].tolist() == [0, 3]


KEPT = """
    class Mine(Processor):
        def start(self, series):
            self.kept = []
        def process(self, frame):
            pixels = frame.pixels
            keep = [
                lambda: pixels, lambda: pixels.T, lambda: pixels[::2], lambda: memoryview(pixels),
                lambda: pixels.reshape(-1)[1:].view("u1"), lambda: iter(pixels), lambda: {"a": [pixels[0]]},
                lambda: pixels.copy(), lambda: pixels + 1, lambda: pixels[pixels > 3], lambda: frame,
            ]
            self.kept.append(keep[frame.index]())
            return {"view": pixels[::-1, 1:], "same": Max(pixels), "sum": Sum(pixels.T)}
    """
"""Keeps the pixels in each form: 7 that are views, and 4 that are none."""


@pytest.mark.parametrize("by", ["reference", "value"])
@pytest.mark.parametrize("compression", ["none", "bslz4", "lz4"])
def test_a_view_that_is_kept_fails_its_frame_and_one_that_is_returned_does_not(
    by: str, compression: str, router: Router, slots: SharedSlots
) -> None:
    packed = {"none": np.ndarray.tobytes, "bslz4": bslz4.compress, "lz4": lz4.compress}[compression]
    frames = [
        frame(PIXELS + index, index, [packed(PIXELS + index)], compression=compression) for index in range(11)
    ]
    with worker(router):
        router.welcome(step(KEPT), shared=shared(slots) if by == "reference" else None)
        router.begin(shared=shared(slots) if by == "reference" else None)

        if by == "reference":
            references = tuple(put(slots, index, parts) for index, parts in enumerate(frames))
            router.say(wire.Work(series=1, bunch=1, references=references))
        else:
            router.work(frames)

        done, arrays = router.done()
        assert set(done.errors) == set(range(7))
        assert all("keep frame.pixels.copy()" in sentence for sentence in done.errors.values())
        good = np.stack([PIXELS + index for index in range(7, 11)])
        assert np.array_equal(arrays["view"], good[:, ::-1, 1:])
        router.say(wire.HandOver(series=1))
        arrays = router.handed_over()[1]
        assert np.array_equal(arrays["same"], PIXELS + 10)
        assert np.array_equal(arrays["sum"], good.sum(0).T)


def test_pixels_cannot_be_written_and_are_not_there_when_the_frame_is_over(router: Router) -> None:
    source = """
        class Mine(Processor):
            last = None
            def process(self, frame):
                if frame.index == 0:
                    frame.pixels[:] = 0
                if frame.index == 2:
                    self.last.pixels
                self.last = frame
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        router.work([frame(PIXELS, index) for index in range(3)])
        errors = router.done()[0].errors
        assert "read-only" in errors[0] and "line 7, in process" in errors[0]
        assert "frame 1 is over" in errors[2] and 1 not in errors


def test_a_step_sees_the_pixels_that_its_predecessor_has_left(router: Router) -> None:
    first = """
        class First(Processor):
            dark: int = 2
            def process(self, frame):
                if frame.index == 1:
                    raise ValueError("no")
                frame.pixels = frame.pixels[1:] - np.uint16(self.dark)
                return {"rows": len(frame.pixels)}
        """
    second = """
        class Second(Processor):
            dark: int = 0
            def process(self, frame):
                return {"total": frame.pixels.sum(dtype="u8"), "mean": Mean(frame.pixels), "dark": self.dark}
        """
    with worker(router):
        steps = step(first, "First", "first.py"), step(second, "Second", "second.py")
        ready = router.welcome(*steps, parameters={"0.dark": 1, "1.dark": 5})
        assert [(each.name, each.step) for each in ready.parameters] == [("dark", 0), ("dark", 1)]
        router.begin()
        router.work([frame(PIXELS, index) for index in range(3)])
        done, arrays = router.done()
        assert done.errors == {1: "ValueError: no (first.py, line 7, in process)"}
        assert arrays["rows"].tolist() == [2, 2] and arrays["dark"].tolist() == [5, 5]
        assert arrays["total"].tolist() == [PIXELS[1:].sum() - 8] * 2


# -- batches ---------------------------------------------------------------------------------------


BATCH = """
    class Mine(Processor):
        batch = 4
        batch_seconds = 1e9
        def process_batch(self, frames):
            return [{"n": len(frames), "index": frame.index, "sum": Sum(frame.pixels)} for frame in frames]
    """


def test_a_batch_is_filled_from_several_bunches_and_a_bunch_is_answered_when_it_is_done(
    router: Router,
) -> None:
    with worker(router):
        assert router.welcome(step(BATCH), hand_over_seconds=1e9).batch == 4
        router.begin()
        router.work([frame(PIXELS)])
        assert router.is_silent(0.2)
        router.work([frame(PIXELS)] * 5, first=1)
        assert router.done()[1]["n"].tolist() == [4]
        assert router.is_silent(0.2)  # two frames more would be a batch
        router.work([frame(PIXELS)], first=6)  # it has all the bunches that it can get
        arrays = router.done()[1]
        assert arrays["n"].tolist() == [4, 4, 4, 3, 3] and arrays["index"].tolist() == [1, 2, 3, 4, 5]
        assert router.done()[1]["n"].tolist() == [3]


def test_a_batch_waits_no_longer_than_its_time(router: Router) -> None:
    with worker(router):
        router.welcome(step(BATCH.replace("1e9", "0.05")))
        router.begin()
        router.work([frame(PIXELS), frame(PIXELS)])
        assert router.done()[1]["n"].tolist() == [2, 2]


@pytest.mark.parametrize("what", ["hand over", "end", "use", "alone", "stop", "terminate"])
def test_a_smaller_batch_is_processed_when_something_needs_its_results(what: str, router: Router) -> None:
    with worker(router) as process:
        router.welcome(step(BATCH), hand_over_seconds=1e9)
        router.begin()
        router.work([frame(PIXELS), frame(PIXELS)], alone=what == "alone")
        if what == "hand over":
            router.say(wire.HandOver(series=1))
        elif what == "end":
            router.say(wire.End(series=1))
        elif what == "stop":
            router.say(wire.Stop())
        elif what == "use":
            router.say(wire.Configure(version=2, parameters={}))
            router.expect(wire.Ready)
            router.say(wire.Use(version=2))
        elif what == "terminate":
            # Its answer to a message shows that the one before was read.
            router.say(wire.Configure(version=2, parameters={}))
            router.expect(wire.Ready)
            process.terminate()
        done, arrays = router.done()
        assert arrays["n"].tolist() == [2, 2] and done.version == 1
        if what != "use":
            assert router.handed_over()[0].bunches == (1,)


def test_a_batch_fails_as_a_whole_and_needs_a_result_for_each_frame(router: Router) -> None:
    source = """
        class Mine(Processor):
            batch = 2
            def process_batch(self, frames):
                if frames[0].index == 0:
                    self.last = frames[1].pixels
                if frames[0].index == 2:
                    1 / 0
                if frames[0].index == 4:
                    return [None]
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        router.work([frame(PIXELS, index) for index in range(8)])
        errors = router.done()[0].errors
        assert set(errors) == {1, 2, 3, 4, 5} and "frame.pixels.copy()" in errors[1]
        assert errors[2] == errors[3]
        assert errors[2] == "ZeroDivisionError: division by zero (mine.py, line 9, in process_batch)"
        assert errors[4].startswith("Mine.process_batch has returned 1 for 2 frames; return a list")


# -- parameters ------------------------------------------------------------------------------------


def test_parameters_are_prepared_first_and_hold_from_the_next_bunch_on_when_they_are_used(
    router: Router,
) -> None:
    source = """
        class Mine(Processor):
            factor: int = 1
            def configure(self):
                if self.factor < 0:
                    raise ValueError("factor is below 0")
                self.twice = 2 * self.factor
            def start(self, series):
                self.seen = 0
            def process(self, frame):
                self.seen += 1
                return {"twice": self.twice, "seen": self.seen}
        """
    with worker(router):
        router.welcome(step(source), version=0)
        router.begin(1)
        router.work([frame(PIXELS)])
        router.done()
        router.say(wire.Configure(version=2, parameters={"factor": 10}))
        assert router.expect(wire.Ready).version == 2
        router.work([frame(PIXELS)])
        done, arrays = router.done()
        assert done.version == 0 and arrays["twice"].tolist() == [2]

        router.say(wire.Configure(version=3, parameters={"factor": -1}))
        refused = router.expect(wire.Refused)
        assert (refused.what, refused.version) == ("parameters", 3)
        assert refused.why == "Mine.configure: ValueError: factor is below 0 (mine.py, line 7, in configure)"
        router.begin(2)  # between the two moves
        router.say(wire.Use(version=2))
        for series, seen in ((1, 3), (2, 1)):
            router.work([frame(PIXELS)], series=series)
            done, arrays = router.done()
            assert done.version == 2
            assert arrays["twice"].tolist() == [20] and arrays["seen"].tolist() == [seen]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"factr": 3}, "there is no parameter factr: Mine has factor; is factor meant?"),
        ({"factor": "many"}, "parameter factor of Mine is 'many'; it has to be int"),
        ({"factor": 1.5}, "parameter factor of Mine is 1.5; it has to be int"),
    ],
)
def test_parameters_that_cannot_be_are_refused_in_a_sentence(
    values: dict[str, object], sentence: str, router: Router
) -> None:
    with worker(router):
        router.expect(wire.Hello)
        router.greet(step(TOTAL), parameters=values)
        refused = router.expect(wire.Refused)
        assert refused.what == "parameters" and refused.version == 1
        assert refused.why.startswith(sentence)


def test_parameters_that_a_series_does_not_take_break_this_series_alone(router: Router) -> None:
    source = """
        class Mine(Processor):
            factor: int = 1
            def start(self, series):
                self.limit = series.frames
                self.configure()
            def configure(self):
                if self.factor > getattr(self, "limit", 100):
                    raise ValueError("too large")
            def process(self, frame):
                return {"factor": self.factor}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin(1, frames=20)
        router.say(wire.Configure(version=2, parameters={"factor": 10}))
        router.expect(wire.Ready)
        router.begin(2, frames=5)
        router.say(wire.Use(version=2))
        refused = router.expect(wire.Refused)
        assert (refused.what, refused.series) == ("start", 2) and "too large" in refused.why
        router.work([frame(PIXELS)], series=2)
        assert "too large" in router.done()[0].errors[0]
        router.work([frame(PIXELS)], series=1)
        assert router.done()[1]["factor"].tolist() == [10]


# -- code that cannot be loaded --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (step("class Mine(Processor): pass"), "class Mine in mine.py has neither process nor process_batch"),
        (step("class Yours(Processor): ..."), "there is no class Mine in mine.py; it has Yours"),
        (step("class Mine: ..."), "class Mine in mine.py is no processor: write class Mine(Processor)"),
        (step("def f(:\n  pass"), "mine.py, line 3: invalid syntax: def f(:"),
        (step("1 / 0"), "mine.py cannot be loaded: ZeroDivisionError: division by zero (mine.py, line 3)"),
        (step("import not_here"), "mine.py imports not_here, which is not here: install it for the"),
        (step("import sys\nsys.exit(3)"), "mine.py cannot be loaded: SystemExit: 3 (mine.py, line 4)"),
        (step("x = 1", sha256="0" * 64), "the source text of mine.py has not arrived whole"),
        (wire.Step(name="Mine", module="not_here.at_all"), "there is no module not_here here"),
        (wire.Step(name="Mine", module="json"), "there is no class Mine in json; it has no class that"),
    ],
    ids=[
        "no method", "name", "no processor", "syntax", "exception", "import", "exit", "cut", "module",
        "class",
    ],
)  # fmt: skip
def test_a_class_that_cannot_be_loaded_is_refused_in_a_sentence(
    given: wire.Step, sentence: str, router: Router
) -> None:
    with worker(router) as process:
        router.expect(wire.Hello)
        router.greet(given)
        refused = router.expect(wire.Refused)
        assert refused.what == "code" and refused.why.startswith(sentence)
        router.say(wire.Stop(why="its class cannot be loaded"))
        router.expect(wire.Bye)
        status, said = ended(process)
        assert status == 1 and sentence in said and "its class cannot be loaded" in said


def test_a_class_is_loaded_from_a_module_and_its_lines_are_the_users(
    router: Router, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ours.py").write_text(
        "from penstock.processing import Processor\nclass Mine(Processor):\n    def process(self, frame):\n"
        "        raise ValueError('here')\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with worker(router):
        router.welcome(wire.Step(name="Mine", module="ours"))
        router.begin()
        router.work([frame(PIXELS)])
        assert router.done()[0].errors == {0: "ValueError: here (ours.py, line 4, in process)"}


def test_start_that_raises_is_said_and_fails_the_frames_of_this_series(router: Router) -> None:
    source = """
        class Mine(Processor):
            def start(self, series):
                if series.frames is None:
                    raise ValueError("how many?")
            def process(self, frame):
                return {"index": frame.index}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin(1)
        refused = router.expect(wire.Refused)
        sentence = "Mine.start: ValueError: how many? (mine.py, line 6, in start)"
        assert (refused.what, refused.series, refused.why) == ("start", 1, sentence)
        router.work([frame(PIXELS)], series=1)
        assert router.done()[0].errors == {0: sentence}
        router.begin(2, frames=1)
        router.work([frame(PIXELS)], series=2)
        assert router.done()[1]["index"].tolist() == [0]


# -- coming and going ------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_a_worker_end_its_bunch_hand_over_and_leave(number: int, router: Router) -> None:
    source = """
        import os, signal
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 0:
                    os.kill(os.getpid(), NUMBER)
                return {"sum": Sum(frame.pixels), "index": frame.index}
        """.replace("NUMBER", str(int(number)))
    with worker(router) as process:
        router.welcome(step(source), hand_over_seconds=1e9)
        router.begin()
        bunch = router.work([frame(PIXELS), frame(PIXELS)])
        assert router.done()[1]["index"].tolist() == [0, 1]
        message, arrays = router.handed_over()
        assert message.bunches == (bunch,) and np.array_equal(arrays["sum"], 2 * PIXELS)
        router.expect(wire.Bye)
        assert ended(process)[0] == 0


def test_a_worker_that_waits_for_a_distributor_leaves_at_a_signal() -> None:
    nobody = Router()
    address = nobody.address
    nobody.close()
    nobody.address = address
    with worker(nobody) as process:
        # Its handler stands once this descriptor is there: until then SIGTERM would end it in another way.
        while "socket:" not in "".join(_descriptors(process.pid)):
            assert process.poll() is None
        process.terminate()
        assert process.wait(SECONDS) in (0, -signal.SIGTERM)


def _descriptors(pid: int) -> list[str]:
    folder = f"/proc/{pid}/fd"
    found = []
    for each in os.listdir(folder):
        try:
            found.append(os.readlink(f"{folder}/{each}"))
        except OSError:  # closed meanwhile
            continue
    return found


def test_a_worker_whose_distributor_is_gone_forgets_everything_and_greets_the_next_one(
    router: Router,
) -> None:
    with worker(router):
        router.welcome(step(SUM), hand_over_seconds=1e9)
        router.begin()
        router.work([frame(PIXELS)])
        assert router.done()[0].held
        address = router.address
        router.close()
        router.__init__(address)  # type: ignore[misc]

        router.welcome(step(SUM.replace("frame.index", "frame.index + 100")), hand_over_seconds=1e9)

        router.begin()
        router.work([frame(PIXELS + 1)])
        assert router.done()[1]["index"].tolist() == [100]
        router.say(wire.HandOver(series=1))
        assert np.array_equal(router.handed_over()[1]["sum"], PIXELS + 1)


def test_a_worker_that_has_lost_its_connection_says_who_it_was_and_what_it_had_done(router: Router) -> None:
    with worker(router):
        hello = router.expect(wire.Hello)
        assert (hello.former, hello.done) == ("", ())
        router.greet(step(TOTAL), mark="a-7")
        router.expect(wire.Ready)
        router.begin()
        bunches = [router.work([frame(PIXELS)]) for _ in range(3)]
        for _ in bunches:
            router.done()
        for _ in range(2):  # it is said again if no Welcome has come
            address = router.address
            router.close()
            router.__init__(address)  # type: ignore[misc]
            hello = router.expect(wire.Hello)
            assert (hello.former, hello.done) == ("a-7", tuple(bunches[1:]))


def test_a_worker_that_is_killed_is_noticed_by_its_connection(router: Router) -> None:
    with worker(router) as process:
        router.welcome(step(TOTAL))
        process.kill()
        assert router.events(zmq.EVENT_DISCONNECTED)


def test_a_stop_that_says_why_ends_the_worker_with_this_sentence(router: Router) -> None:
    with worker(router) as process:
        router.expect(wire.Hello)
        router.say(wire.Stop(why="this pipeline runs release 9, this worker 8"))
        router.expect(wire.Bye)
        status, said = ended(process)
        assert status == 1 and "this pipeline runs release 9, this worker 8" in said


@pytest.mark.parametrize("what", ["nonsense", "out of turn"])
def test_something_that_is_no_distributor_ends_the_worker_with_a_sentence(what: str, router: Router) -> None:
    with worker(router) as process:
        router.expect(wire.Hello)
        if what == "nonsense":
            router._socket.send_multipart([router._worker, b'{"htype": "header"}'])
        else:
            router.begin()
        status, said = ended(process)
        assert status == 1 and "is no distributor of this release of Penstock" in said


# -- keys ------------------------------------------------------------------------------------------


def test_with_the_key_of_the_pipeline_a_worker_takes_part(tmp_path: Path) -> None:
    file = tmp_path / "key"
    keys.make(file)
    assert file.stat().st_mode & 0o777 == 0o600
    router = Router(key=keys.read(file))
    with worker(router, "", str(file)):
        router.welcome(step(TOTAL))
    router.close()


@pytest.mark.parametrize("has_key", [True, False])
def test_with_another_key_a_worker_is_refused_once_and_says_why(has_key: bool, tmp_path: Path) -> None:
    for name in ("key", "other"):
        keys.make(tmp_path / name)
    router = Router(key=keys.read(tmp_path / "key"))
    with worker(router, *(["", str(tmp_path / "other")] if has_key else [])) as process:
        status, said = ended(process)
        assert status == 1 and "give the key of its pipeline with --key FILE" in said
        assert not has_key or len(router.events(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)) == 1
        assert router.is_silent(0)
    router.close()


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    with pytest.raises(keys.BadKey, match="cannot be read: No such file"):
        keys.read(tmp_path / "none")
    (tmp_path / "short").write_text("abc\n")
    with pytest.raises(keys.BadKey, match="has no key: it has 3 characters. A key is one line of 40"):
        keys.read(tmp_path / "short")


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("tcp://127.0.0.1:5", True), ("tcp://localhost:5", True), ("tcp://[::1]:5", True),
        ("ipc:///tmp/a", True),
        ("tcp://10.0.0.1:5", False), ("tcp://beamline:5", False), ("tcp://127.0.0.1.example.org:5", False),
    ],
)  # fmt: skip
def test_source_text_is_taken_from_this_machine_alone_without_a_key(address: str, local: bool) -> None:
    assert is_local(address) is local


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
