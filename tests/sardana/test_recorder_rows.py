"""The recorder, fed by Sardana's own records: what is missing, foreign or cannot be linked costs no scan.

The channel is a Tango device that answers what a channel of PenstockDetector answers.
"""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import silx.io
import silx.io.nxdata
from sardana.macroserver.msexception import AbortException
from sardana.macroserver.scan.recorder import DataHandler
from sardana.macroserver.scan.scandata import ColumnDesc, ScanData
from sardana.util.thread import raise_in_thread
from tango.server import Device, attribute, device_property
from tango.test_context import DeviceTestContext
from taurus.core.util.log import Logger

from penstock.sardana.recorders.penstock_recorder import PenstockRecorder
from penstock.sardana.reference import Reference
from tests.third_party import read_by_older_hdf5

DATASET = "entry/instrument/sim/data"
NAN = float("nan")


class Channel(Device):
    """Of frames of 2 × 3 int32."""

    @attribute(dtype=str)
    def FrameShape(self) -> str:
        return "[2, 3]"

    @attribute(dtype=str)
    def FrameType(self) -> str:
        return "int32"


@pytest.fixture(scope="module")
def channel() -> Iterator[str]:
    """Full name of the channel."""
    context = DeviceTestContext(Channel, process=True)
    with context:
        yield context.get_device_access()


class SlowChannel(Channel):
    """Of a Pool that has much to do: it says that it was asked, and answers when it is told to."""

    folder = device_property(dtype=str)

    @attribute(dtype=str)
    def FrameType(self) -> str:
        Path(self.folder, "asked").touch()
        wait_for(Path(self.folder, "answer"))
        return "int32"


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 10.0
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.005)


class Macro(Logger):
    """What is said at the Door."""

    def __init__(self) -> None:
        self.call__init__(Logger, "macro")
        self.said: list[str] = []
        handler = logging.Handler(logging.WARNING)
        handler.emit = lambda record: self.said.append(record.getMessage())  # type: ignore[method-assign]
        self.addLogHandler(handler)


def column(name: str, label: str, **more: Any) -> ColumnDesc:
    return ColumnDesc(name=name, label=label, **more)


def reference(index: int, file: Path) -> str:
    return Reference(str(file), DATASET, index).text


def write_frames(file: Path, count: int) -> None:
    """Frame n is full of n + 1."""
    with h5py.File(file, "w") as root:
        data = np.arange(1, count + 1, dtype=np.int32)[:, None, None] * np.ones((2, 3), np.int32)
        root.create_dataset(DATASET, data=data, maxshape=(None, 2, 3), chunks=(1, 2, 3), fillvalue=-1)
        status = np.ones(count, np.uint8)
        root.create_dataset("entry/instrument/sim/frame_status", data=status, maxshape=(None,), chunks=(64,))


def record(
    file: Path, records: Sequence[dict[str, Any]], columns: Sequence[ColumnDesc], serial: int = 1
) -> list[str]:
    """One scan, as a scan of Sardana drives its recorder; returns what the macro was warned of."""
    macro = Macro()
    handler = DataHandler()
    handler.addRecorder(PenstockRecorder(str(file), macro=macro))
    now = datetime.now()
    scan = ScanData(
        {
            "serialno": serial, "title": "ascan", "user": "astrid", "starttime": now, "scanstarttime": now,
            "endtime": now, "ref_moveables": ["mot01"], "counters": [one.name for one in columns],
            "datadesc": [
                column("point_nb", "#Pt No", dtype="int64"), column("mot01", "mot01"), *columns,
                column("timestamp", "dt"),
            ],
        },
        handler,
    )  # fmt: skip
    scan.start()
    for number, values in enumerate(records):
        scan.addRecord({"point_nb": number, "mot01": number / 2, "timestamp": 0.1 * number, **values})
    scan.end()
    return macro.said


def image(channel: str, **more: Any) -> ColumnDesc:
    return column(channel, "sim", shape=[2, 3], dtype="int32", value_ref_enabled=True, **more)


