"""The model over a real device: events, commands, and everything that can be restarted."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest
import tango

from penstock.gui.model.actions import Action
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.files.next_file import FileName
from penstock.gui.model.tango import errors
from penstock.gui.model.tango.device import DeviceRefused
from penstock.gui.model.tango.link import TangoDevice
from penstock.gui.model.texts.sentences import message
from penstock.gui.model.view import DetectorView, Presence
from tests.system.beamline import Beamline, Station, until

RECEIVER_CONFIG: dict[str, object] = {}
"""A detector for this file alone."""

Follow = Callable[..., DetectorModel]


@pytest.fixture
def follow(beamline: Beamline) -> Iterator[Follow]:
    """Follows devices of the beamline until the test ends."""
    models: list[DetectorModel] = []

    def begin(device: str, host: str = beamline.tango_host) -> DetectorModel:
        name = f"tango://{host}/{device}"
        models.append(DetectorModel(name, TangoDevice(name)))
        models[-1].start()
        return models[-1]

    yield begin
    for model in models:
        model.stop()


def here(model: DetectorModel) -> DetectorView:
    """The view once the device has said everything."""
    until(lambda: model.view().here and "Status" in model.view().values, f"{model.name} here")
    return model.view()


def holds(model: DetectorModel, condition: Callable[[DetectorView], object], what: str) -> DetectorView:
    until(lambda: condition(model.view()), what)
    return model.view()


def test_settings_come_with_units_limits_and_choices(station: Station, follow: Follow) -> None:
    view = here(follow("sim/det/1"))
    exposure, pattern = view.attributes["ExposureTime"], view.attributes["Pattern"]
    assert (exposure.unit, exposure.group, exposure.writable) == ("s", "series", True)
    assert exposure.doc
    assert pattern.group == "camera"
    assert "powder" in pattern.choices
    assert view.attributes["SensorTemperature"].group == "reading"
    assert view.receiver_url == station.receiver.url


def test_what_another_client_writes_comes_by_event_and_nothing_is_read(
    station: Station, follow: Follow
) -> None:
    model = follow("sim/det/1")
    here(model)
    holds(model, lambda view: view.check is not None, "checked")
    station.detector.ExposureTime = 0.25
    holds(model, lambda view: view.values["ExposureTime"] == 0.25, "the new exposure")
    calls = station.detector.black_box(20)
    mine = [call for call in calls if f"PID {os.getpid()}" in call or "Attribute" in call]
    last = calls[: next(place for place, call in enumerate(calls) if "write_attribute" in call.lower())]
    assert mine
    assert not [call for call in last if "read_attribute" in call.lower()], last


def test_a_software_series_from_arm_to_the_file(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    for name, text in (
        ("TriggerMode", "SOFTWARE"), ("nTriggers", "3"), ("ExposureTime", "1 ms"),
        ("DestinationFilename", str(station.new_file())),
    ):  # fmt: skip
        model.edit(name, text)
    model.do(Action.ARM)
    view = holds(model, lambda view: view.state == "RUNNING" and view.values["SeriesId"], "armed")
    for frame in range(3):
        holds(model, lambda view: not view.allowed[Action.TRIGGER], "ready for a trigger")
        model.do(Action.TRIGGER)
        holds(model, lambda view, n=frame: view.account.acquired > n, "acquired")  # type: ignore[misc]
    view = holds(model, lambda view: view.state == "ON" and view.last is not None, "ended")
    assert view.own
    assert view.account.fates["stored"] == 3
    assert view.last is not None
    assert view.last.complete
    assert os.path.isfile(view.last.file)


def test_the_sentence_of_a_refused_arm_is_the_devices_own(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    model.set("DestinationFilename", "/nowhere/x.h5")
    view = holds(model, lambda view: view.check is not None and not view.check.ok, "checked")
    assert view.check is not None
    model.do(Action.ARM)
    view = holds(model, lambda view: view.notice and view.busy is None, "refused")
    assert "/nowhere/x.h5" in view.notice
    assert view.check is not None
    assert view.check.sentence == view.notice


@pytest.mark.slow
def test_a_killed_server_is_noticed_and_found_again(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    model.edit("ExposureTime", "0.3")
    os.kill(station.process.pid, signal.SIGKILL)
    view = holds(model, lambda view: view.presence is Presence.AWAY, "away")
    assert "device server of sim/det/1 is not running" in message(view).text
    station.restart_server()
    view = holds(model, lambda view: view.here and view.state == "ON", "here again")
    assert view.text("ExposureTime") == "0.3"
    station.detector.nTriggers = 77
    holds(model, lambda view: view.values["nTriggers"] == 77, "events come again")
    os.kill(station.process.pid, signal.SIGKILL)
    holds(model, lambda view: view.presence is Presence.AWAY, "away a second time, for the same reason")
    station.restart_server()
    holds(model, lambda view: view.here, "here a second time")


def test_the_database_may_go_and_come_while_the_device_is_followed(
    beamline: Beamline, station: Station, follow: Follow
) -> None:
    model = follow("sim/det/1")
    here(model)
    port = beamline.database.answer
    beamline.database.stop()
    late = follow("sim/det/1")
    holds(late, lambda view: f"127.0.0.1:{port} does not answer" in view.waits_for, "said that it is away")
    station.detector.nTriggers = 5
    holds(model, lambda view: view.values["nTriggers"] == 5, "events without a database")
    beamline.restart_database()
    here(late)
    assert model.view().here


def test_what_is_no_detector_is_said(station: Station, follow: Follow) -> None:
    model = follow("sys/database/2")
    view = holds(model, lambda view: view.waits_for, "answered")
    assert "cannot be shown here" in view.waits_for
    view = holds(follow("no/such/device"), lambda view: view.waits_for, "answered")
    assert "knows no device no/such/device" in view.waits_for


def test_the_next_number_is_the_first_without_a_file(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    for number in (1, 2, 3):
        (station.root / f"free_{number:04d}.h5").write_bytes(b"")
    model.set("DestinationFilename", FileName(str(station.root), "free_####.h5", 1).path())
    holds(model, lambda view: not view.edits, "written")
    model.next_free_number()
    holds(model, lambda view: model.file_name().number == 4, "the next free number")


def test_no_thread_of_ours_stays(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    model.stop()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("penstock")]


def test_metadata_takes_any_script_and_is_escaped_on_its_way(station: Station, follow: Follow) -> None:
    model = follow("sim/det/1")
    here(model)
    model.set("Metadata", '{"sample": "α-quartz 样品"}')
    holds(model, lambda view: not view.edits, "written")
    assert station.detector.Metadata == '{"sample": "\\u03b1-quartz \\u6837\\u54c1"}'
    assert any('{"sample": "α-quartz 样品"}' in entry.text for entry in model.log.since())


def test_a_text_that_tango_cannot_carry_is_refused_in_words_and_arm_is_still_possible(
    station: Station, follow: Follow
) -> None:
    model = follow("sim/det/1")
    here(model)
    model.set("DestinationFilename", str(station.root / "größe_0001.h5"))
    holds(model, lambda view: not view.edits, "written")
    assert station.detector.DestinationFilename.endswith("/größe_0001.h5")
    model.set("DestinationFilename", str(station.root / "π_0001.h5"))
    view = holds(model, lambda view: view.edits["DestinationFilename"].problem, "refused")
    assert view.edits["DestinationFilename"].problem == (
        'File: Tango carries Western European letters only (Latin-1), and not "π"; choose others'
    )
    assert not view.edits["DestinationFilename"].writing
    model.set("DestinationFilename", "")
    holds(model, lambda view: not view.edits, "written")


def test_a_number_too_large_for_its_type_is_refused_in_words(station: Station) -> None:
    device = TangoDevice(f"tango://{station.beamline.tango_host}/sim/det/1")
    model = DetectorModel("sim/det/1", device)
    model.start()
    here(model)
    with pytest.raises(DeviceRefused, match="nTriggers cannot be 99999999999999999999"):
        device.write("nTriggers", 99999999999999999999)
    model.stop()


def test_a_server_that_hangs_is_not_said_to_be_down() -> None:
    """What `ping` raised of a server that was stopped by SIGSTOP."""
    with pytest.raises(tango.DevFailed) as error:
        tango.Except.throw_exception(
            "API_CorbaException", "TRANSIENT CORBA system exception: TRANSIENT_CallTimedout", "ping()"
        )
    assert "sim/det/1 does not answer in time." in errors.away("sim/det/1", error.value)


def test_what_a_device_has_escaped_is_read_with_its_letters() -> None:
    assert errors.unescaped(r"into /data/gr\xf6\xdfe/\u03c0_\U0001f600.h5.") == "into /data/größe/π_😀.h5."
    assert errors.unescaped(r"C:\data\x.h5 \uncle") == r"C:\data\x.h5 \uncle"
