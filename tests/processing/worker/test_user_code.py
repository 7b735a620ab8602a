"""User code that fails or cannot be loaded, in a worker: what is said of it, and what goes on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import bslz4, lz4
from penstock.processing import wire
from penstock.receiver.forward.shared import SharedSlots
from tests.processing.worker.worker_process import (
    PIXELS,
    Router,
    ended,
    frame,
    put,
    shared,
    step,
    worker,
)

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


def test_whatever_is_wrong_with_an_exception_or_a_result_fails_its_frame(router: Router) -> None:
    source = """
        class Silent(Exception):
            def __str__(self):
                raise RuntimeError("never")
        class Odd:
            def __array__(self, *args, **kwargs):
                raise Silent
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 0:
                    raise Silent
                if frame.index == 1:
                    raise ValueError("cut: " + chr(0xDC80))
                if frame.index == 2:
                    return {"odd": Odd()}
                return {"spots": np.zeros((frame.index - 3, 2))}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        router.work([frame(PIXELS, index) for index in range(5)])
        done, arrays = router.done()
        assert done.errors == {
            0: "Silent: its text cannot be made: RuntimeError (mine.py, line 12, in process)",
            1: "ValueError: cut: ? (mine.py, line 14, in process)",
            2: "Mine.process: Silent: its text cannot be made: RuntimeError (mine.py, line 8, in __array__)",
            4: "result spots is float64 [1, 2]; its first value was float64 [0, 2], and all have to be "
            "alike; arrays whose length varies are Events",
        }
        assert arrays["spots"].shape == (1, 0, 2)


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
            return {
                "view": pixels[::-1, 1:], "same": Max(pixels), "sum": Sum(pixels.T), "nothing": pixels[:0]
            }
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
        assert arrays["nothing"].shape == (4, 0, PIXELS.shape[1])
        router.say(wire.HandOver(series=1))
        arrays = router.handed_over()[1]
        assert np.array_equal(arrays["same"], PIXELS + 10)
        assert np.array_equal(arrays["sum"], good.sum(0).T)


def test_a_frame_says_how_many_were_skipped_before_it(router: Router) -> None:
    source = """
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 4:
                    raise ValueError("but it was here")
                return {"gap": frame.gap}
        """
    with worker(router):
        router.welcome(step(source))
        router.begin()
        gaps = []
        for first, frames in ((2, 4), (9, 1), (7, 1), (10, 1)):
            router.work([frame(PIXELS, first + number) for number in range(frames)], first=first)
            gaps += router.done()[1]["gap"].tolist()
        assert gaps == [2, 0, 0, 3, 0, 0]  # of 2, 3, 5, 9, 7 and 10


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
