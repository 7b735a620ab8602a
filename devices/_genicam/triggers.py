"""What starts a frame, whatever another program has left in the camera.

Names: "GenICam Standard Features Naming Convention" (SFNC) 2.7, chapter 5, and the older ones of its vendors.
"""

from __future__ import annotations

from penstock.devices._genicam.aravis import Aravis

SELECTOR, ACTIVATION = b"TriggerSelector", b"TriggerActivation"
NEUTRAL_FLOATS = {b"TriggerDelay": 0.0, b"TriggerDelayAbs": 0.0}
NEUTRAL_INTEGERS = {b"TriggerDivider": 1, b"TriggerMultiplier": 1}
"""What lets each trigger start one frame at once."""
EXPOSURE_MODE, TIMED = b"ExposureMode", b"Timed"


def set_up(lib: Aravis, camera: int, source: bytes | None) -> None:
    """Let each trigger of a source start one exposure of the time that is set, at once.

    Args:
        lib: the library.
        camera: an ArvCamera.
        source: of the trigger, such as b"Line1"; `None` if the camera's own clock starts the frames.

    Raises:
        CameraError: the camera refuses.
    """
    _expose_as_long_as_is_set(lib, camera)
    lib.camera_clear_triggers(camera)
    if source is None:
        return
    edges = _activations(lib, camera)
    lib.camera_set_trigger(camera, source)  # which selects the kind of trigger that it has set
    for name, number in NEUTRAL_FLOATS.items():
        if lib.camera_is_feature_available(camera, name) and lib.camera_get_float(camera, name) != number:
            lib.camera_set_float(camera, name, number)
    for name, whole in NEUTRAL_INTEGERS.items():
        if lib.camera_is_feature_available(camera, name) and lib.camera_get_integer(camera, name) != whole:
            lib.camera_set_integer(camera, name, whole)
    edge = edges.get(_selected(lib, camera))
    if edge and lib.camera_get_string(camera, ACTIVATION) != edge:  # the library has set the rising edge
        lib.camera_set_string(camera, ACTIVATION, edge)


def _expose_as_long_as_is_set(lib: Aravis, camera: int) -> None:
    if not lib.camera_is_feature_available(camera, EXPOSURE_MODE):
        return
    modes = lib.strings(lib.camera_dup_available_enumerations_as_strings, camera, EXPOSURE_MODE)
    if TIMED.decode() in modes and lib.camera_get_string(camera, EXPOSURE_MODE) != TIMED:
        lib.camera_set_string(camera, EXPOSURE_MODE, TIMED)


def _selected(lib: Aravis, camera: int) -> bytes:
    """Return the kind of trigger that other features are about; b"" if there is but one."""
    has_kinds = lib.camera_is_feature_available(camera, SELECTOR)
    return bytes(lib.camera_get_string(camera, SELECTOR)) if has_kinds else b""


def _activations(lib: Aravis, camera: int) -> dict[bytes, bytes]:
    """Return the edge that starts each kind of trigger, as far as the camera says it."""
    if not lib.camera_is_feature_available(camera, SELECTOR):
        return {b"": _activation(lib, camera)}
    found = {}
    for kind in lib.strings(lib.camera_dup_available_enumerations_as_strings, camera, SELECTOR):
        lib.camera_set_string(camera, SELECTOR, kind.encode())
        found[kind.encode()] = _activation(lib, camera)
    return found


def _activation(lib: Aravis, camera: int) -> bytes:
    has_edges = lib.camera_is_feature_available(camera, ACTIVATION)
    return bytes(lib.camera_get_string(camera, ACTIVATION) or b"") if has_edges else b""