def test_points_without_a_reference_read_as_missing_also_the_last_ones(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 3)
    values = [NAN, reference(0, source), NAN, reference(2, source), reference(3, source), NAN, NAN]
    said = record(tmp_path / "scan.h5", [{channel: value} for value in values], [image(channel)])
    assert said == []
    with h5py.File(tmp_path / "scan.h5") as root:
        entry = root["entry1"]
        images = entry["measurement/sim"]
        assert images.shape == (7, 2, 3)
        assert images.dtype == np.int32
        assert images[:, 1, 2].tolist() == [-1, 1, -1, 3, -1, -1, -1]
        assert entry["measurement/sim_status"][:].tolist() == [0, 1, 0, 1, 0, 0, 0]
        texts = entry["measurement/_sim"].asstr()[:].tolist()
        assert texts == ["" if value != value else value for value in values]
        assert entry["end_time"].asstr()[()]


def test_a_scan_without_any_reference_is_as_sardana_leaves_it(tmp_path: Path, channel: str) -> None:
    said = record(tmp_path / "scan.h5", [{channel: NAN}, {channel: NAN}], [image(channel)])
    assert said == []
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["entry1/measurement/sim"].shape == (0,)
        assert root["entry1/measurement/mot01"].shape == (2,)


def test_a_scan_without_a_point_is_no_default(tmp_path: Path, channel: str) -> None:
    counter = column("ct", "ct01")
    record(tmp_path / "scan.h5", [{"ct": 1.0}], [counter], serial=1)
    assert record(tmp_path / "scan.h5", [], [counter, image(channel)], serial=2) == []
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root.attrs["default"] == "entry1"
        assert "end_time" in root["entry2"]


def test_a_channel_that_does_not_answer_costs_the_images_and_not_the_scan(tmp_path: Path) -> None:
    source = tmp_path / "a.h5"
    gone = "tango://127.0.0.1:1/expchan/simctrl/1#dbase=no"
    texts = [reference(0, source), reference(1, source)]
    said = record(
        tmp_path / "scan.h5", [{gone: text, "ct": 1.0} for text in texts], [image(gone), column("ct", "ct01")]
    )
    (warning,) = said
    assert warning.startswith(f"sim: its frames are not linked in {tmp_path / 'scan.h5'} (")
    assert "measurement/sim has the references as text, with the files" in warning
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["entry1/measurement/sim"].asstr()[:].tolist() == texts
        assert "_sim" not in root["entry1/measurement"]
        assert root["entry1"].attrs["default"] == "counters"
        assert "end_time" in root["entry1"]


def test_a_channel_called_like_the_status_is_not_overwritten(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    said = record(
        tmp_path / "scan.h5", [{channel: reference(0, source), "s": 7.0}],
        [image(channel), column("s", "sim_status")],
    )  # fmt: skip
    assert "sim_status already" in said[0]
    with h5py.File(tmp_path / "scan.h5") as root:
        assert "files_sim" not in root["entry1"]
        assert root["entry1/measurement/sim_status"][:].tolist() == [7.0]
        assert root["entry1/measurement/sim"].asstr()[0] == reference(0, source)


@pytest.mark.slow
def test_older_hdf5_reads_the_scan_file(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 3)
    values = [reference(2, source), NAN, reference(0, source)]
    assert record(tmp_path / "scan.h5", [{channel: value} for value in values], [image(channel)]) == []
    read_by_older_hdf5(tmp_path / "scan.h5", source)


def test_viewers_are_told_that_frames_are_images(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 2)
    shown = image(channel, plot_type=2, plot_axes=["<idx>", "<idx>"])
    record(tmp_path / "scan.h5", [{channel: reference(number, source)} for number in (0, 1)], [shown])
    with h5py.File(tmp_path / "scan.h5") as root:
        entry = root["entry1"]
        for frames in ("measurement/sim", "images_sim/sim", "files_sim/file_1"):
            assert entry[frames].attrs["interpretation"] == "image", frames
    with silx.io.open(str(tmp_path / "scan.h5")) as opened:
        found = silx.io.nxdata.get_default(opened)
        assert (found.signal_name, found.is_image, found.interpretation) == (
            "sim",
            True,
            "image",
        )


def test_references_of_another_form_in_between_are_told(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 1)
    records = [{channel: reference(0, source)}, {channel: "h5file:///other.h5"}]
    said = record(tmp_path / "scan.h5", records, [image(channel)])
    assert said == ["sim: 1 references have another form and read as missing; see _sim"]
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["entry1/measurement/sim_status"][:].tolist() == [1, 0]


def test_the_group_of_the_instrument_has_the_images_too(tmp_path: Path, channel: str) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 2)
    instrument = image(channel, instrument="/station/camera")
    record(tmp_path / "scan.h5", [{channel: reference(1, source)}], [instrument])
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["entry1/station/camera/sim"][0, 0, 0] == 2


