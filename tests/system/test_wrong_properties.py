"""A mistyped property costs nobody anything but its own device, which says what is right."""

from __future__ import annotations

import json
import random

import pytest
import tango

from penstock.devices._server.server import server_classes, server_names
from penstock.devices._tango.device_properties import PropertyRefused, property_value
from penstock.devices._tango.tango_text import tango_status
from penstock.streamer.camera.settings import Parameter
from tests.devices._tango.test_device_properties import TEXTS
from tests.system.beamline import FAULT, ON, Beamline, refusal, until, wait_state

pytestmark = pytest.mark.slow

URL = "http://127.0.0.1:1"


def put(beamline: Beamline, device: str, name: str, *lines: str) -> None:
    """Set a property as Jive does, or delete it."""
    host, _, port = beamline.tango_host.partition(":")
    database = tango.Database(host, int(port))
    if lines:
        database.put_device_property(device, {name: list(lines)})
    else:
        database.delete_device_property(device, name)


def says(device: tango.DeviceProxy) -> str:
    """The device's Status; "" while its server is not there."""
    try:
        return str(device.Status())
    except tango.DevFailed:
        return ""


def host_of(kind: str) -> dict[str, str]:
    """What a class requires beside the address of its receiver: where nobody is."""
    return (
        {}
        if kind in ("Simulator", "GenICam", "PenstockReceiver", "PenstockPipeline")
        else {"Host": "127.0.0.1:1"}
    )


def refused(parameter: Parameter, lines: list[str]) -> str:
    """Why a property cannot be this; "" if it can."""
    try:
        property_value(parameter, lines)
    except PropertyRefused as error:
        return str(error)
    return ""


def test_a_mistyped_property_is_a_fault_of_one_device_which_init_heals(beamline: Beamline) -> None:
    server = "Simulator/typo"
    receiver = beamline.receiver("typo", 1)
    wrong, right = "typo/det/wrong", "typo/det/right"
    for device in (wrong, right):
        beamline.register(server, "Simulator", device, ReceiverUrl=receiver.url, DataPort=0)
    put(beamline, wrong, "DataPort", "abc")
    put(beamline, wrong, "LiveImageRate", "0")
    process = beamline.serve(server)
    try:
        one, other = beamline.device(wrong), beamline.device(right)
        sentence = (
            f'{wrong}: the property LiveImageRate is "0"; give a number from 0.01 to 100 Hz, or delete it '
            'for 5.0; the property DataPort is "abc"; give a whole number from 0 to 65535, or delete it for '
            "9999; then call Init."
        )
        wait_state(other, ON)
        assert (one.State(), one.Status()) == (FAULT, sentence)
        check = json.loads(one.Check())
        assert (check["ok"], check["sentence"]) == (False, sentence)
        assert sentence in refusal(one.Arm)
        assert sentence in refusal(one.Reset)
        assert one.State() == FAULT and one.ExposureTime == 0.1
        put(beamline, wrong, "DataPort", "29961.0")
        one.Init()
        assert 'DataPort is "29961.0"' in one.Status()
        put(beamline, wrong, "DataPort", "0", "")
        put(beamline, wrong, "LiveImageRate")
        one.Init()
        wait_state(one, ON)
        put(beamline, wrong, "ReceiverUrl", "None")
        one.Init()
        assert 'the property ReceiverUrl is "None"; set it to the address of' in one.Status()
        assert one.State() == FAULT
        admin = beamline.device(f"dserver/{server}")
        admin.DevRestart(wrong)
        assert beamline.device(wrong).State() == FAULT
        put(beamline, wrong, "DataPort", "x")
        admin.RestartServer()
        until(lambda: 'DataPort is "x"' in says(one), "devices made anew", 30.0)
        until(lambda: says(other) == "Ready.", "the other one is ready", 30.0)
        assert process.exit_status() is None
    finally:
        beamline.end(server)


@pytest.mark.parametrize(
    ("server", "kind", "name", "lines"),
    [
        ("Simulator/r", "PenstockReceiver", "ReceiverUrl", ("daq-1:5000",)),
        ("PenstockPipeline/p", "PenstockPipeline", "PipelineUrl", ("",)),
        ("Eiger/e", "Eiger", "Port", ("eighty",)),
        ("Pilatus/p", "Pilatus", "BytesPerPixel", ("",)),
        ("Jungfrau/j", "Jungfrau", "UdpPort", ("99999999",)),
        ("GenICam/g", "GenICam", "PacketResend", ("perhaps",)),
    ],
)
def test_one_wrong_value_of_each_class(
    beamline: Beamline, server: str, kind: str, name: str, lines: tuple[str, ...]
) -> None:
    device = f"wrong/{kind.lower()}/1"
    address = "PipelineUrl" if kind == "PenstockPipeline" else "ReceiverUrl"
    beamline.register(server, kind, device, **{address: URL}, **host_of(kind))
    put(beamline, device, name, *lines)
    beamline.serve(server)
    try:
        proxy = beamline.device(device)
        assert proxy.State() == FAULT
        assert f"{device}: the property {name} " in proxy.Status()
        assert proxy.Status().endswith("; then call Init.")
        assert proxy.Status() in refusal(proxy.Reset)
    finally:
        beamline.end(server)


@pytest.mark.slow
@pytest.mark.parametrize("kind", server_names())
def test_no_value_of_any_property_ends_the_server_or_the_device(beamline: Beamline, kind: str) -> None:
    """As Jive writes them, one after the other, each read by Init; the seed is the class."""
    server, device = f"{kind}/any", f"any/{kind.lower()}/1"
    (tango_class, *_) = server_classes(kind)
    parameters = {each.name: each for each in tango_class.checked}
    address = "PipelineUrl" if kind == "PenstockPipeline" else "ReceiverUrl"
    properties = {address: URL, **host_of(kind)}
    beamline.register(server, kind, device, **properties)
    values = [(name, [text] if text else ["1", "x"]) for name in parameters for text in TEXTS]
    process = beamline.serve(server)
    try:
        proxy = beamline.device(device)
        wrong = 0
        for name, lines in random.Random(kind).sample(values, k=min(25, len(values))):
            put(beamline, device, name, *lines)
            proxy.Init()
            if sentence := refused(parameters[name], lines):
                wrong += 1
                assert proxy.State() == FAULT
                assert proxy.Status() == tango_status(f"{device}: {sentence}; then call Init.")
            else:
                assert "the property" not in proxy.Status()
            put(beamline, device, name, *([properties[name]] if name in properties else []))
        assert wrong >= 3
        proxy.Init()
        assert "the property" not in proxy.Status()
        assert process.exit_status() is None
    finally:
        beamline.end(server)


@pytest.mark.slow
def test_an_init_while_the_database_is_away_is_a_fault_which_the_next_heals(beamline: Beamline) -> None:
    server, name = "Simulator/away", "away/det/1"
    beamline.register(server, "Simulator", name, ReceiverUrl=URL, DataPort=0)
    beamline.serve(server)
    try:
        device = beamline.device(name)
        wait_state(device, ON)
        beamline.database.stop()
        device.set_timeout_millis(30_000)  # Tango itself asks the database for some seconds
        device.Init()
        assert device.State() == FAULT
        assert "the Tango database does not say this device's properties" in device.Status()
        assert "wait until it answers; then call Init." in device.Status()
        beamline.restart_database()

        def is_healed() -> bool:  # Tango's client of the database waits a second between two attempts
            device.Init()
            return "the Tango database" not in str(device.Status())

        until(is_healed, "Init finds the database", 20.0)
        wait_state(device, ON)
    finally:
        beamline.end(server)
