"""What goes wrong in camera or engine ends the series as a fault, with a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer.camera.contract import Acquisition, Exposure
from penstock.streamer.camera.driver import Refused
from penstock.streamer.camera.unit import CameraError
from tests.streamer.rig import DEADLINE, Rig, done, settings


def test_a_camera_that_fails_ends_the_series_as_a_fault_after_sending_what_it_gave() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            yield rig.camera.frame(acquisition, 0)
            raise CameraError("the cooling failed; check the water")

        rig.camera.script = script
        rig.connect()
        rig.arm()
        _, frames, end = rig.receive_series()
        assert (len(frames), end.reason) == (1, "fault")
        assert end.message == "FakeCamera: the cooling failed; check the water"
        assert rig.until_state("fault").message == end.message


def test_whatever_a_camera_raises_is_a_fault_with_a_sentence() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            raise ZeroDivisionError("division by zero")
            yield

        rig.camera.script = script
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        with pytest.raises(Refused, match="FakeCamera failed: ZeroDivisionError: division by zero"):
            done(rig.engine.start())
        assert "see the streamer's log" in rig.until_state("fault").message


@pytest.mark.parametrize("indices", [(0, 0), (1, 0), (4,), (-1,)])
def test_a_camera_that_gives_an_impossible_index_is_a_fault(indices: tuple[int, ...]) -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            for index in indices:
                yield rig.camera.frame(acquisition, index)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        assert f"it gave frame {indices[-1]}" in rig.until_state("fault").message


def test_a_camera_that_ends_too_early_is_a_fault() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            yield rig.camera.frame(acquisition, 0)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        message = rig.until_state("fault").message
        assert message.startswith("FakeCamera: it ended after 1 of 4 frames: acquire returned before all")
        assert message.endswith("did not come is told by acquisition.triggered()")


def test_a_full_ring_is_a_fault_with_its_counts_and_a_silent_gap_never() -> None:
    with Rig(buffers=2 * 24) as rig:
        gate = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            gate.wait(DEADLINE)
            for index in range(4):
                yield rig.camera.frame(acquisition, index)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        rig.receive()
        rig.disconnect()
        gate.set()
        rig.until(lambda status: status.lost == {"overrun": 1})
        rig.connect()
        assert [type(rig.receive()) for _ in range(2)] == [Frame, Frame]
        end = rig.receive()
        assert isinstance(end, SeriesEnd)
        assert (end.reason, end.triggered, end.sent, end.lost) == ("fault", 3, 2, {"overrun": 1})
        assert "all 2 buffers of 24 bytes" in rig.until_state("fault").message


def test_after_a_fault_a_new_series_can_be_prepared() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            raise CameraError("broken")
            yield

        rig.camera.script = script
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        with pytest.raises(Refused):
            done(rig.engine.start())
        rig.until_state("fault")
        rig.receive_series()
        rig.camera.script = rig.camera.all_frames
        rig.arm()
        _, frames, _ = rig.receive_series()
        assert len(frames) == 4


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("prepare", CameraError("it does not answer")),
        ("prepare", ZeroDivisionError()),
        ("as_prepared", CameraError("it does not answer")),
        ("readout_time", OSError("it does not answer")),
        ("describe", RuntimeError("it does not answer")),
    ],
)
def test_a_prepare_that_fails_withdraws_the_series_that_was_prepared_before(
    method: str, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    with Rig() as rig:
        done(rig.engine.prepare(settings(exposure_time=0.01)))
        monkeypatch.setattr(rig.camera, method, fail)
        with pytest.raises((Refused, type(error))):
            done(rig.engine.prepare(settings(exposure_time=0.5)))
        status = rig.engine.status()
        assert (status.state, status.message) == (
            "idle",
            "the hardware is no longer set up as prepared before",
        )
        with pytest.raises(Refused, match="announce is not possible"):
            rig.engine.announce()


def test_the_end_of_the_streamer_ends_its_series_as_a_fault() -> None:
    with Rig() as rig:
        rig.camera.script = rig.camera.until_stopped
        rig.connect()
        rig.arm()
        rig.engine.close()
        _, _, end = rig.receive_series()
        assert (end.reason, end.message) == ("fault", "the streamer was told to end")
        assert rig.camera.closed


def test_a_dead_thread_of_the_engine_is_told_to_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    died = Event()
    with Rig(died=died.set) as rig:
        monkeypatch.setattr("threading.excepthook", lambda args: None)
        rig.engine._sends.put(lambda: 1 / 0)  # type: ignore[arg-type,return-value]
        assert died.wait(DEADLINE)
