"""The supported cameras are what lies in devices/."""

from __future__ import annotations

import pytest

from penstock.devices._server.registry import UnknownCamera, camera_class, camera_names
from penstock.devices._server.server import server_classes, server_names
from penstock.devices.simulator import Simulator


def test_a_camera_is_found_by_its_name_in_any_case() -> None:
    assert camera_class("Simulator") is camera_class("simulator") is Simulator


def test_an_unknown_camera_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownCamera, match='no camera "Zebra"; there are .*Simulator'):
        camera_class("Zebra")


@pytest.mark.parametrize("name", ["_series", "_simulated", "os", "../x"])
def test_what_is_no_camera_is_none(name: str) -> None:
    with pytest.raises(UnknownCamera):
        camera_class(name)


def test_every_camera_and_the_services_have_a_server() -> None:
    assert "Simulator" in camera_names()
    services = ("PenstockReceiver", "PenstockPipeline")
    assert set(server_names()) == {*camera_names(), *services}
    for name in services:
        assert [kind.__name__ for kind in server_classes(name.lower())] == [name]
    assert server_classes("Simulator")[0].__name__ == "Simulator"
