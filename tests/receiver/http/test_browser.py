"""The pages in a real browser, which finds no host but this one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import browser
from tests.browser import Browser
from tests.receiver.disks import more_than_free
from tests.receiver.processes import ReceiverProcess
from tests.streams import Streamer, pixels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(browser.CHROMIUM is None, reason="Chromium is missing: apt-get install chromium"),
]
OPENAPI = Path(__file__).resolve().parents[3] / "resources" / "openapi.json"
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture
def chromium(tmp_path: Path) -> Iterator[Browser]:
    running = Browser(tmp_path / "profile")
    yield running
    running.close()


def test_the_page_follows_a_receiver_through_series_error_and_restart(
    chromium: Browser, streamer: Streamer, tmp_path: Path
) -> None:
    receiver = ReceiverProcess(tmp_path / "a", streamer.endpoint)
    address = receiver.client.url.removeprefix("http://")
    picture_hidden = "document.getElementById('picture').hidden"
    try:
        receiver.connected()
        chromium.open(f"{receiver.client.url}/")
        chromium.shows("idle", "No series yet.", f"connected to {streamer.endpoint}")
        assert chromium.value(picture_hidden), "there is no frame to show"

        streamer.start(str(receiver.root / "a.h5"), frames=9, series=HOSTILE)
        for number in (0, 1, 3):
            streamer.frame(number)
        chromium.shows("running", HOSTILE, "a.h5", "received\t3", "stored\t3", "missing\t1", "pending\t5")
        chromium.wait(f"!{picture_hidden} && document.images[0].naturalWidth === 6")
        chromium.shows("Frame 3 of series")

        streamer.end()
        chromium.shows("idle", "The last series is NOT complete", "not triggered\t5")
        streamer.start(f"/elsewhere/{HOSTILE}.h5", frames=1)
        chromium.shows("idle", f"/elsewhere/{HOSTILE}.h5", "choose a file inside it")
        assert chromium.value("document.querySelectorAll('img').length") == 1, "a name is text"
        streamer.end()
        streamer.start(f"{receiver.root}/b.h5", **more_than_free(receiver.root))
        chromium.shows("error", "free some space", f"penstock reset http://{address}")
        chromium.shows("none: the series was not taken", "Errors since it was started")
        assert chromium.value("document.querySelectorAll('img').length") == 1, "a name is text"

        streamer.end()

        receiver.close()
        chromium.shows("away", "Receiver away since", "What stands below is what it said last.")
        receiver = ReceiverProcess(tmp_path / "b", streamer.endpoint, http=address)
        chromium.shows("idle", "No series yet.")
        chromium.wait(picture_hidden)
        streamer.series_of("", 2)
        chromium.shows("The last series is complete", "delivered\t2")
        streamer.close()
        chromium.shows(f"not connected to {streamer.endpoint}: it has left after the last series")
        assert all(url.startswith((f"http://{address}/", "blob:", "data:")) for url in chromium.requested)
    finally:
        receiver.close()


def test_the_page_links_to_the_page_of_a_consumer_and_asks_nothing_of_it(
    chromium: Browser, streamer: Streamer, tmp_path: Path
) -> None:
    entries = [
        {"name": name, "endpoint": "tcp://127.0.0.1:*", **page}
        for name, page in (("live", {"page": "http://127.0.0.1:1/of?a=1"}), ("other", {}))
    ]
    receiver = ReceiverProcess(tmp_path, streamer.endpoint, forward=entries)
    try:
        chromium.open(f"{receiver.client.url}/")
        chromium.shows("Consumer live", "not connected, 0 sent, 0 dropped, its page", "Consumer other")
        links = "[...document.querySelectorAll('#receiver a')].map((each) => each.href).join()"
        assert chromium.value(links) == "http://127.0.0.1:1/of?a=1"
        assert not [url for url in chromium.requested if "127.0.0.1:1/" in url]
    finally:
        receiver.close()


BAR = """[...document.querySelectorAll('#bar span')].map((part) => {
    const bar = part.parentElement.getBoundingClientRect(), { left, right } = part.getBoundingClientRect();
    return [part.style.getPropertyValue('--fate').slice(6, -1), left - bar.left, right - bar.left].join(' ');
}).join(';')"""
"""Fate, first and last pixel of each part."""


def parts(chromium: Browser) -> list[tuple[str, float, float]]:
    found = [each.split() for each in chromium.value(BAR).split(";")]
    return [(fate, round(float(left), 1), round(float(right), 1)) for fate, left, right in found]


def test_missing_frames_are_at_their_index_in_the_bar_and_on_a_phone_the_picture_is_first(
    chromium: Browser, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    receiver.connected()
    chromium.show_as(1000, 700)
    chromium.open(f"{receiver.client.url}/")
    streamer.start(str(receiver.root / "gaps.h5"), frames=100)
    for number in range(60):
        if number not in (10, 11, 12, 30):
            streamer.frame(number)
    chromium.shows("running", "stored\t56", "missing\t4", "pending\t40")
    chromium.wait("document.querySelectorAll('#bar [title]').length === 2")
    chromium.value("document.getElementById('bar').style.width = '400px'")
    assert parts(chromium) == [
        ("stored", 0, 240), ("pending", 240, 400), ("missing", 40, 52), ("missing", 120, 124),
    ]  # fmt: skip
    titles = "[...document.querySelectorAll('#bar [title]')].map((part) => part.title).join()"
    assert chromium.value(titles) == "missing: 3 frames, 10 to 12,missing: frame 30"
    streamer.end()
    chromium.shows("idle", "not triggered\t40")
    chromium.wait("document.querySelectorAll('#bar [title]').length === 3")
    assert parts(chromium)[1:] == [
        ("missing", 40, 52), ("missing", 120, 124), ("not_triggered", 240, 400),
    ]  # fmt: skip

    chromium.value("document.getElementById('bar').style.width = ''")
    place = "document.querySelector('{}').getBoundingClientRect()"
    picture, facts = place.format("#picture"), place.format("section")
    assert chromium.value(f"{picture}.left >= {facts}.right && {picture}.top === {facts}.top")
    chromium.show_as(390, 844, phone=True)
    assert chromium.value(f"{picture}.bottom <= {facts}.top && {picture}.top < 300")
    assert chromium.value("document.documentElement.scrollWidth <= 390")


def test_a_live_view_is_planned_until_it_is_stopped(
    chromium: Browser, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    receiver.connected()
    chromium.open(f"{receiver.client.url}/")
    streamer.start("", frames=1_000_000)
    streamer.frame(0)
    chromium.shows("running", "planned\tuntil stopped", "delivered\t1")
    assert "pending" not in chromium.text()
    streamer.end(triggered=1)
    chromium.shows("idle", "The live view was stopped.", "planned\tuntil stopped")
    assert "not triggered" not in chromium.text() and "1,000,000" not in chromium.text()


def test_a_spectrum_is_a_curve_and_colours_are_colours(
    chromium: Browser, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    chromium.open(f"{receiver.client.url}/")
    streamer.start("", frames=2)
    streamer.frame(0, pixels(0, (4096,)))
    chromium.wait("document.images[0].naturalWidth === 1024 && document.images[0].naturalHeight === 256")
    chromium.shows("Logarithmic, 0 (lower edge) to 4,095 (upper edge)")
    streamer.end()
    streamer.start("", frames=1)
    streamer.frame(0, pixels(0, (60, 80, 3), "uint8"))
    chromium.wait("document.images[0].naturalWidth === 80 && document.images[0].naturalHeight === 60")
    chromium.shows("Colours")


def test_neither_a_long_name_nor_a_large_frame_is_wider_than_the_window(
    chromium: Browser, receiver: ReceiverProcess, streamer: Streamer
) -> None:
    name = "visitors/" + "a-long-name-without-any-space" * 5 + ".h5"
    receiver.ended(streamer.series_of(str(receiver.root / name), 3))
    chromium.open(f"{receiver.client.url}/")
    chromium.shows("a-long-name-without-any-space", "Frame 2 of series")
    streamer.start("", frames=1)
    streamer.frame(0, pixels(0, (600, 3000)))
    chromium.wait("document.images[0].naturalWidth === 1000")
    chromium.shows("3 × 3 pixels shown as their greatest count")
    for width in (320, 390, 1280, 1920):
        chromium.show_as(width, 800, phone=width < 500)
        chromium.wait(f"innerWidth === {width}")
        assert chromium.value("document.documentElement.scrollWidth") <= width


def test_the_page_of_the_interface_shows_every_call_without_the_internet(
    chromium: Browser, receiver: ReceiverProcess
) -> None:
    chromium.open(f"{receiver.client.url}/docs")
    calls = sum(map(len, json.loads(OPENAPI.read_text())["paths"].values()))
    chromium.wait(f"document.querySelectorAll('.opblock').length === {calls}")
    chromium.shows("/series/check", "/frame/{index}", "/health/ready")
    groups = "[...document.querySelectorAll('.opblock-tag')].map(each => each.dataset.tag).join()"
    assert chromium.value(groups) == "status,series,frames,rois,configuration"
    asked = [url for url in chromium.requested if not url.startswith("data:")]
    assert asked
    assert all(url.startswith(f"{receiver.client.url}/") for url in asked)
