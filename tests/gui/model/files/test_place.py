"""Where the next file would be: folders that do not exist, and the space on the disk that is meant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from penstock.gui.model.actions import Action
from penstock.gui.model.detector import DetectorModel
from penstock.gui.model.files.place import Place, Places, ask
from penstock.gui.model.tango.answers import Check
from penstock.gui.model.tango.device import Greeting
from penstock.gui.model.texts.file_words import file_words
from penstock.gui.model.view import DetectorView, Edit, Presence
from penstock.receiver.client import ReceiverRefused, ReceiverUnavailable
from penstock.receiver.models import SeriesCheck, SeriesCheckResult
from tests.gui.model.stand_in import ATTRIBUTES, VALUES, StandInDevice
from tests.gui.model.test_detector import Followed

PATH = "/mxn/visitors/2025/raw/a.h5"


class Receiver:
    """One that has /gpfs/visitors, which this side calls /mxn/visitors."""

    def __init__(self, creates: str = "", error: Exception | None = None) -> None:
        self.creates = creates
        self.error = error
        self.asked: list[SeriesCheck] = []

    def check(self, series: SeriesCheck) -> SeriesCheckResult:
        self.asked.append(series)
        if self.error is not None:
            raise self.error
        seen = str(series.filename).replace("/mxn", "/gpfs")
        return SeriesCheckResult(filename=seen, free_bytes=5 * 10**9, connections=1, creates=self.creates)


@pytest.mark.parametrize(
    ("creates", "there", "missing"),
    [
        ("", "", ""),
        ("/gpfs/visitors/2025/raw", "/mxn/visitors/2025", "raw"),
        ("/gpfs/visitors/2025", "/mxn/visitors", "2025/raw"),
    ],
)
def test_what_is_missing_is_told_in_this_sides_names(creates: str, there: str, missing: str) -> None:
    place = ask(Receiver(creates), PATH, overwrite=False)
    assert place == Place(path=PATH, there=there, missing=missing, free_bytes=5 * 10**9)


def test_what_the_receiver_does_not_say_is_not_known() -> None:
    taken = Receiver(error=ReceiverRefused("file_exists", "it is there"))
    assert ask(taken, PATH, overwrite=False) == Place(path=PATH, taken=True)
    assert ask(Receiver(error=ReceiverRefused("in_error", "no")), PATH, overwrite=False) is None
    assert ask(Receiver(error=ReceiverUnavailable("gone")), PATH, overwrite=False) is None


def seen(place: Place | None, check: Check | None, **more: Any) -> DetectorView:
    values = {**VALUES, "DestinationFilename": PATH}
    attributes = {each.name: each for each in ATTRIBUTES}
    return DetectorView(
        name="sim/det/1", presence=Presence.HERE, state="ON", values=values, attributes=attributes,
        place=place, check=check, **more,
    )  # fmt: skip


OF_THE_ROOT = Check(ok=False, kind="not_connected", sentence="no streamer", bytes=10, free_bytes=80 * 10**9)


def test_the_free_space_is_that_of_the_folder_meant() -> None:
    place = Place(path=PATH, free_bytes=5 * 10**9)
    assert file_words(seen(place, OF_THE_ROOT)) == (False, "5 GB free.")
    assert file_words(seen(None, OF_THE_ROOT)) == (False, "")  # 80 GB are those of the data root
    small = replace(OF_THE_ROOT, bytes=6 * 10**9)
    assert file_words(seen(place, small)) == (True, "6 GB are planned, and 5 GB free.")
    other = Place(path="/mxn/other/a.h5", free_bytes=1)
    assert file_words(seen(other, OF_THE_ROOT)) == (False, "")


def test_what_is_typed_is_spoken_of_before_it_is_written() -> None:
    edits = {"DestinationFilename": Edit("/mxn/new/b.h5")}
    enter = "Enter writes the name to the device; Esc takes the device's own."
    assert file_words(seen(None, None, edits=edits)) == (False, enter)
    place = Place(path="/mxn/new/b.h5", free_bytes=5 * 10**9)
    assert file_words(seen(place, None, edits=edits)) == (False, f"New, 5 GB free. {enter}")
    place = Place(path="/mxn/new/b.h5", there="/mxn", missing="new")
    said = "There is no folder new in /mxn. Arm asks before it is created."
    assert file_words(seen(place, None, edits=edits)) == (True, said)
    assert file_words(seen(Place(path="/mxn/new/b.h5", taken=True), None, edits=edits)) == (
        True, "This file exists already."
    )  # fmt: skip


@pytest.fixture
def follow() -> Any:
    begun: list[Followed] = []

    def follow(receiver: Receiver) -> Followed:
        one = Followed.__new__(Followed)
        make: Callable[..., DetectorModel] = DetectorModel
        one.device = StandInDevice()
        one.model = make("sim/det/1", one.device, receiver=lambda url: receiver)
        one.watch()
        assert one.device.listener is not None
        values = {**VALUES, "DestinationFilename": PATH}
        one.device.listener.reached(
            Greeting(attributes=ATTRIBUTES, receiver_url="http://dcu:5000", values=values)
        )
        begun.append(one)
        return one

    yield follow
    for one in begun:
        one.model.stop()


def test_arm_waits_for_the_answer_and_is_asked_once_for_each_folder(follow: Any) -> None:
    receiver = Receiver(creates="/gpfs/visitors/2025/raw")
    one = follow(receiver)
    one.until(lambda view: view.check is not None)
    one.model.do(Action.ARM)
    place = one.until(lambda view: view.asks is not None and view.busy is None).asks
    assert one.device.called == []
    one.model.answer(place, create=False)
    view = one.until(lambda view: view.asks is None)
    assert view.notice == "Arm was not called. There is no folder raw in /mxn/visitors/2025."
    one.model.do(Action.ARM)
    one.until(lambda view: view.asks is not None and view.busy is None)
    one.model.answer(place, create=True)
    one.until(lambda view: one.device.called == ["Arm"] and view.busy is None)
    one.model.do(Action.ARM)  # of the same folder
    one.until(lambda view: one.device.called == ["Arm", "Arm"])


@pytest.mark.parametrize("error", [ReceiverUnavailable("gone"), ReceiverRefused("busy", "it is")])
def test_a_receiver_that_says_nothing_keeps_nobody_from_arming(follow: Any, error: Exception) -> None:
    one = follow(Receiver(error=error))
    one.model.do(Action.ARM)
    one.until(lambda view: one.device.called == ["Arm"])


def test_arm_does_not_wait_again_for_a_receiver_that_let_others_wait() -> None:
    now = 100.0

    class BehindFirewall(Receiver):
        def check(self, series: SeriesCheck) -> SeriesCheckResult:
            nonlocal now
            now += 2.0
            return super().check(series)

    receiver = BehindFirewall(error=ReceiverUnavailable("no answer within 2 s"))
    places = Places(lambda url: receiver, lambda place: None, lambda: now)
    for hurried, asked in ((False, 1), (True, 1), (False, 2), (True, 2)):
        assert places.look("http://dcu", PATH, overwrite=False, hurried=hurried) is None
        assert len(receiver.asked) == asked
    now += 60.0
    places.look("http://dcu", PATH, overwrite=False, hurried=True)
    assert len(receiver.asked) == 3


def test_live_and_frames_that_are_not_saved_need_no_folder(follow: Any) -> None:
    one = follow(Receiver(creates="/gpfs/visitors/2025/raw"))
    one.model.do(Action.LIVE)
    one.until(lambda view: len(one.device.called) == 1 and view.busy is None)
    one.device.say(SaveRaw=False)
    one.model.do(Action.ARM)
    one.until(lambda view: len(one.device.called) == 2)