def test_plots_by_plot_type_are_those_of_today(tmp_path: Path) -> None:
    counters = [
        column("ct", "ct01", plot_type=1, plot_axes=["mot01"]),
        column("ct2", "ct02", plot_type=1, plot_axes=["mot01"]),
    ]
    record(tmp_path / "scan.h5", [{"ct": 1.0, "ct2": 2.0}] * 3, counters)
    with h5py.File(tmp_path / "scan.h5") as root:
        plot = root["entry1/plot_1"]
        assert (plot.attrs["signal"], list(plot.attrs["axes"])) == ("ct01", ["mot01"])
        assert list(plot.attrs["auxiliary_signals"]) == ["ct02"]
        assert not plot["ct01"].attrs.keys() & {"signal", "axes", "interpretation"}


def test_an_abort_while_the_scan_is_linked_ends_the_macro_and_not_the_file(tmp_path: Path) -> None:
    source = tmp_path / "a.h5"
    write_frames(source, 2)
    context = DeviceTestContext(SlowChannel, process=True, properties={"folder": str(tmp_path)})
    raised: list[type[BaseException]] = []

    def macro() -> None:
        name = context.get_device_access()
        try:
            record(tmp_path / "scan.h5", [{name: reference(1, source)}], [image(name)])
        except AbortException as error:
            raised.append(type(error))

    with context:
        thread = threading.Thread(target=macro)
        thread.start()
        wait_for(tmp_path / "asked")
        raise_in_thread(AbortException, thread)  # as AbortMacro does
        (tmp_path / "answer").touch()
        thread.join()
    assert raised == [AbortException]
    with h5py.File(tmp_path / "scan.h5") as root:
        assert root["entry1/measurement/sim"][:, 0, 0].tolist() == [2]
        assert "end_time" in root["entry1"]


def test_units_are_written_where_they_are_known(tmp_path: Path) -> None:
    record(tmp_path / "scan.h5", [{"ct": 1.0}], [column("ct", "ct01", data_units="A")])
    with h5py.File(tmp_path / "scan.h5") as root:
        measurement = root["entry1/measurement"]
        assert (measurement["dt"].attrs["units"], measurement["ct01"].attrs["units"]) == ("s", "A")


def test_a_file_that_another_program_locks_ends_the_scan_before_it_begins(tmp_path: Path) -> None:
    file, counter = tmp_path / "scan.h5", column("ct", "ct01")
    record(file, [{"ct": 1.0}], [counter])
    with (
        reading(file, locking=True),
        pytest.raises(OSError, match="is open in another program that locks it"),
    ):
        record(file, [{"ct": 1.0}], [counter], serial=2)
    with reading(file, locking=False):
        assert record(file, [{"ct": 1.0}], [counter], serial=2) == []


@contextmanager
def reading(file: Path, *, locking: bool) -> Iterator[None]:
    """A program that has the file open."""
    script = (
        f"import h5py; file = h5py.File({str(file)!r}, locking={locking}); print('open', flush=True); input()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        yield
        program.communicate("\n", timeout=20)
