"""Files that a light streamer finds: which of them are sent, waited for, lost, or left alone."""

from __future__ import annotations

import signal
from pathlib import Path

import numpy as np
import pytest

from penstock.codecs import cbf
from penstock.stins.messages import Frame, SeriesEnd
from penstock.streamer.remote.request_client import StreamerRefused
from tests.receiver.disks import small_file_system
from tests.streamer.light_rig import LARGE, LARGE_IMAGE, Light, cbf_file, pixels
from tests.streamer.rig import DEADLINE


def test_files_of_an_earlier_series_are_removed_and_not_sent(light: Light) -> None:
    light.write("penstock-old_00007.cbf", cbf_file(pixels(7)))
    light.write("somebody_00000.cbf", cbf_file(pixels(0)))

    prefix = light.begin(planned=1)
    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=1)

    _, frames, _ = light.receive_series()
    assert len(frames) == 1
    assert light.ended().left_over == 1
    assert light.files() == ["somebody_00000.cbf"]


def test_files_with_other_names_are_left_alone(light: Light) -> None:
    prefix = light.begin(planned=1)
    others = [f"{prefix}{rest}" for rest in ("_00000.tif", "_x.cbf", "-b_00000.cbf")] + ["00000.cbf"]

    for name in others:
        light.write(name, cbf_file(pixels(0)))
    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=1)

    _, frames, end = light.receive_series()
    assert (len(frames), end.lost) == (1, None)
    light.ended()
    assert light.files() == sorted(others)


def test_a_file_that_is_written_in_pieces_is_sent_once_it_is_complete(light: Light) -> None:
    content, prefix = cbf_file(pixels(0)), light.begin(planned=1)
    file = light.folder / f"{prefix}_00000.cbf"

    file.write_bytes(content[:300])
    light.until(lambda status: status.acquired == status.waiting == 1)
    with file.open("ab") as opened:
        opened.write(content[300:1200])
    assert light.client.status().sent == 0
    with file.open("ab") as opened:
        opened.write(content[1200:])
    light.client.finish("s1", triggered=1)

    _, (frame,), end = light.receive_series()
    np.testing.assert_array_equal(cbf.decode(frame.blobs[0], pixels(0).size), pixels(0).ravel())
    assert end.lost is None


@pytest.mark.slow
def test_files_that_never_become_complete_are_lost_and_removed(light: Light) -> None:
    content, prefix = cbf_file(pixels(0)), light.begin(planned=6)
    broken = [b"", content[:100], content[:1500], b"no CBF" * 1000]

    for number, each in enumerate(broken):
        light.write(f"{prefix}_{number:05d}.cbf", each)
    (light.folder / f"{prefix}_00004.cbf").symlink_to("nowhere")  # like one that somebody has removed
    (light.folder / ".link").symlink_to("nowhere")
    (light.folder / ".link").rename(light.folder / f"{prefix}_00004.cbf")
    light.write_frames(prefix, 5)
    light.client.finish("s1", triggered=6)

    _, frames, end = light.receive_series()
    assert [frame.image.frame for frame in frames] == [5]
    assert (end.triggered, end.sent, end.lost) == (6, 1, {"incomplete": 5})
    light.ended()
    assert light.files() == []
    assert "is the RAM disk full?" in light.terminate()


@pytest.mark.parametrize("shape", [[50, 40], [40, 51], [1, 2000]], ids=["exchanged", "larger", "one row"])
def test_files_of_other_rows_and_columns_than_announced_end_the_series_as_a_fault(
    light: Light, shape: list[int]
) -> None:
    image = {"shape": shape, "type": "int32"}
    prefix = light.begin(planned=2, image=image, header={**image, "filename": "", "compression": "cbf"})
    light.write_frames(prefix, 0)
    _, frames, end = light.receive_series()
    rows, columns = shape
    said = f"{prefix}_00000.cbf has 40 rows and 50 columns, {rows} and {columns} were announced"
    assert (frames, end.reason, end.message) == ([], "fault", said)
    light.until(lambda status: status.state == "fault")
    light.client.reset()
    prefix = light.begin(planned=1, series="s2")
    light.write_frames(prefix, 0)
    light.client.finish("s2", triggered=1)
    assert len(light.receive_series()[1]) == 1


