"""One conformance suite for every detector that streams by itself: a subclass says how its box is reached.

Its hooks are in `streaming_hooks`; further tests of it are in `streaming_mondays`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest

from penstock.stins.messages import Frame, SeriesEnd, Start
from penstock.stins.user_part import UserPart
from penstock.streamer.camera.own_stream import BoxLost, StreamingDetector
from penstock.streamer.camera.settings import TriggerMode
from penstock.streamer.camera.unit import CameraError
from penstock.streamer.own_stream import watcher
from tests.contract.streaming_mondays import StreamingMondays
from tests.streamer.own_stream.rig import Rig, done
from tests.streamer.rig import settings

GATED = TriggerMode.EXTERNAL_MULTI_GATE
LONG = 30.0
"""Exposure that no test waits for, in seconds."""


class StreamingContract(StreamingMondays):
    """What engine and receiver rely on. A subclass opens a unit whose box runs, and reaches behind it."""

    # Series

    def test_a_series_bears_the_id_of_its_arming_and_has_every_frame(
        self, rig: Rig, mode: TriggerMode
    ) -> None:
        series = self.take(rig, mode, 3)
        start, frames, end = rig.series()
        assert (start.header.series, start.header.filename) == (series, "/data/x.h5")
        assert [frame.image.frame for frame in frames] == [0, 1, 2]
        assert {frame.image.series for frame in frames} == {series} == {end.series}
        assert start.header.frames == 3
        rig.until(lambda status: status.state == "idle" and status.end_sent)

    def test_frames_are_as_prepare_has_said(self, rig: Rig) -> None:
        prepared = rig.arm(self.exposure, n_triggers=2)
        start, frames, _ = rig.series()
        assert start.header.index_source == prepared.index_source
        for frame in frames:
            self.check_blobs(frame)
            image = frame.image
            assert (image.shape, image.type, image.compression) == (
                tuple(prepared.shape), prepared.dtype, prepared.compression
            )  # fmt: skip
            assert sum(map(len, frame.blobs)) <= prepared.frame_bytes

    def test_metadata_and_plan_are_those_of_the_arming(self, rig: Rig) -> None:
        rig.arm(self.exposure, n_triggers=2, metadata='{"sample": "lysozyme"}', distance=0.25)
        start = rig.series()[0]
        header = start.header
        assert (header.frames, header.trigger_mode) == (2, "INTERNAL"), "the plan is in the user part"
        found = dict(start.metadata or {})
        assert found.get("user") == {"sample": "lysozyme"}, "arm has to pass on user.metadata"
        assert found.get("distance") == 0.25, "arm has to pass on user.metadata"

    def test_frames_are_at_least_exposure_and_latency_apart(self, rig: Rig) -> None:
        """A busy computer only makes it longer."""
        begun = time.monotonic()
        rig.arm(self.exposure, latency_time=self.latency, n_triggers=4)
        start, frames, _ = rig.series()
        took = time.monotonic() - begun
        assert len(frames) == 4
        period = self.exposure + self.latency
        assert start.header.frame_time is None or start.header.frame_time >= 0.95 * period
        assert took >= 0.95 * 3 * period, "frames follow each other faster than LatencyTime allows"

    def test_bursts(self, rig: Rig) -> None:
        rig.arm(self.exposure, trigger_mode=TriggerMode.SOFTWARE, n_triggers=2, n_frames_per_trigger=3)
        self.trigger(rig, TriggerMode.SOFTWARE, 2)
        assert [frame.image.frame for frame in rig.series()[1]] == list(range(6))

    def test_series_after_series(self, rig: Rig, mode: TriggerMode) -> None:
        ids = set()
        for frames in (1, 4, 2):
            ids.add(self.take(rig, mode, frames))
            assert [frame.image.frame for frame in rig.series()[1]] == list(range(frames))
            rig.until_state("idle")
        assert len(ids) == 3

    def test_nothing_is_sent_before_its_trigger(self, rig: Rig, waiting_mode: TriggerMode) -> None:
        rig.arm(self.exposure, trigger_mode=waiting_mode, n_triggers=2)
        if self.detector.sends_start:
            assert isinstance(rig.receive(), Start)
        assert not rig._pull.poll(int(3000 * self.exposure))
        self.trigger(rig, waiting_mode, 2)
        if not self.detector.sends_start:
            assert isinstance(rig.receive(), Start)
        assert [rig.receive().image.frame for _ in range(2)] == [0, 1]  # type: ignore[union-attr]

    # Ends

    @pytest.mark.parametrize("how", ["stop", "abort"])
    def test_it_ends_while_it_waits_and_the_next_series_is_whole(
        self, rig: Rig, waiting_mode: TriggerMode, how: str
    ) -> None:
        rig.arm(self.exposure, trigger_mode=waiting_mode)
        done(getattr(rig.engine, how)())
        rig.until_state("idle")
        self.no_frames(rig)
        self.take(rig, waiting_mode, 2)
        assert [frame.image.frame for frame in rig.series()[1]] == [0, 1]

    def test_abort_gives_up_a_long_exposure(self, rig: Rig, mode: TriggerMode) -> None:
        if mode is GATED:
            pytest.skip("the gate, not ExposureTime, says how long it is")
        rig.arm(LONG, trigger_mode=mode)
        self.trigger(rig, mode, 1)
        done(rig.engine.abort())
        rig.until_state("idle")
        self.no_frames(rig)

    def test_stop_finishes_the_frame_that_runs(self, rig: Rig) -> None:
        more = 0
        for _ in range(5):  # on a busy machine Stop may come before the second frame has begun
            rig.arm(self.frame_that_runs, trigger_mode=TriggerMode.INTERNAL, n_triggers=20)
            while not isinstance(rig.receive(), Frame):
                pass
            done(rig.engine.stop())
            message, more = rig.receive(), 0
            while isinstance(message, Frame):
                message, more = rig.receive(), more + 1
            assert isinstance(message, SeriesEnd) and more <= 1
            rig.until_state("idle")
            if more:
                break
        assert more == 1

    def test_a_counter_of_frames_counts(self, rig: Rig) -> None:
        self.take(rig, TriggerMode.INTERNAL, 3)
        status = rig.until(lambda status: status.state == "idle" and status.end_sent)
        assert status.acquired == 3 or (status.acquired is None and not self.detector.counts_frames)

    # Settings

    def test_what_another_client_has_set_is_shown_once_it_is_read_again(self, rig: Rig) -> None:
        name, value = self.slow_setting
        self.set_by_somebody_else(rig.unit, name, value)
        done(rig.engine.reset())
        assert rig.engine.describe().values[name] == pytest.approx(value)

    def test_the_dead_time_is_the_boxs(self, unit: StreamingDetector) -> None:
        assert unit.readout_time() == pytest.approx(self.readout)

    def test_what_the_box_has_is_shown_and_what_is_set_is_read_back(self, rig: Rig) -> None:
        name, value = self.slow_setting
        before = rig.engine.describe().values
        assert before[name] != value
        after = done(rig.engine.set({name: value})).values
        assert after[name] == pytest.approx(value)
        rig.until_state("idle")

    def test_an_exposure_that_the_box_rounds_is_shown_as_the_box_has_it(self, rig: Rig) -> None:
        if self.rounded is None:
            pytest.skip("the box rounds no exposure")
        asked, made = self.rounded
        assert rig.prepare(asked).values["ExposureTime"] == pytest.approx(made, rel=1e-9)

    def test_a_second_control_finds_the_settings_of_the_first(self, rig: Rig) -> None:
        name, value = self.slow_setting
        done(rig.engine.set({name: value}))
        done(rig.engine.reset())
        assert name in rig.engine.describe().values

    def test_what_can_only_be_read_is_read(self, rig: Rig) -> None:
        wanted = {parameter.name for parameter in self.detector.parameters if not parameter.writable}
        status = rig.until(lambda status: bool(status.readings) or not wanted)
        assert set(status.readings) <= wanted

    # Whom it belongs to

    def test_a_series_of_somebody_else_bears_no_name_of_ours(self, rig: Rig) -> None:
        self.take(rig, TriggerMode.INTERNAL, 2)
        ours = rig.series()[0].header
        rig.until_state("idle")
        self.arm_by_somebody_else(rig.unit)
        if self.others_are_streamed:
            theirs = rig.receive()
            assert isinstance(theirs, Start)
            assert not theirs.header.filename and theirs.header.series != ours.series
        assert "somebody else" in rig.until_state("fault").message
        done(rig.engine.reset())
        rig.until_state("idle")

    def test_a_box_found_armed_is_left_alone_until_reset(self) -> None:
        with self.open() as unit:
            unit.connect()
            self.arm_by_somebody_else(unit)
            rig = Rig(unit, self.source)
            try:
                assert "armed by somebody else; Reset disarms it" in rig.until_state("fault").message
                done(rig.engine.reset())
                rig.until_state("idle")
            finally:
                rig.close()

    def test_the_user_part_is_gone_after_an_arming_that_failed(self, rig: Rig) -> None:
        rig.unit.prepare(settings(exposure_time=self.exposure, camera=dict(rig.unit.values())))
        self.arm_by_somebody_else(rig.unit)
        if self.others_are_streamed:
            assert isinstance(rig.receive(), Start)
        ours = UserPart(arm="0123456789abcdef", filename="/data/x.h5")
        with pytest.raises(CameraError):  # it is armed already
            rig.unit.arm(ours)
        if not self.others_are_streamed:
            assert not rig._pull.poll(int(3000 * self.exposure))  # nobody has got ours
            return
        rig.unit.abort()
        self.arm_by_somebody_else(rig.unit)
        while not isinstance(theirs := rig.receive(), Start):
            pass
        assert not theirs.header.filename and theirs.header.series != ours.arm

    # Faults

    def test_a_unit_is_made_without_its_network(self, monkeypatch: pytest.MonkeyPatch) -> None:
        reached: list[object] = []

        def connect(made: socket.socket, address: object) -> None:
            if made.type is socket.SOCK_STREAM:
                reached.append(address)

        with self.open() as unit:
            self.power(unit, on=False)
            monkeypatch.setattr(socket.socket, "connect", connect)
            self.build().close()
            unit.close()
        assert reached == []

    def test_a_box_that_is_off_is_lost_whatever_is_asked_of_it(self, unit: StreamingDetector) -> None:
        name, value = self.slow_setting
        wanted = settings(exposure_time=self.exposure, camera=dict(unit.values()))
        unit.prepare(wanted)
        self.power(unit, on=False)
        calls: tuple[Callable[[], object], ...] = (
            unit.connect, unit.progress, unit.reset, lambda: unit.apply({name: value}),
            lambda: unit.prepare(wanted), lambda: unit.arm(UserPart(arm="0123456789abcdef", filename="")),
        )  # fmt: skip
        for call in calls:
            with pytest.raises(BoxLost):
                call()

    @pytest.mark.parametrize("moment", ["idle", "armed", "exposing"])
    def test_a_box_that_is_switched_off_is_a_fault_that_reset_leaves(
        self, rig: Rig, moment: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(watcher, "SILENT_FOR", 0.5)
        if moment == "armed":
            rig.arm(self.exposure, trigger_mode=TriggerMode.SOFTWARE)
            if self.detector.sends_start:
                rig.receive()
        elif moment == "exposing":
            rig.arm(self.exposure, n_triggers=10_000)
            while not isinstance(rig.receive(), Frame):
                pass
        self.power(rig.unit, on=False)
        rig.until_state("fault")
        self.power(rig.unit, on=True)
        rig.until(lambda status: not rig.engine._busy)
        done(rig.engine.reset())
        rig.until_state("idle")
        self.take(rig, TriggerMode.INTERNAL, 2)
        assert len(rig.series()[1]) == 2

    def test_a_box_that_is_off_at_the_start_is_found_later(self) -> None:
        with self.open() as unit:
            self.power(unit, on=False)
            rig = Rig(unit, self.source)
            try:
                rig.until_state("fault")
                self.power(unit, on=True)
                rig.until(lambda status: not rig.engine._busy)
                done(rig.engine.reset())
                rig.until_state("idle")
            finally:
                rig.close()
