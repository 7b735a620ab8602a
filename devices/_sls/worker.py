"""The child process that holds slsdet: it makes the calls of `client`, one after the other.

slsdet keeps Python's interpreter lock during every call (its binding releases it nowhere: `python/src` of
slsDetectorPackage 10), and a call to a host without power takes minutes: in its own process, such a call
blocks nobody, and can be ended.

Protocol: lines of JSON. A request is a list of steps, [verb, name, argument, …], with the verb "get" or "put"
(a property of the detector), "temperature" (a sensor) or "call" (a method); the answer is {"ok": [one value
per step]} or {"error": the sentence}. Members of enumerations travel as their names, in both directions.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

from penstock.streamer.camera.loading import load_sdk
from penstock.streamer.camera.unit import CameraError

REMEDY = "install slsdet in the version of the detector's software, such as pip install slsdet==10.0.1"
ENUMERATIONS = {
    "timing": "timingMode", "gainmode": "gainMode", "readoutspeed": "speedLevel",
    "settings": "detectorSettings",
}  # fmt: skip
"""Properties whose values are members of an enumeration of slsdet (`enums.py`)."""
OUTDATED = ("Shared memory is invalid or freed", "No modules added")
"""Errors of an object that was made before another process has set up the modules (SharedMemory.h,
DetectorImpl.cpp)."""


def main(model: str) -> None:
    """Answer requests until the standard input ends.

    Args:
        model: name of the class in slsdet, such as "Jungfrau".
    """
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # whatever slsdet prints is no answer
    try:
        sdk = load_sdk("slsdet", REMEDY)
    except CameraError as error:
        _answer(answers, {"error": str(error)})
        return
    _answer(answers, {"ok": []})
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # slsdet logs each of its errors, which the answers have
    detector = None
    for line in sys.stdin:
        steps = json.loads(line)
        for attempt in (1, 2):
            try:
                detector = detector or getattr(sdk, model)()
                _answer(answers, {"ok": [_do(sdk, detector, *step) for step in steps]})
                break
            except Exception as error:  # slsdet raises RuntimeError for nearly everything
                if attempt == 1 and any(words in str(error) for words in OUTDATED):
                    detector = None
                    continue
                _answer(answers, {"error": f"{error}".strip() or type(error).__name__})
                break


def _do(sdk: Any, detector: Any, verb: str, name: str, *arguments: Any) -> Any:
    match verb:
        case "get":
            return _plain(getattr(detector, name))
        case "put":
            (value,) = arguments
            if name in ENUMERATIONS:
                value = getattr(getattr(sdk, ENUMERATIONS[name]), value)
            if isinstance(value, dict):
                value = {int(module): each for module, each in value.items()}  # JSON's keys are texts
            setattr(detector, name, value)
            return None
        case "temperature":
            return _plain(detector.getTemperature(getattr(sdk.dacIndex, name)))
        case _:
            return _plain(getattr(detector, name)(*arguments))


def _plain(value: Any) -> Any:
    """Return a value of slsdet as JSON has it."""
    if value is None or (
        isinstance(value, bool | int | float | str) and type(value).__module__ == "builtins"
    ):
        return value
    if hasattr(value, "name") and hasattr(value, "value"):
        return value.name  # a member of an enumeration
    if hasattr(value, "x") and hasattr(value, "y"):
        return [value.x, value.y]
    if hasattr(value, "item"):
        return value.item()  # a number of NumPy
    if isinstance(value, dict):
        return {str(key): str(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return str(value)  # addresses, paths


def _answer(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
