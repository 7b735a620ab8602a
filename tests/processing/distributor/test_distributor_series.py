"""Series of all kinds, parameters that change, results of the series as a whole, and what is refused."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.codecs import bslz4
from penstock.devices._base.processes import free_port
from penstock.processing.wire import keys
from tests.processing.distributor.pipelines import (
    NUMBER,
    SUM,
    Pipeline,
    column,
    entry,
    frames_in,
    pipeline,
    results,
    statuses,
)
from tests.processing.distributor.test_distributor_faults import has_processed, sending
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

Start = Callable[..., ReceiverProcess]
SHAPE = (4, 6)


def send(streamer: Streamer, filename: str | Path, numbers: Any, **header: Any) -> str:
    header = {"shape": SHAPE, "type": "uint16", "compression": "none"} | header
    series = streamer.start(str(filename), **header)
    for number in numbers:
        streamer.frame(number)
    return series


def first(number: int) -> int:
    return int(pixels(number, SHAPE).flat[0])


def test_a_series_without_a_planned_number_is_as_long_as_its_frames(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(150))
        sender.end(reason="complete", triggered=150, sent=150)
        series = made.over(name)
        assert series.planned is None and series.counts.frames == series.counts.done == 150
        with results(series) as file:
            assert column(file, "number").tolist() == [first(number) for number in range(150)]


def test_frames_that_an_abort_leaves_untriggered_are_absent(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(40), frames=100)
        sender.end(reason="abort", message="aborted by the user", triggered=40, sent=40)
        series = made.over(name)
        assert (series.counts.done, series.counts.absent, series.counts.frames) == (40, 60, 100)
        assert "60 frames absent" in series.reason


@pytest.mark.parametrize("frames", [0, None], ids=["planned", "unplanned"])
def test_a_series_of_no_frames_is_over_at_once(
    receiver: ReceiverProcess, sender: Streamer, frames: int | None
) -> None:
    with pipeline(SUM, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", [], frames=frames)
        sender.end(reason="complete", triggered=0, sent=0)
        assert made.over(name).counts.frames == 0


def test_frames_that_are_lost_come_late_or_twice_are_counted_once(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(SUM, receiver, workers=2) as made:
        numbers = [*range(20), *range(30, 50), 25, 40, *range(50, 60), 3]
        name = send(sender, receiver.root / "a.h5", numbers, frames=70)
        sender.end(reason="complete", triggered=70, sent=52)
        series = made.over(name)
        came = sorted(set(numbers))
        assert (series.counts.done, series.counts.absent) == (len(came), 70 - len(came))
        with results(series) as file:
            assert np.flatnonzero(statuses(file) == 1).tolist() == came
            assert np.flatnonzero(statuses(file) == 5).tolist() == sorted(set(range(70)) - set(came))
            assert column(file, "number")[came].tolist() == [first(number) for number in came]
            assert frames_in(file, "sum") == len(came)


def test_packed_frames_and_frames_of_two_channels_and_partial_ones(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            return {"shape": np.array(frame.pixels.shape), "first": int(frame.pixels.flat[0]),
                    "last": int(frame.pixels.flat[-1]), "partial": frame.partial}
    """
    with pipeline(source, receiver, workers=2) as made:
        series = sender.start(
            str(receiver.root / "a.h5"), frames=30, shape=(40, 60), type="uint16", compression="bslz4"
        )
        for number in range(30):
            image = pixels(number, (40, 60))
            sender.frame(number, image, compression="bslz4", blobs=[bslz4.compress(image)])
        sender.end(reason="complete", triggered=30, sent=30)
        with results(made.over(series)) as file:
            assert column(file, "shape").tolist() == [[40, 60]] * 30
            for number in range(30):
                assert column(file, "last")[number] == int(pixels(number, (40, 60)).flat[-1])

        series = sender.start(
            str(receiver.root / "b.h5"), frames=10, shape=(2, *SHAPE), type="uint16", compression="none",
            channels=("low", "high"),
        )  # fmt: skip
        for number in range(10):
            low, high = pixels(number, SHAPE), pixels(number + 500, SHAPE)
            keys = {"partial": "half of it is missing"} if number == 4 else {}
            sender.frame(number, np.stack([low, high]), blobs=[low.tobytes(), high.tobytes()], **keys)
        sender.end(reason="complete", triggered=10, sent=10)
        with results(made.over(series)) as file:
            assert column(file, "shape").tolist() == [[2, *SHAPE]] * 10
            assert column(file, "last").tolist() == [
                int(pixels(number + 500, SHAPE).flat[-1]) for number in range(10)
            ]
            assert np.flatnonzero(column(file, "partial")).tolist() == [4]


