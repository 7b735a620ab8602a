from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import numpy as np
import pytest

from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.streamer.camera import Acquisition, CameraError, Exposure
from penstock.streamer.errors import Refused
from penstock.streamer.settings import TriggerMode
from tests.streamer.rig import DEADLINE, FakeClock, Rig, done, settings

# A complete series --------------------------------------------------------------------------------


def test_a_series_is_start_frames_end_numbered_without_a_gap() -> None:
    with Rig() as rig:
        rig.connect()
        for series in range(2):
            rig.arm(filename="/data/a.h5", n_triggers=2, n_frames_per_trigger=2)
            start, frames, end = rig.receive_series()
            numbers = [m.msg_number for m in (start.header, *(f.image for f in frames), end)]
            assert numbers == list(range(6 * series, 6 * series + 6))
            rig.until_state("idle")
        assert [frame.image.frame for frame in frames] == [0, 1, 2, 3]
        assert [frame.image.trigger for frame in frames] == [0, 0, 1, 1]
        assert (end.reason, end.triggered, end.sent, end.lost) == ("complete", 4, 4, None)
        ids = {start.header.series, end.series, *(frame.image.series for frame in frames)}
        assert ids == {rig.engine.status().series}


def test_the_start_message_says_what_will_come() -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm(filename="/data/a.h5", exposure_time=0.5, latency_time=0.25, metadata={"sample": "CeO2"},
                beam_center=(3.0, 2.0), distance=0.1)  # fmt: skip
        start = rig.receive()
        assert isinstance(start, Start)
        header = start.header
        assert (header.filename, header.frames, header.shape, header.type) == (
            "/data/a.h5",
            4,
            (3, 4),
            "uint16",
        )
        assert (header.compression, header.frame_bytes, header.streams) == ("none", 24, 1)
        assert (header.index_source, header.trigger_mode) == ("hardware counter", "INTERNAL")
        assert header.frame_time == 0.75
        assert start.metadata["user"] == {"sample": "CeO2"}
        assert start.metadata["exptime"] == start.metadata["count_time"] == 0.5
        assert (start.metadata["beam_center_x"], start.metadata["beam_center_y"]) == (3.0, 2.0)
        assert start.metadata["distance"] == 0.1
        assert start.metadata["save_raw"] is True


def test_the_pixels_arrive_as_the_camera_gave_them() -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm()
        _, frames, _ = rig.receive_series()
        for number, frame in enumerate(frames):
            assert bytes(frame.blobs[0]) == np.full((3, 4), number, np.uint16).tobytes()


def test_k_blobs_travel_as_k_parts() -> None:
    with Rig(buffers=4 * 48) as rig:
        rig.camera.shape = (2, 3, 4)
        rig.connect()
        rig.arm()
        _, frames, _ = rig.receive_series()
        assert frames[0].image.chunks == (1, 3, 4)
        assert [len(blob) for blob in frames[0].blobs] == [24, 24]


def test_rotation_changes_shape_and_pixels() -> None:
    with Rig() as rig:
        ramp = np.arange(12, dtype=np.uint16).reshape(3, 4)

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            acquisition.buffer().view(np.uint16)[:] = ramp.ravel()
            yield Exposure(index=0)

        rig.camera.script = script
        rig.connect()
        rig.arm(n_triggers=1, rotation=90, fliplr=True)
        start, frames, _ = rig.receive_series()
        assert start.header.shape == frames[0].image.shape == (4, 3)
        assert bytes(frames[0].blobs[0]) == np.fliplr(np.rot90(ramp)).tobytes()


def test_a_frame_that_the_hardware_missed_leaves_its_index_empty_and_is_counted() -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            for index in (0, 2, 3):
                yield rig.camera.frame(acquisition, index)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        _, frames, end = rig.receive_series()
        assert [frame.image.frame for frame in frames] == [0, 2, 3]
        assert (end.triggered, end.sent, end.lost) == (4, 3, {"camera": 1})


# Triggers -----------------------------------------------------------------------------------------


def test_a_software_trigger_takes_one_frame() -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        for taken in range(4):
            rig.until(lambda status: status.ready_for_trigger)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        rig.until_state("idle")


