"""A fake of slsdet with the names that `devices/_sls` uses; behind it is `tests/devices/sls_box.py`.

As the real one, it keeps what it knows of modules and receivers in a file under a name of the environment
(SLSDETNAME), raises RuntimeError for everything, and has properties for settings and methods for commands.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from enum import Enum
from pathlib import Path
from typing import Any

timingMode = Enum("timingMode", "AUTO_TIMING TRIGGER_EXPOSURE")
gainMode = Enum("gainMode", "DYNAMIC FORCE_SWITCH_G1 FORCE_SWITCH_G2 FIX_G1 FIX_G2 FIX_G0")
detectorSettings = Enum("detectorSettings", "GAIN0 HIGHGAIN0 G1_HIGHGAIN G4_LOWGAIN")
speedLevel = Enum("speedLevel", "FULL_SPEED HALF_SPEED QUARTER_SPEED")
runStatus = Enum("runStatus", "IDLE ERROR WAITING RUN_FINISHED TRANSMITTING RUNNING STOPPED")
detectorType = Enum("detectorType", "JUNGFRAU MOENCH EIGER")
dacIndex = Enum("dacIndex", "TEMPERATURE_ADC TEMPERATURE_FPGA")

_ENUMERATIONS = {
    "timing": timingMode, "gainmode": gainMode, "settings": detectorSettings, "readoutspeed": speedLevel,
    "status": runStatus, "rx_status": runStatus, "type": detectorType,
}  # fmt: skip
_METHODS = (
    "startReceiver", "stopReceiver", "startDetector", "stopDetector", "setAdditionalJsonParameter",
    "getAdditionalJsonHeader",
)  # fmt: skip


class Geometry:
    """Columns and rows."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


class Jungfrau:
    """The detector."""

    def __init__(self, multi_id: int = 0) -> None:
        name = f"fake_slsdet_{multi_id}_{os.environ.get('SLSDETNAME', '')}.json"
        self.__dict__["_file"] = Path(tempfile.gettempdir()) / name

    def size(self) -> int:
        return len(self._known()["hosts"])

    def getTemperature(self, index: Enum) -> list[int]:
        return list(self._ask("get", index.name))

    def __getattr__(self, name: str) -> Any:
        if name in _METHODS:
            return lambda *arguments: self._ask("call", name, *arguments)
        known = self._known()
        if not known["hosts"]:
            raise RuntimeError("No modules added")
        match name:
            case "hostname":
                return [host for host, _ in known["hosts"]]
            case "port":
                ports = [port for _, port in known["hosts"]]
                return ports[0] if len(set(ports)) == 1 else ports
            case "use_receiver":
                return bool(known["receivers"])
        value = self._ask("get", name)
        if name == "detsize":
            return Geometry(*value)
        return _ENUMERATIONS[name][value] if name in _ENUMERATIONS else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "hostname":
            self._remember(hosts=[], receivers=[])
            hosts = [(host, int(port)) for host, _, port in (each.partition(":") for each in value)]
            for host in hosts:
                _exchange(host, ["get", "type"])
                _exchange(host, ["call", "setPosition"])
            self._remember(hosts=hosts)
            return
        if name == "rx_hostname":
            value = [] if value == "none" else value
            self._ask("put", name, value)
            self._remember(receivers=value)
            return
        if name in _ENUMERATIONS:
            assert isinstance(value, _ENUMERATIONS[name]), f"{name} takes a member of its enumeration"
            value = value.name
        self._ask("put", name, value)

    def _ask(self, *request: Any) -> Any:
        hosts = self._known()["hosts"]
        if not hosts:
            raise RuntimeError("No modules added")
        return next(iter([_exchange(host, list(request)) for host in hosts]))

    def _known(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._file.read_text())
        except FileNotFoundError:
            return {"hosts": [], "receivers": []}
        return known

    def _remember(self, **values: Any) -> None:
        self._file.write_text(json.dumps(self._known() | values))


class Moench(Jungfrau):
    """Another detector, with the same commands."""


def _exchange(address: Any, request: list[Any]) -> Any:
    host, port = address
    try:
        with socket.create_connection((host, port), 5.0) as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = json.loads(connection.makefile().readline() or "null")
    except OSError:
        raise RuntimeError(f"ClientSocket: Cannot connect to Detector:{host} on port {port}\n") from None
    if answer is None:
        raise RuntimeError("TCP socket read 0 bytes instead of 4 bytes (F_GET_RUN_STATUS)")
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer["ok"]
