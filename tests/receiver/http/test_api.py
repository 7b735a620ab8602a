"""The HTTP API of a receiver as its OpenAPI document says it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.http.api import create_app
from penstock.receiver.process.supervisor.supervisor import Supervisor

OPENAPI = Path(__file__).resolve().parents[3] / "resources" / "openapi.json"


def supervisor(tmp_path: Path) -> Supervisor:
    entry = {"source": {"endpoints": ["tcp://127.0.0.1:1"]}, "data_root": str(tmp_path)}
    return Supervisor("sim-1", msgspec.convert(entry, ReceiverConfig))


def test_the_committed_openapi_document_is_the_one_of_the_code(tmp_path: Path) -> None:
    current = create_app(supervisor(tmp_path)).openapi()
    if os.environ.get("PENSTOCK_REFRESH"):
        OPENAPI.write_text(json.dumps(current, indent=2) + "\n")
    assert json.loads(OPENAPI.read_text()) == json.loads(json.dumps(current)), (
        "make it anew with: PENSTOCK_REFRESH=1 pytest tests/receiver/http/test_api.py, "
        "and look at the difference"
    )


def test_the_document_says_which_answers_a_call_has_and_no_others(tmp_path: Path) -> None:
    document = json.loads(OPENAPI.read_text())
    calls = {
        f"{method} {path}": call
        for path, calls in document["paths"].items()
        for method, call in calls.items()
    }
    assert {call: " ".join(sorted(said["responses"])) for call, said in calls.items()} == {
        "get /status": "200 422",
        "get /health/started": "200 503",
        "get /received_frames": "200",
        "get /downsample": "200",
        "post /downsample": "200 422",
        "get /series": "200 422",
        "get /series/one": "200 404 409 422",
        "get /series/lost": "200 404 409 422 500 503",
        "get /geometry": "200 404 409 422 500 503",
        "get /mask": "200 404 409 422 500 503",
        "get /scan": "200 404 409 422 500 503",
        "get /folders": "200 409 422",
        "post /series/check": "200 409 413 422",
        "put /expected/{arm}": "200 409 413 422",
        "delete /expected/{arm}": "200 409 422",
        "post /stop": "200 409 413 422",
        "post /drain": "200 409",
        "delete /drain": "200 409",
        "post /reset": "200 409",
        "get /last_frame": "200 304 404 409 422 500",
        "get /frame/{index}": "200 404 409 422 500 503",
        "get /rois": "200",
        "put /rois": "200 400 409 413 422",
        "get /rois/values": "200 409 422",
        "get /config": "200",
        "get /metrics": "200",
        "get /health": "200 503",
        "get /health/ready": "200 503",
    }
    pictures = {"application/octet-stream", "application/x-npy", "image/png", "image/jpeg"}
    assert set(calls["get /frame/{index}"]["responses"]["200"]["content"]) == pictures
    assert set(calls["get /last_frame"]["responses"]["200"]["content"]) == {*pictures, "image/pickle"}
    assert "content" not in calls["get /last_frame"]["responses"]["304"]
    number, _ = document["components"]["schemas"]["SeriesCheck"]["properties"]["frames"]["anyOf"]
    assert number == {"type": "integer", "minimum": 0, "maximum": 2**53}


def test_the_calls_are_grouped() -> None:
    document = json.loads(OPENAPI.read_text())
    groups: dict[str, set[str]] = {tag["name"]: set() for tag in document["tags"]}
    for path, calls in document["paths"].items():
        for method, call in calls.items():
            (tag,) = call["tags"]
            groups[tag].add(f"{method} {path}")
    assert list(groups) == ["status", "series", "frames", "rois", "configuration"]
    assert groups["series"] == {
        "get /series", "get /series/one", "get /series/lost",
        "get /geometry", "get /mask", "get /scan", "get /folders",
        "post /series/check", "post /stop", "post /reset", "post /drain", "delete /drain",
        "put /expected/{arm}", "delete /expected/{arm}",
    }  # fmt: skip
    assert all(groups.values())
