"""What the 2D channel tells the file of the scan, and what stays of the user's own."""

from __future__ import annotations

import json

from penstock.sardana.channel import metadata
from penstock.sardana.channel.channel import Channel
from tests.sardana.stand_in_detector import StandIn


def test_the_scan_is_told_to_the_file_and_the_users_own_stays(channel: Channel, detector: StandIn) -> None:
    detector.attributes["Metadata"] = '{"sample": "CeO2", "title": "mine"}'
    channel.arming.context = json.dumps(
        {"scan_dir": "/data", "scan_file": "s", "scan_id": 3, "title": "ascan mot01", "user": "ada"}
    )
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = json.loads(detector.attributes["Metadata"])
    assert merged["sample"] == "CeO2"
    assert merged["title"] == "mine"
    assert (merged["entry_identifier"], merged["user"]) == ("3", {"name": "ada"})
    channel.arming.context = ""
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    assert json.loads(detector.attributes["Metadata"]) == {"sample": "CeO2", "title": "mine"}


def test_what_the_user_writes_between_two_scans_stays(channel: Channel, detector: StandIn) -> None:
    scan = {"scan_dir": "/data", "scan_file": "s", "user": "ada"}
    channel.arming.context = json.dumps({**scan, "scan_id": 3})
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    present = json.loads(detector.attributes["Metadata"])
    present["user"]["role"] = "principal investigator"
    detector.attributes["Metadata"] = json.dumps(present)
    channel.arming.context = json.dumps({**scan, "scan_id": 4, "user": "bob"})
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = json.loads(detector.attributes["Metadata"])
    assert merged["user"] == {"name": "bob", "role": "principal investigator"}
    assert merged["entry_identifier"] == "4"


def test_what_a_scan_has_put_there_goes_without_a_memory_of_it(channel: Channel, detector: StandIn) -> None:
    own = {"sample": "CeO2", "title": "mine", "user": {"name": "ada"}, "scan": {"macro": "theirs"}}
    detector.attributes["Metadata"] = json.dumps(own)
    channel.arming.context = json.dumps(
        {"scan_dir": "/data", "scan_file": "s", "scan_id": 3, "title": "t", "user": "ada", "macro": "ascan",
         "motors": ["mot01"]}
    )  # fmt: skip
    channel.prepare("SoftwareTrigger", 0.1, 1, 0.0, 1)
    merged = detector.attributes["Metadata"]
    assert json.loads(merged)["scan"]["motors"] == ["mot01"]
    assert json.loads(metadata.without_scan(merged)) == own
    assert metadata.without_scan("") == ""
    assert metadata.without_scan('{"title": "mine"}') == '{"title": "mine"}'
    assert metadata.ScanMetadata().merged(merged, {}) == json.dumps(own), "after a restart of the Pool"