def test_a_software_trigger_that_comes_too_early_is_refused_and_does_not_count() -> None:
    with Rig() as rig:
        busy = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            while acquisition.wait_trigger():
                busy.wait(DEADLINE)
                yield rig.camera.frame(acquisition, 0)
                return

        rig.camera.script = script
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=1)
        rig.until(lambda status: status.ready_for_trigger)
        rig.engine.trigger()
        with pytest.raises(Refused, match="still busy with the last one") as caught:
            rig.engine.trigger()
        assert caught.value.kind == "not_ready"
        busy.set()
        assert rig.until_state("idle").acquired == 1


def test_a_software_trigger_is_refused_in_other_modes_and_when_nothing_runs() -> None:
    with Rig() as rig:
        with pytest.raises(Refused, match="the streamer is idle; Arm first"):
            rig.engine.trigger()
        rig.camera.script = rig.camera.until_stopped
        rig.connect()
        rig.arm()
        with pytest.raises(Refused, match="TriggerMode is INTERNAL"):
            rig.engine.trigger()


def test_no_software_trigger_is_taken_while_there_is_no_buffer_for_its_frame() -> None:
    with Rig(buffers=2 * 24, hwm=1) as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE, n_triggers=10)
        rig.receive()
        rig.disconnect()
        for taken in range(2):
            rig.until(lambda status: status.ready_for_trigger)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        rig.until(lambda status: status.ring_used == 2)
        with pytest.raises(Refused, match="waiting for the receiver: 2 of 2 buffers used"):
            rig.engine.trigger()
        assert rig.engine.status().state == "acquiring"


def test_a_triggered_series_may_pause_for_ten_hours() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        for taken in range(4):
            rig.until(lambda status: status.ready_for_trigger)
            clock.advance(36_000)
            rig.engine.trigger()
            rig.until(lambda status, taken=taken: status.acquired == taken + 1)
        _, frames, end = rig.receive_series()
        assert len(frames) == 4
        assert end.reason == "complete"


# Stop and Abort at every point --------------------------------------------------------------------

ENDINGS = ("stop", "abort")


@pytest.mark.parametrize("how", ENDINGS)
def test_when_nothing_runs_there_is_nothing_to_end(how: str) -> None:
    with Rig() as rig:
        done(getattr(rig.engine, how)())
        assert rig.engine.status().state == "idle"


@pytest.mark.parametrize("how", [*ENDINGS, "cancel"])
def test_a_prepared_series_is_forgotten_without_a_message(how: str) -> None:
    with Rig() as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(getattr(rig.engine, how)())
        assert rig.engine.status().state == "idle"
        rig.arm()
        start = rig.receive()
        assert isinstance(start, Start)
        assert start.header.msg_number == 0


@pytest.mark.parametrize(("how", "reason"), [("stop", "stop"), ("abort", "abort"), ("cancel", "abort")])
def test_an_announced_series_gets_its_end_message(how: str, reason: str) -> None:
    with Rig() as rig:
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        done(getattr(rig.engine, how)())
        _, frames, end = rig.receive_series()
        assert (frames, end.reason, end.sent) == ([], reason, 0)
        assert rig.engine.status().state == "idle"


@pytest.mark.parametrize("how", ENDINGS)
def test_while_the_camera_arms(how: str) -> None:
    with Rig() as rig:

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.wait_until(float("inf"))
            yield from ()

        rig.camera.script = script
        rig.connect()
        done(rig.engine.prepare(settings()))
        done(rig.engine.announce())
        armed = rig.engine.start()
        done(getattr(rig.engine, how)())
        with pytest.raises(Refused, match=how):
            done(armed)
        _, _, end = rig.receive_series()
        assert end.reason == how
        rig.until_state("idle")


@pytest.mark.parametrize("how", ENDINGS)
def test_while_it_waits_for_a_software_trigger(how: str) -> None:
    with Rig() as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        rig.until(lambda status: status.ready_for_trigger)
        done(getattr(rig.engine, how)())
        _, frames, end = rig.receive_series()
        assert (len(frames), end.reason, end.triggered, end.lost) == (0, how, 0, None)
        rig.until_state("idle")


