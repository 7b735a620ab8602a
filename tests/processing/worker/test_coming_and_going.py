"""How a worker comes and goes: signals, lost connections, and whoever is no distributor."""

from __future__ import annotations

import os
import signal
import subprocess

import numpy as np
import pytest
import zmq

from penstock.processing import wire
from penstock.processing.worker.worker import LEAVE, WITH_PARENT
from tests.processing.worker.worker_process import (
    PIXELS,
    SECONDS,
    SUM,
    TOTAL,
    Router,
    ended,
    frame,
    step,
    worker,
)


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


def test_a_signal_to_a_worker_that_has_left_and_is_not_let_go_yet_is_none(router: Router) -> None:
    with worker(router, "w", "", WITH_PARENT, stdin=subprocess.PIPE) as process:
        router.welcome(step(TOTAL))
        router.say(wire.Stop())
        router.expect(wire.Bye)
        router.events(zmq.EVENT_DISCONNECTED)
        process.terminate()
        assert process.stdin is not None
        process.stdin.write(LEAVE.decode())
        assert ended(process) == (0, "")


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
