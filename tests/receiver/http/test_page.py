"""The page for people and the page of the HTTP interface, without a browser: test_browser.py has one."""

from __future__ import annotations

import io
import re
from dataclasses import fields
from html.parser import HTMLParser
from importlib.resources import files

import numpy as np
import pytest
import urllib3
from PIL import Image

from penstock.receiver.http import api
from penstock.receiver.models import Counts, Series, Status
from tests.receiver.conftest import Shared
from tests.receiver.processes import DEADLINE

FILES = files("penstock.receiver.http")
SHARED = files("penstock.service")
SCRIPTS = {name: FILES.joinpath(name).read_text() for name in ("page.js", "words.js")} | {
    name: SHARED.joinpath(name).read_text() for name in ("shown.js", "docs.js")
}
STATES = ("idle", "running", "error", "away")


class Page(HTMLParser):
    """What a page refers to, and the ids of its elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.assets: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.inline = ""
        self._script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.ids += [found["id"]] if found.get("id") else []
        self.assets += [value for key, value in attrs if key == "src" and value]
        if found.get("href"):
            (self.assets if tag == "link" else self.links).append(str(found["href"]))
        assert not [key for key in found if key.startswith("on") or key == "style"], (tag, found)
        self._script = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._script = False

    def handle_data(self, data: str) -> None:
        self.inline += data if self._script else ""


@pytest.fixture
def url(shared: Shared) -> str:
    """Address of a receiver."""
    return shared.receiver.client.url


def ask(url: str) -> urllib3.BaseHTTPResponse:
    return urllib3.request("GET", url, timeout=DEADLINE, retries=False)


@pytest.mark.parametrize("path", ["/", "/docs"])
def test_all_that_a_page_needs_comes_from_the_receiver(path: str, url: str) -> None:
    answer = ask(url + path)
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"], "whatever a script would do"
    found = Page(answer.data.decode())
    assert not found.inline.strip()
    assert len(found.assets) >= 3
    for asset in found.assets:
        if asset != "data:,":
            assert not re.match(r"\w+:|/", asset), (
                f"{asset}: relative, so behind a proxy's path it is found too"
            )
            answer = ask(f"{url}/{asset}")
            assert (answer.status, len(answer.data) > 50) == (200, True), asset
            assert answer.headers["Content-Type"] in (
                "text/css; charset=utf-8",
                "text/javascript; charset=utf-8",
            )


def test_the_picture_is_the_first_that_is_read_where_all_is_in_one_column() -> None:
    ids = Page(api.ASSETS["/"].read().decode()).ids
    assert ids.index("sentence") < ids.index("picture") < ids.index("series-part")


def test_every_link_of_the_page_is_answered(url: str) -> None:
    links = Page(ask(f"{url}/").data.decode()).links
    assert {"status", "docs", "metrics", "health/ready"} <= set(links)
    for link in links:
        status = ask(f"{url}/{link}").status
        assert status == (404 if link.startswith("last_frame") else 200), "there was no frame yet"


def test_no_file_of_ours_names_another_host() -> None:
    ours = [asset for asset in api.ASSETS.values() if asset.package.startswith("penstock.")]
    assert len(ours) >= 6
    for asset in ours:
        assert not re.search(rb"https?:|//\w+\.", asset.read()), asset.name


def test_what_comes_from_the_receiver_is_set_as_text() -> None:
    for name, script in SCRIPTS.items():
        forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function"
        assert not re.search(forbidden, script), name


def test_the_script_and_the_page_know_the_same_elements() -> None:
    wanted = set(re.findall(r'element\("([\w-]+)"\)', SCRIPTS["page.js"] + SCRIPTS["shown.js"]))
    assert wanted == set(Page(api.ASSETS["/"].read().decode()).ids)


def test_a_spot_beside_a_gap_is_seen_in_the_picture_of_the_page(shared: Shared) -> None:
    receiver, streamer = shared
    (asked,) = re.findall(r"`(last_frame\?.*?)`", SCRIPTS["page.js"])
    frame = np.full((30, 40), 10, np.uint16)
    frame[:, 20] = 65535  # a gap between two modules
    frame[14, 21] = 1000
    receiver.connected()
    # By which 65535 is no count; without it, it may be one.
    series = streamer.start("", {"saturation_value": 60_000}, frames=1)
    streamer.frame(0, frame)
    receiver.wait(
        lambda status: status.series is not None and (status.series.id, status.latest_frame) == (series, 0)
    )
    answer = ask(f"{receiver.client.url}/{asked.replace('${step}', '2')}")
    shades = np.asarray(Image.open(io.BytesIO(answer.data)))  # places in the table of colours
    assert shades.shape == (15, 20)
    assert shades[7, 10] == shades.max() > shades[3, 3], "the spot is as bright as can be"
    assert (shades[np.arange(15) != 7, 10] == shades[3, 3]).all(), "and the gap is not"


def test_the_scripts_ask_a_status_for_nothing_that_it_does_not_have() -> None:
    known = {item.name for kind in (Status, Series, Counts) for item in fields(kind)}
    used = set(
        re.findall(r"\b(?:status|series|counts)\??\.([a-z]\w*)", SCRIPTS["page.js"] + SCRIPTS["words.js"])
    )
    assert len(used) > 15
    assert used <= known


def test_every_fate_of_a_frame_has_its_part_of_the_bar_and_a_colour() -> None:
    (listed,) = re.findall(r"const FATES = \[(.*?)\]", SCRIPTS["page.js"])
    fates = re.findall(r"\w+", listed)
    said = re.sub(r"\s+", " ", str(Counts.__doc__))
    assert f"{' + '.join(fates)} == planned" in said
    style = SHARED.joinpath("page.css").read_text()
    assert all(f"--{fate}: #" in style for fate in fates)
    assert all(f"#state.{state} {{" in style for state in STATES)


def test_no_file_is_taken_for_another_kind_or_kept_when_a_new_version_is_installed(url: str) -> None:
    for path in api.ASSETS:
        answer = ask(url + path)
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-cache"
