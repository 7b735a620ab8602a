"""What slsdet has to know of modules, receivers and data network before a series can be taken.

It keeps that in /dev/shm, where it outlives this program; a module keeps its part until it is switched off.
slsDetectorPackage 10, `docs/src/configcommands.rst`; `Detector.h`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.devices._sls.client import Client, NotSetUp
from penstock.devices._sls.parameters import flat
from penstock.stins.texts import plural
from penstock.streamer.camera.own_stream import BoxState, Progress
from penstock.streamer.camera.settings import Value
from penstock.streamer.camera.unit import CameraError

CONTROL, RECEIVER = 1952, 1954
"""Default ports of a module and of slsReceiver (`docs/src/configcommands.rst`)."""
SETUP = 120.0
"""Seconds for everything: each module takes some seconds, longer if it was just switched on."""

NO_MAC = "00:00:00:00:00:00"
"""Source of a module that was just switched on: it gets one with its position, from `hostname`
(`slsDetectorServer_funcs.c`, `calculate_and_set_position`)."""
BUSY = frozenset({"RUNNING", "WAITING", "TRANSMITTING", "RUN_FINISHED"})
"""States of modules and receivers with a series (`enums.py`, `runStatus`)."""


class Modules:
    """The modules of one detector, and their receivers, as the device's properties have them.

    Args:
        unit: properties of the unit.

    Raises:
        CameraError: a property is wrong.
    """

    def __init__(self, unit: Mapping[str, Value]) -> None:
        self.hosts = [_with_port(each, CONTROL, "Host") for each in _list(unit["Host"])]
        self.config = str(unit["ConfigFile"])
        if not self.hosts:
            raise CameraError(
                "the property Host is empty; set it to the detector's modules, HOST or HOST:PORT"
            )
        given = [_with_port(each, RECEIVER, "Receiver") for each in _list(unit["Receiver"])]
        if len(given) == 1:  # counted up, as rx_tcpport does
            host, port = given[0]
            given = [(host, port + number) for number in range(len(self.hosts))]
        self.receivers = given
        self.sources = _per_module(unit, "UdpSource", len(self.hosts))
        self.destinations = _per_module(unit, "UdpDestination", len(self.hosts))
        if len(given) != len(self.hosts):
            raise CameraError(
                f"the property Receiver has {len(given)} addresses for {plural(len(self.hosts), 'module')}; "
                "give one for each, or the first one"
            )
        self.udp_port, self.stream_port = int(unit["UdpPort"]), int(unit["StreamPort"])
        self.differs = ""
        """What slsdet and the modules remember of other properties than these, in words; "" for nothing."""
        self.other_receivers = False
        """True if slsdet remembers other receivers than those of the properties."""

    @property
    def name(self) -> str:
        """Name under which slsdet keeps what it knows of these modules."""
        return memory_name(self.hosts)

    @property
    def words(self) -> str:
        """The modules, for messages."""
        return ", ".join(map(_joined, self.hosts))

    def attach(self, client: Client) -> None:
        """Let slsdet know the modules, unless it does from before; changes nothing in them.

        Looks whether receivers and data network are still those of the properties.

        Raises:
            CameraError: they are of another version than slsdet, which says so.
            BoxLost: one of them does not answer.
        """
        if client.do(("call", "size"))[0] == len(self.hosts):
            hosts, ports = client.get("hostname", "port")
            known = list(zip(flat(hosts), flat(ports) * len(self.hosts), strict=False))
            if known[: len(self.hosts)] == self.hosts:
                self.differs, self.other_receivers = "", False
                if not self.config:
                    self._compare(client)
                return
        client.do(("put", "hostname", [_joined(each) for each in self.hosts]), seconds=SETUP)

    def state(self, client: Client) -> Progress:
        """Return the state of modules and receivers together.

        Raises:
            BoxLost: one of them does not answer.
        """
        status, uses, powered, macs = client.get("status", "use_receiver", "powerchip", "udp_srcmac")
        detector = set(flat(status))
        if "ERROR" in detector:
            return Progress(state=BoxState.ERROR, message="a module is in the state ERROR")
        if detector & BUSY:
            return Progress(state=BoxState.ARMED)
        if not all(flat(uses)):
            return Progress(state=BoxState.UNINITIALISED, message="slsdet knows no slsReceiver for it yet")
        if off := self._where(macs, NO_MAC):
            return Progress(state=BoxState.UNINITIALISED, message=f"{off} switched off and on")
        if self.differs:  # perhaps there is no such slsReceiver, or no longer
            return Progress(state=BoxState.UNINITIALISED, message=self.differs)
        if not all(flat(powered)):
            return Progress(state=BoxState.UNINITIALISED, message="the chips have no power")
        try:
            receivers, publishes = client.get("rx_status", "rx_zmqstream")
        except NotSetUp:
            return Progress(
                state=BoxState.UNINITIALISED, message="slsReceiver was started again, and knows nothing of it"
            )
        if set(flat(receivers)) & BUSY:
            return Progress(state=BoxState.ARMED)
        if not all(flat(publishes)):
            return Progress(
                state=BoxState.UNINITIALISED,
                message="slsReceiver publishes no frames: another client has stopped that",
            )
        return Progress(state=BoxState.IDLE)

    def _where(self, values: Any, value: str) -> str:
        """Return which modules have this value: "the module at … was", "the modules at … were"; "" for none.

        Args:
            values: those of all modules, as slsdet has them: one if all are equal.
            value: value that is looked for.
        """
        found = flat(values)
        found = found * len(self.hosts) if len(found) == 1 else found
        have = [_joined(host) for host, each in zip(self.hosts, found, strict=False) if each == value]
        if not have:
            return ""
        return f"the module at {have[0]} was" if len(have) == 1 else f"the modules at {', '.join(have)} were"

    def _compare(self, client: Client) -> None:
        """Find a property that slsdet or the modules have otherwise."""
        if not all(flat(client.get("use_receiver"))):
            return  # there is nothing to compare
        found = [flat(each) for each in client.get("rx_hostname", "rx_tcpport", "udp_dstport")]
        hosts, ports, (udp_port, *_) = found
        receivers = list(zip(hosts * (len(ports) // len(hosts)), ports, strict=False))
        addresses = [flat(each) for each in client.get("udp_srcip", "udp_dstip")]
        for name, wanted, now in (
            ("Receiver", list(map(_joined, self.receivers)), list(map(_joined, receivers))),
            ("UdpPort", [str(self.udp_port)], [str(udp_port)]),
            ("UdpSource", _each(self.sources), addresses[0]),
            ("UdpDestination", _each(self.destinations), addresses[1]),
        ):
            if wanted and not all(map(_same, wanted, now)):
                self.differs = f"{name} is {', '.join(now)}, and the property has {', '.join(wanted)}"
                self.other_receivers = name == "Receiver"
                return

    def configure(self, client: Client) -> None:
        """Set up receivers and data network, and switch the chips on.

        Raises:
            CameraError, BoxLost: see `Client.do`.
        """
        if self.config:
            client.do(("call", "loadConfig", self.config), seconds=SETUP)
        else:
            client.do(
                # slsdet forgets receivers and modules: one that was switched on gets its position and its
                # source MAC only now, and a receiver that is known would refuse an old address for ever.
                ("put", "hostname", [_joined(each) for each in self.hosts]),
                ("put", "udp_dstport", self.udp_port),
                *((("put", "udp_srcip", self.sources),) if self.sources else ()),
                *((("put", "udp_dstip", self.destinations),) if self.destinations else ()),
                ("put", "rx_hostname", [_joined(each) for each in self.receivers]),
                seconds=SETUP,
            )
        client.do(("put", "powerchip", True), seconds=SETUP)
        self.differs, self.other_receivers = "", False

    def publish(self, client: Client) -> None:
        """Let the receivers publish every frame, at the port of the properties, and write no files.

        Each setting restarts the stream (`setRxZmqPort`), so that only what differs is set.
        """
        port, frequency, stream, writes = client.get("rx_zmqport", "rx_zmqfreq", "rx_zmqstream", "fwrite")
        wanted = {
            "rx_zmqport": (flat(port)[0], self.stream_port),
            "rx_zmqfreq": (frequency, 1),
            "rx_zmqstream": (stream, True),
            "fwrite": (writes, False),
        }
        client.do(*(("put", key, value) for key, (now, value) in wanted.items() if now != value))


def memory_name(hosts: Sequence[tuple[str, int]]) -> str:
    """Return the name under which slsdet keeps what it knows of these modules."""
    return "penstock_" + re.sub(r"[^\w.-]", "_", "+".join(map(_joined, hosts)))[:100]


def _list(value: Value) -> list[str]:
    return str(value).replace(",", " ").replace("+", " ").split()


def _with_port(text: str, default: int, name: str) -> tuple[str, int]:
    host, _, port = text.partition(":")
    if not host or (port and not port.isdecimal()) or (":" in text and not port):
        raise CameraError(f"the property {name} has {text!r}; give HOST or HOST:PORT, separated by blanks")
    return host, int(port or default)


def _joined(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"


def _each(addresses: str | dict[str, str]) -> list[str]:
    return list(addresses.values()) if isinstance(addresses, dict) else [addresses] if addresses else []


def _same(wanted: str, now: str) -> bool:
    """Return whether two addresses may be the same: a name has one that only slsdet knows."""
    return wanted == now or wanted[:1].isdigit() != now[:1].isdigit()


def _per_module(unit: Mapping[str, Value], name: str, modules: int) -> str | dict[str, str]:
    """Return one address for all modules, or one for each by its number; "" for none."""
    given = _list(unit[name])
    if len(given) not in (0, 1, modules):
        raise CameraError(
            f"the property {name} has {len(given)} addresses for {plural(modules, 'module')}; give one for "
            "each, or one"
        )
    if len(given) < 2:
        return given[0] if given else ""
    return {str(number): each for number, each in enumerate(given)}
