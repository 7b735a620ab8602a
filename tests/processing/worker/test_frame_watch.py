"""The watch on the user's code: which frames are given up, and what is said of them."""

from __future__ import annotations

import logging
import threading

import pytest

from penstock.processing.worker.frame_watch import GIVEN_UP, FrameWatch
from tests.processing.worker.worker_process import PIXELS, Router, ended, frame, step, worker

DEADLINE = 30.0


def test_the_frame_that_takes_too_long_is_said_with_the_line_of_the_users_code(
    caplog: pytest.LogCaptureFixture,
) -> None:
    left, status = threading.Event(), list[int]()

    def leave(number: int) -> None:
        status.append(number)
        left.set()

    watch = FrameWatch(0.05, {__file__}, leave)
    watch.begin(7, 1)
    watch.end()
    watch.begin(8, 1)
    with caplog.at_level(logging.ERROR):
        assert left.wait(DEADLINE)
    watch.close()
    assert status == [GIVEN_UP]
    (said,) = caplog.messages
    assert said.startswith("frame 8 takes more than 0.05 s (frame_seconds) in test_frame_watch.py, line ")


@pytest.mark.parametrize("frames", [0, 1000])
def test_no_frame_and_a_batch_with_time_for_all_its_frames_are_not_given_up(frames: int) -> None:
    left = threading.Event()
    watch = FrameWatch(0.05, (), lambda _status: left.set())
    if frames:
        watch.begin(7, frames)
    assert not left.wait(0.2)  # 50 s for a batch of 1000
    watch.close()


def test_one_frame_of_a_bunch_has_its_own_time(router: Router) -> None:
    source = """
        import threading
        class Mine(Processor):
            def process(self, frame):
                if frame.index == 5:
                    threading.Event().wait()
        """
    with worker(router) as process:
        router.welcome(step(source), frame_seconds=0.5)
        router.begin()
        router.work([frame(PIXELS, index) for index in range(1000)])  # 500 s for all of them
        status, said = ended(process)
    assert status == GIVEN_UP
    assert "frame 5 takes more than 0.5 s (frame_seconds) in mine.py, line 7, in process: this worker" in said