def test_parameters_hold_from_the_frame_that_is_said_and_none_is_mixed(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        threshold: int = 0
        regions: list = []
        def configure(self):
            if self.threshold < 0:
                raise ValueError("threshold is negative")
        def process(self, frame):
            return {"threshold": self.threshold}
    """
    with pipeline(source, receiver, workers=2, parameters={"threshold": 5}) as made:
        name = sender.start(
            str(receiver.root / "a.h5"), frames=600, shape=SHAPE, type="uint16", compression="none"
        )
        for number in range(600):
            if number == 200:
                made.wait(lambda status: status.series and status.series.counts.done >= 100)
                taken = made.change(threshold=7)
            if number == 400:
                refused = made.change(threshold=-1)
                long = made.change(regions=[0.5] * 2000)
                unknown = made.change(treshold=1)
                wrong = made.change(threshold="many")
            sender.frame(number)
        sender.end(reason="complete", triggered=600, sent=600)
        assert taken.taken and taken.version == 2 and len(taken.acknowledged) == 2
        assert not refused.taken and "threshold is negative" in next(iter(refused.refused.values()))
        assert not long.taken and "there is room for 4,096" in next(iter(long.refused.values()))
        assert "is threshold meant?" in next(iter(unknown.refused.values()))
        assert "it has to be int" in next(iter(wrong.refused.values()))
        series = made.over(name)
        assert series.counts.done == 600
        assert made.status.parameters.values == {"threshold": 7}
        with results(series) as file:
            found, versions = column(file, "threshold"), np.asarray(file["/entry/account/parameters_version"])
            assert 100 <= taken.from_frame <= 200
            assert (found[: taken.from_frame] == 5).all() and (found[taken.from_frame :] == 7).all()
            assert (versions[: taken.from_frame] == 1).all() and (versions[taken.from_frame :] == 2).all()
            assert file["/entry/process/parameters/from_frame"][:2].tolist() == [0, taken.from_frame]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("shared", [True, False], ids=["by reference", "by value"])
def test_while_2000_frames_per_second_come_every_row_has_the_parameters_that_were_said_to_hold_from_it(
    start_receiver: Start, tmp_path: Path, streamer: Streamer, shared: bool
) -> None:
    source = """
    class Mine(Processor):
        threshold: int = 0
        other: int = 0
        def configure(self):
            if self.threshold < 0:
                raise ValueError("threshold is negative")
            self.both = self.threshold * 1000 + self.other
        def process(self, frame):
            return {"threshold": self.threshold, "other": self.other, "both": self.both,
                    "number": int(frame.pixels.flat[0])}
    """
    frames, rate = 20_000, 2000
    receiver = start_receiver(forward=[entry(tmp_path, shared, queue_mb=64)])
    receiver.connected()
    with pipeline(source, receiver, workers=3, consumer="live", queue_mb=64) as made:
        taken, refused, made_at = [], 0, []
        with sending(streamer, str(receiver.root / "a.h5"), frames, rate) as name:
            made.wait(partial(has_processed, name, 100))
            while not made_at or made_at[-1] < frames * 0.9:
                number = len(taken) + 1
                changed = made.change(threshold=number, other=-number)
                assert changed.taken and changed.version == made.status.parameters.version
                taken.append(changed)
                bad = made.change(threshold=-1)  # a refused value changes nothing
                assert not bad.taken and bad.version == changed.version
                refused += 1
                goal = changed.from_frame + 400
                if goal >= frames:
                    break
                status = made.wait(partial(has_processed, name, goal))
                assert status.series is not None
                made_at.append(status.series.counts.done)
            series = made.over(name)
        assert len(taken) >= 20 and refused == len(taken)
        assert series.counts.done == frames and series.from_file == 0 and made.status.duplicates == 0
        with results(series) as file:
            rows = {key: column(file, key) for key in ("threshold", "other", "both", "number")}
            versions = np.asarray(file["/entry/account/parameters_version"])
            said = file["/entry/process/parameters/from_frame"][: len(taken) + 1].tolist()
            stored = file["/entry/process/parameters/version"][: len(taken) + 1].tolist()
        assert rows["number"].tolist() == [first(number) for number in range(frames)]
        assert (rows["other"] == -rows["threshold"]).all()
        assert (rows["both"] == rows["threshold"] * 1000 + rows["other"]).all(), "none is mixed"
        begins = [0, *(changed.from_frame for changed in taken)]
        assert said == begins and stored == [1, *(changed.version for changed in taken)]
        assert begins == sorted(begins)
        for number, (begin, end) in enumerate(itertools.pairwise([*begins, frames])):
            assert (rows["threshold"][begin:end] == number).all(), number
            assert (versions[begin:end] == stored[number]).all(), number


def test_without_a_worker_parameters_are_refused(receiver: ReceiverProcess) -> None:
    with pipeline(NUMBER, receiver) as made:
        answer = made.change(threshold=1)
        assert not answer.taken and "no worker" in next(iter(answer.refused.values()))


def test_results_of_the_series_as_a_whole_and_events_and_batches(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        batch = 8
        batch_seconds = 0.1
        def process_batch(self, frames):
            return [{"mean": Mean(frame.pixels), "n": len(frames),
                     "spots": Events(np.full(frame.index % 3, frame.index))} for frame in frames]
        def finish(self, totals):
            return {"best": float(totals["mean"].max())}
    """
    with pipeline(source, receiver, workers=2) as made:
        name = send(sender, receiver.root / "a.h5", range(100), frames=100)
        sender.end(reason="complete", triggered=100, sent=100)
        series = made.over(name)
        assert series.counts.done == 100 and series.reason == ""
        mean = np.mean([pixels(number, SHAPE) for number in range(100)], axis=0)
        with results(series) as file:
            np.testing.assert_allclose(np.squeeze(file["/entry/accumulated/mean"]), mean)
            assert float(np.squeeze(file["/entry/whole/best"])) == pytest.approx(mean.max())
            assert column(file, "n").max() == 8


def test_an_integer_of_one_worker_and_a_floating_point_number_of_another_are_one_sum(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            value = 0 if frame.index < 40 else 0.5
            return {"sum": Sum(value), "greatest": Max(value)}
    """
    with pipeline(source, receiver, workers=2, hand_over_seconds=0.05) as made:
        name = send(sender, receiver.root / "a.h5", range(40), frames=80)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 40)
        for number in range(40, 80):
            sender.frame(number)
        sender.end(reason="complete", triggered=80, sent=80)
        series = made.over(name)
        assert series.counts.done == 80, series
        with results(series) as file:
            assert float(np.squeeze(file["/entry/accumulated/sum"])) == 20.0
            assert float(np.squeeze(file["/entry/accumulated/greatest"])) == 0.5
            assert frames_in(file, "sum") == 80


def test_without_finish_a_series_is_over_although_no_worker_is_left(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline(NUMBER, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        made.wait(lambda status: status.series is not None and status.series.counts.done == 20)
        made.workers[0].kill()
        made.wait(lambda status: not status.workers)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20


def test_a_frame_whose_result_is_unlike_that_of_another_worker_fails(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    import os
    class Mine(Processor):
        def process(self, frame):
            return {"size": np.zeros(3 if frame.index < 50 else 4)}
    """
    with pipeline(source, receiver, workers=2) as made:
        name = send(sender, receiver.root / "a.h5", range(70), frames=70)
        sender.end(reason="complete", triggered=70, sent=70)
        series = made.over(name)
        assert (series.counts.done, series.counts.failed) == (50, 20)
        with results(series) as file:
            assert (statuses(file)[50:] == 2).all()


def test_frames_that_fail_since_another_workers_result_was_first_are_in_no_sum(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    import os, time
    class Mine(Processor):
        def start(self, series):
            try:
                os.close(os.open(os.environ["FIRST"], os.O_CREAT | os.O_EXCL))
                self.n = 3
            except FileExistsError:
                self.n = 4
        def process(self, frame):
            time.sleep(0.002)
            found = {"sum": Sum(frame.pixels.astype("u8"))}
            if frame.index % 5 == 0:
                found["size"] = np.zeros(self.n)
            return found
    """
    os.environ["FIRST"] = str(receiver.root / "first.txt")
    try:
        with pipeline(source, receiver, workers=2, hand_over_seconds=0.1) as made:
            name = send(sender, receiver.root / "a.h5", range(300), frames=300)
            sender.end(reason="complete", triggered=300, sent=300)
            counts = (series := made.over(name)).counts
            assert counts.failed > 0 and counts.done + counts.failed == 300
            with results(series) as file:
                done = np.flatnonzero(statuses(file) == 1)
                total = sum(pixels(int(number), SHAPE).astype("u8") for number in done)
                np.testing.assert_array_equal(np.squeeze(file["/entry/accumulated/sum"]), total)
                assert frames_in(file, "sum") == counts.done
    finally:
        del os.environ["FIRST"]


def test_after_too_many_failures_in_a_row_the_pipeline_is_in_error_until_reset(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        broken: bool = True
        def process(self, frame):
            if self.broken:
                raise ValueError("no beam")
    """
    with pipeline(source, receiver, workers=1, errors=10) as made:
        name = send(sender, receiver.root / "a.h5", range(200), frames=200)
        made.wait(lambda status: status.state == "error")
        sender.end(reason="complete", triggered=200, sent=200)
        series = made.over(name)
        assert "no beam" in made.status.error
        assert series.counts.failed >= 10 and series.counts.failed + series.counts.dropped == 200
        assert series.counts.dropped > 0
        with results(series) as file:
            assert int((statuses(file) == 4).sum()) == series.counts.dropped
        made.change(broken=False)
        made.until(made.say("reset"))
        name = send(sender, receiver.root / "b.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20 and made.status.state == "idle"


def test_a_result_file_is_not_overwritten_and_the_raw_file_is_not_touched(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    (receiver.root / "a.mine.h5").write_bytes(b"mine")
    with pipeline(NUMBER, receiver, workers=1) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        series = made.over(name)
        assert series.counts.dropped == 20 and "a.mine.h5 exists and is not overwritten" in series.reason
        assert (receiver.root / "a.mine.h5").read_bytes() == b"mine"
        assert receiver.ended(name).counts.stored == 20
        name = send(sender, receiver.root / "b.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20


def test_a_class_that_cannot_be_loaded_is_said_and_a_start_that_raises_fails_the_frames(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    with pipeline("import nothing_like_this\nclass Mine(Processor):\n    pass\n", receiver) as made:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "penstock.processing.worker.worker", made.status.address]
        )
        made.workers.append(process)
        made.wait(lambda status: "nothing_like_this" in status.waits_for)
        assert [worker.state for worker in made.status.workers] == ["refused"]
    source = """
    class Mine(Processor):
        def start(self, series):
            raise RuntimeError("no table")
        def process(self, frame):
            return None
    """
    (receiver.root / "b.mine.h5").write_bytes(b"mine")
    with pipeline(source, receiver, workers=1, errors=0, overwrite=True) as made:
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        series = made.over(name)
        assert series.counts.failed == 20 and "no table" in made.status.workers[0].last_error
        assert series.result_file == str(receiver.root / "a.mine.h5")
        name = send(sender, receiver.root / "b.h5", range(5), frames=5)
        sender.end(reason="complete", triggered=5, sent=5)
        series = made.over(name)
        assert "no table" in series.reason and "b.mine.h5 is as it was before" in series.reason
        assert series.result_file is None and (receiver.root / "b.mine.h5").read_bytes() == b"mine"


def test_the_same_on_a_file(receiver: ReceiverProcess, sender: Streamer) -> None:
    raw = receiver.root / "a.h5"
    name = send(sender, raw, [*range(30), *range(35, 50)], frames=50)
    sender.end(reason="complete", triggered=50, sent=45)
    receiver.ended(name)
    with pipeline(SUM, file=str(raw), workers=2) as made:
        series = made.over(name)
        assert (series.counts.done, series.counts.absent) == (45, 5)
        while not made.snapshot.finished:
            made.wait(lambda status: True)
            made._receive()
        with results(series) as file:
            assert frames_in(file, "sum") == 45
        assert made.quit() == 0
    with pipeline(SUM, file=str(raw)) as made:
        series = made.over(name)
        assert series.counts.done == 0 and "exists and is not overwritten" in series.reason
    with pipeline(SUM, file=str(raw), overwrite=True, workers=1) as made:
        assert made.over(name).counts.done == 45


def test_a_file_is_processed_anew_also_if_an_attempt_was_broken_off(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    raw = receiver.root / "a.h5"
    name = send(sender, raw, range(20), frames=20)
    sender.end(reason="complete", triggered=20, sent=20)
    receiver.ended(name)
    with pipeline(NUMBER, file=str(raw), workers=0) as made:
        made.wait(lambda status: status.series is not None and status.series.result_file is not None)
        assert made.quit() == 0
    with pipeline(SUM, file=str(raw), overwrite=True, workers=1) as made:
        series = made.over(name)
        assert series.counts.done == 20
        with results(series) as file:
            assert "frame.pixels.astype" in file["entry/process/step_1/data"].asstr()[()], (
                "nothing of the other class is left"
            )


def test_a_distributor_that_is_killed_before_a_frame_is_done_goes_on_with_the_new_file(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    raw, file = receiver.root / "a.h5", receiver.root / "a.mine.h5"
    name = send(sender, raw, range(20), frames=20)
    sender.end(reason="complete", triggered=20, sent=20)
    receiver.ended(name)
    with pipeline(SUM, file=str(raw), workers=0) as made:
        made.wait(lambda status: status.series is not None and status.series.result_file == str(file))
        assert made.quit() == 0
    left = file.read_bytes()
    with pipeline(SUM, file=str(raw), overwrite=True, workers=0) as made:
        for _ in range(2):
            status = made.wait(lambda status: status.series is not None and status.series.result_file)
            assert (
                status.series is not None and status.series.result_file == f"{receiver.root}/.a.mine.h5.begun"
            )
            assert file.read_bytes() == left
            made.kill()
            made.start(again=True)
        made.work(1)
        series = made.over(name)
        assert series.counts.done == 20 and series.result_file == str(file)


def test_a_series_that_an_earlier_pipeline_has_finished_is_shown_as_it_ended(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    name = send(sender, receiver.root / "a.h5", [*range(15), *range(17, 20)], frames=20)
    sender.end(reason="complete", triggered=20, sent=18)
    receiver.ended(name)
    shown = []
    for _ in range(2):
        with pipeline(SUM, receiver, workers=1) as made:
            shown.append(made.over(name))
            assert made.quit() == 0
    first, second = shown
    assert (first.counts.done, first.counts.absent) == (18, 2)
    assert (second.counts, second.result_file) == (first.counts, first.result_file)
    assert "2 frames absent" in second.reason


def test_source_text_goes_to_other_machines_only_with_a_key(
    receiver: ReceiverProcess, sender: Streamer, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    keys.make(key)
    command = [sys.executable, "-P", "-m", "penstock.processing.worker.worker"]
    with pipeline(NUMBER, receiver, listen="tcp://0.0.0.0:*") as made:
        address = made.status.listen.replace("0.0.0.0", "127.0.0.1")
        said = subprocess.run([*command, address], capture_output=True, text=True, timeout=60)
        assert said.returncode == 1 and "give pipeline and worker a key" in said.stderr
    with pipeline(NUMBER, receiver, listen="tcp://0.0.0.0:*", key=str(key)) as made:
        address = made.status.listen.replace("0.0.0.0", "127.0.0.1")
        without = subprocess.Popen([*command, address])
        made.workers.append(without)
        made.wait(lambda status: status.refused_connections > 0)
        without.kill()
        made.work(1, address, "far", str(key))
        name = send(sender, receiver.root / "a.h5", range(20), frames=20)
        sender.end(reason="complete", triggered=20, sent=20)
        assert made.over(name).counts.done == 20
        assert [worker.name for worker in made.status.workers] == ["far"]


def test_a_worker_that_takes_too_long_is_given_up(receiver: ReceiverProcess, sender: Streamer) -> None:
    source = """
    import os, threading
    class Mine(Processor):
        def process(self, frame):
            if frame.index == 5 and not os.path.exists(os.environ["HANGS"]):
                open(os.environ["HANGS"], "w").close()
                threading.Event().wait()
            return {"number": int(frame.pixels.flat[0])}
    """
    os.environ["HANGS"] = str(receiver.root / "hangs.txt")
    try:
        with pipeline(source, receiver, workers=2, frame_seconds=0.5) as made:
            name = send(sender, receiver.root / "a.h5", range(20), frames=20)
            sender.end(reason="complete", triggered=20, sent=20)
            series = made.over(name)
            assert series.counts.done == 20 and made.status.deaths == 1
    finally:
        del os.environ["HANGS"]


def test_one_worker_gets_the_frames_in_their_order_if_it_counts(
    receiver: ReceiverProcess, sender: Streamer
) -> None:
    source = """
    class Mine(Processor):
        ordered = True
        def start(self, series):
            self.before = -1
        def process(self, frame):
            result = {"before": self.before}
            self.before = frame.index
            return result
    """
    with pipeline(source, receiver, workers=3) as made:
        name = send(sender, receiver.root / "a.h5", range(200), frames=200)
        sender.end(reason="complete", triggered=200, sent=200)
        series = made.over(name)
        with results(series) as file:
            assert column(file, "before").tolist() == list(range(-1, 199))
        assert sorted(worker.frames for worker in made.status.workers) == [0, 0, 200]


def test_a_second_pipeline_on_one_entry_is_refused_with_the_first_ones_process(
    receiver: ReceiverProcess,
) -> None:
    with pipeline(NUMBER, receiver) as made:
        second = Pipeline(NUMBER, receiver, consumer="live")
        try:
            second.wait(lambda status: status.state == "error")
            assert f"held by process {made.distributor.pid} on" in second.status.error
        finally:
            second.close()


def test_frames_of_joined_modules_are_processed_as_one_and_partial_where_one_is_missing(
    tmp_path: Path,
) -> None:
    source = """
    class Mine(Processor):
        def process(self, frame):
            return {"shape": np.array(frame.pixels.shape), "partial": frame.partial}
    """
    first_port = free_port(2)
    endpoints = [f"tcp://127.0.0.1:{first_port + number}" for number in range(2)]
    receiver = ReceiverProcess(
        tmp_path, endpoints[0], {"endpoints": endpoints, "join": "modules"}, forward=[entry(tmp_path)]
    )
    try:
        with pipeline(source, receiver, workers=2) as made:
            subprocess.run(
                ["penstock", "generate", "--endpoint", endpoints[0], "--streams", "2", "--frames", "40",
                 "--shape", "6,10", "--filename", str(receiver.root / "a.h5"), "--drop", "7,9",
                 "--faults-in", "1", "--json"],
                check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            status = made.wait(lambda status: status.series is not None and not status.series.active)
            assert status.series is not None and status.series.counts.done == 40
            with results(status.series) as file:
                assert np.flatnonzero(column(file, "partial")).tolist() == [7, 9]
                assert len(set(map(tuple, column(file, "shape").tolist()))) == 1
    finally:
        receiver.close()