@pytest.mark.parametrize(("how", "frames", "lost"), [("stop", 1, None), ("abort", 0, {"abort": 1})])
def test_during_an_exposure_stop_finishes_the_frame_and_abort_drops_it(
    how: str, frames: int, lost: dict[str, int] | None
) -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        exposing = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            acquisition.triggered(1)
            exposing.set()
            if acquisition.wait_until(acquisition.now() + 100, exposing=True):
                yield rig.camera.frame(acquisition, 0)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        assert exposing.wait(DEADLINE)
        done(getattr(rig.engine, how)())
        if how == "stop":
            rig.until_state("ending")
            clock.advance(100)
        _, received, end = rig.receive_series()
        assert (len(received), end.reason, end.lost) == (frames, how, lost)
        rig.until_state("idle")


def blocked(rig: Rig) -> None:
    """A series whose receiver has died, with both its buffers full."""

    def script(acquisition: Acquisition) -> Iterator[Exposure]:
        acquisition.ready()
        for index in range(2):
            yield rig.camera.frame(acquisition, index)
        acquisition.wait_until(float("inf"))

    rig.camera.script = script
    rig.connect()
    done(rig.engine.prepare(settings()))
    done(rig.engine.announce())
    rig.receive()
    rig.disconnect()
    done(rig.engine.start())
    rig.until(lambda status: status.acquired == 2)
    rig.until(lambda status: status.message.startswith("waiting for the receiver"))


def test_back_pressure_is_visible() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        status = rig.engine.status()
        assert status.message == "waiting for the receiver to take frames: 2 of 2 buffers used, 0 connected"
        assert (status.state, status.sent, status.peers) == ("acquiring", 0, 0)


def test_abort_ends_a_blocked_send_to_an_absent_receiver() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.abort()
        status = rig.until_state("idle")
        assert (status.sent, status.lost, status.end_sent) == (0, {"abort": 2}, False)


def test_stop_gives_a_receiver_that_comes_back_its_frames() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.stop()
        rig.until_state("ending")
        rig.connect()
        frames = [rig.receive(), rig.receive()]
        assert all(isinstance(frame, Frame) for frame in frames)
        end = rig.receive()
        assert isinstance(end, SeriesEnd)
        assert (end.reason, end.sent, end.msg_number) == ("stop", 2, 3)
        rig.until_state("idle")


def test_stop_gives_up_a_receiver_that_stays_away_and_counts_the_frames() -> None:
    clock = FakeClock()
    with Rig(buffers=2 * 24, clock=clock) as rig:
        blocked(rig)
        rig.engine.stop()
        rig.until_state("ending")
        with rig.changed:
            while rig.engine.status().state == "ending":
                clock.advance(1.0)
                rig.changed.wait(0.1)
        status = rig.engine.status()
        assert status.state == "fault"
        assert (status.sent, status.lost, status.end_sent) == (0, {"undelivered": 2}, False)
        assert "2 of 2 frames were dropped" in status.message


def test_abort_overtakes_a_stop_that_waits_for_the_receiver() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.stop()
        rig.until_state("ending")
        rig.engine.abort()
        assert rig.until_state("idle").lost == {"abort": 2}


def test_after_an_abort_that_could_not_say_so_the_next_series_has_no_gap_in_its_numbers() -> None:
    with Rig(buffers=2 * 24) as rig:
        blocked(rig)
        rig.engine.abort()
        rig.until_state("idle")
        rig.connect()
        rig.camera.script = rig.camera.all_frames
        rig.arm(n_triggers=1)
        start, _, _ = rig.receive_series()
        assert start.header.msg_number == 1


def test_a_camera_that_ignores_abort_is_a_fault_and_does_not_hold_anything_up() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        stuck = Event()

        def script(acquisition: Acquisition) -> Iterator[Exposure]:
            acquisition.ready()
            stuck.wait(DEADLINE)
            yield rig.camera.frame(acquisition, 0)

        rig.camera.script = script
        rig.connect()
        rig.arm()
        rig.engine.abort()
        with rig.changed:
            while rig.engine.status().state == "ending":
                clock.advance(0.1)
                rig.changed.wait(0.1)
        status = rig.engine.status()
        assert status.state == "fault"
        assert "did not end its acquisition after Abort" in status.message
        _, _, end = rig.receive_series()
        assert end.reason == "abort"
        with pytest.raises(Refused, match="has not returned from the last call"):
            rig.engine.prepare(settings())
        stuck.set()
        rig.until(lambda status: status.ring_used == 0)


# Faults -------------------------------------------------------------------------------------------


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
        assert rig.until_state("fault").message == "FakeCamera: it ended after 1 of 4 frames"


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