@pytest.mark.parametrize("shape", [[40], [40, 50, 3], "40x50", [40, "50"], [40, True]])
def test_a_shape_that_is_none_is_refused(light: Light, shape: object) -> None:
    with pytest.raises(StreamerRefused, match=r"shape is .*, not \[rows, columns\]"):
        light.begin(image={"shape": shape, "type": "int32"})


def test_files_beyond_the_plan_are_counted_and_removed(light: Light) -> None:
    prefix = light.begin(planned=2, first=1)

    light.write_frames(prefix, 0, 1, 2, 3)
    light.client.finish("s1", triggered=4)

    _, frames, end = light.receive_series()
    assert [frame.image.frame for frame in frames] == [0, 1]
    assert (end.triggered, end.sent, end.lost) == (2, 2, None)
    assert light.ended().beyond_plan == 2
    assert light.files() == []


def test_frames_of_which_no_file_comes_are_lost(light: Light) -> None:
    prefix = light.begin(planned=4)

    light.write_frames(prefix, 0, 2)
    light.client.finish("s1", triggered=4)

    _, frames, end = light.receive_series()
    assert (len(frames), end.triggered, end.sent, end.lost) == (2, 4, 2, {"camera": 2})


def test_a_file_that_comes_shortly_after_finish_is_waited_for(light: Light) -> None:
    prefix = light.begin(planned=2)

    light.write_frames(prefix, 0)
    light.client.finish("s1", triggered=2)
    light.receive()
    light.receive()  # the first frame: the series is ending, and waits
    light.write_frames(prefix, 1)

    assert isinstance(light.receive(), Frame)
    end = light.receive()
    assert isinstance(end, SeriesEnd) and end.lost is None


def test_files_whose_events_were_lost_are_found(light: Light) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip(f"inotify keeps {most} events here: too many to make it lose some")
    prefix = light.begin(planned=3)
    names = [light.folder / "a", light.folder / "b"]
    names[0].touch()

    light.process.send_signal(signal.SIGSTOP)
    for number in range(most + 10):
        names[number % 2].rename(names[1 - number % 2])
    light.write_frames(prefix, 0, 1, 2)
    light.process.send_signal(signal.SIGCONT)
    light.until(lambda status: status.acquired == 3)
    light.client.finish("s1", triggered=3)

    _, frames, _ = light.receive_series()
    assert len(frames) == 3
    assert "inotify lost events" in light.terminate()


@pytest.mark.slow
def test_a_full_ram_disk_costs_the_frames_that_do_not_fit(python: str, tmp_path: Path) -> None:
    content = cbf_file(np.random.default_rng(1).poisson(1000, LARGE).astype("int32"))
    with small_file_system(tmp_path / "ramdisk", 1) as disk, Light(python, disk) as light:
        prefix = light.begin(planned=20, image=LARGE_IMAGE)
        light.receive()
        light.disconnect()  # so nothing leaves the disk, however fast it is filled
        written = 0
        for number in range(20):
            try:
                (disk / f"{prefix}_{number:05d}.cbf").write_bytes(content)
                written += 1
            except OSError:
                pass  # camserver leaves what did fit
        assert 0 < written < 20
        status = light.client.status()
        assert status.free_bytes < len(content) and status.total_bytes == 2**20

        light.connect()
        light.client.finish("s1", triggered=20)
        frames, end = [], light.receive()
        while isinstance(end, Frame):
            frames.append(end)
            end = light.receive()

        assert isinstance(end, SeriesEnd) and end.lost is not None
        assert (len(frames), end.sent + sum(end.lost.values())) == (end.sent, 20)
        assert written <= end.sent and set(end.lost) <= {"incomplete", "camera"}
        light.ended()
        assert light.files() == []


def test_a_folder_that_is_removed_ends_the_series_and_the_process(light: Light) -> None:
    light.begin()

    light.folder.rename(light.folder.with_name("elsewhere"))

    _, _, end = light.receive_series()
    assert end.reason == "fault" and end.message is not None
    assert end.message.endswith("ramdisk is gone")
    assert light.process.wait(DEADLINE) == 1