def test_the_end_of_the_streamer_ends_its_series_as_a_fault() -> None:
    with Rig() as rig:
        rig.camera.script = rig.camera.until_stopped
        rig.connect()
        rig.arm()
        rig.engine.close()
        _, _, end = rig.receive_series()
        assert (end.reason, end.message) == ("fault", "the streamer was told to end")
        assert rig.camera.closed


# Refusals -----------------------------------------------------------------------------------------


def test_without_a_receiver_the_start_message_is_refused_with_the_endpoint() -> None:
    with Rig(clock=None) as rig:
        done(rig.engine.prepare(settings()))
        with pytest.raises(Refused, match=f"no receiver is connected to {rig.push.endpoint}") as caught:
            done(rig.engine.announce())
        assert caught.value.kind == "no_receiver"
        assert rig.engine.status().state == "prepared"
        rig.connect()
        done(rig.engine.announce())
        start = rig.receive()
        assert isinstance(start, Start)
        assert start.header.msg_number == 0, "what was not sent has no number"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"exposure_time": 101.0}, "ExposureTime 101.0 s; the greatest is 100 s"),
        ({"exposure_time": float("nan")}, "ExposureTime nan s"),
        ({"n_triggers": 0}, "nTriggers 0; the least is 1"),
        ({"trigger_mode": TriggerMode.EXTERNAL}, "TriggerMode EXTERNAL: FakeCamera has INTERNAL, SOFTWARE"),
        ({"rotation": 45}, "Rotation 45; allowed are 0, 90, 180 and 270 degrees"),
        ({"camera": {"Gain": 6.0}}, "Gain 6.0; the greatest is 5"),
        ({"camera": {"Mode": "odd"}}, "Mode 'odd'; possible are fast, slow"),
        ({"camera": {"Gian": 1.0}}, "no parameter is called Gian; there are Gain, Mode, Temperature"),
        ({"camera": {"Temperature": 1.0}}, "Temperature can only be read"),
    ],
)
def test_an_impossible_setting_is_refused_with_value_and_limit(
    changes: dict[str, object], sentence: str
) -> None:
    with Rig() as rig:
        with pytest.raises(Refused) as caught:
            done(rig.engine.prepare(settings(**changes)))
        assert sentence in caught.value.message
        assert rig.engine.status().state == "idle"


def test_parameters_are_kept_from_series_to_series() -> None:
    with Rig() as rig:
        assert done(rig.engine.set({"Gain": 3})).values == {"Gain": 3.0, "Mode": "fast"}
        done(rig.engine.prepare(settings(camera={"Mode": "slow"})))
        assert rig.engine.describe().values == {"Gain": 3.0, "Mode": "slow"}


def test_parameters_cannot_be_set_while_a_series_is_prepared() -> None:
    with Rig() as rig:
        done(rig.engine.prepare(settings()))
        with pytest.raises(Refused, match="Gain cannot be set while prepared"):
            done(rig.engine.set({"Gain": 2.0}))


def test_what_can_only_be_read_stands_in_the_status() -> None:
    with Rig() as rig:
        assert rig.engine.status().readings == {"Temperature": 21.5}


def test_readings_go_on_while_a_series_waits_for_its_trigger() -> None:
    clock = FakeClock()
    with Rig(clock=clock) as rig:
        rig.connect()
        rig.arm(trigger_mode=TriggerMode.SOFTWARE)
        rig.until(lambda status: status.ready_for_trigger)
        rig.camera.temperature = -5.0
        with rig.changed:
            while rig.engine.status().readings != {"Temperature": -5.0}:
                clock.advance(1.0)
                rig.changed.wait(0.1)
        assert rig.engine.status().ready_for_trigger


def test_a_reading_that_fails_ends_nothing() -> None:
    with Rig() as rig:
        rig.camera.temperature = None
        rig.connect()
        rig.arm()
        assert rig.receive_series()[2].reason == "complete"
        rig.until(lambda status: status.readings == {})


def test_a_dead_thread_of_the_engine_is_told_to_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    with Rig() as rig:
        died = Event()
        rig.engine._died = died.set
        monkeypatch.setattr("threading.excepthook", lambda args: None)
        rig.engine._sends.put(lambda: 1 / 0)  # type: ignore[arg-type,return-value]
        assert died.wait(DEADLINE)
