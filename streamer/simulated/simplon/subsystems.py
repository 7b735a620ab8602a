"""The keys of all subsystems but `detector/config`, and the commands, in SIMPLON 1.6.0 and 1.8.0.

Sources are named as in `detector_config`; [v2] is DECTRIS' page "Stream V2", [alba] ALBA's client in
eiger-simulator.
"""

from __future__ import annotations

from penstock.streamer.simulated.simplon.key import NEW, Key, fixed, flag, switch, text, whole

Sections = dict[tuple[str, str], dict[str, Key]]
"""Keys by (subsystem, section); a section is "config" or "status"."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "detector": (
        "initialize", "arm", "disarm", "trigger", "cancel", "abort", "status_update", "hv_reset",
        "check_connections",
    ),
    "stream": ("initialize",),
    "monitor": ("initialize", "clear"),
    "filewriter": ("initialize", "clear"),
    "system": ("restart",),
}  # fmt: skip
"""[1.8] "command" of each subsystem; [alba] for `system`."""
FORMATS = ("hdf5 nexus legacy nxmx", "hdf5 nexus v2024.2 nxmx")
"""[1.8] "FileWriter Subsystem"."""


def subsystems(api: str, stream: str | None) -> Sections:
    """Return the keys as after power-on.

    Args:
        api: version of SIMPLON.
        stream: `None` for the defaults; a format, with which the stream comes up enabled.
    """
    new = api == NEW
    return {
        ("detector", "status"): _detector_status() | (_sensors_1_8() if new else _links_1_6()),
        ("stream", "config"): _stream_config(api, stream),
        ("stream", "status"): {
            "state": fixed("disabled"),  # disabled, ready, acquire: [1.8] p. 47
            "error": fixed([], "string[]", listed=False),  # fastcs-eiger `MISSING_KEYS`
            "dropped": fixed(0, "uint"),  # [1.8] p. 47
        },
        ("monitor", "config"): {
            "mode": switch(),  # [ade]
            "buffer_size": whole(100),  # [1.8] "Monitor Subsystem"
            "discard_new": flag(True),  # [1.8] "Monitor Subsystem"
        },
        ("monitor", "status"): _monitor_status() | ({} if new else _monitor_1_6()),
        ("filewriter", "config"): _filewriter_config(new),
        ("filewriter", "status"): {
            "state": fixed("disabled"),  # disabled, ready, acquire, error: [1.8] "FileWriter Subsystem"
            "error": fixed([], "string[]"),  # [1.8] "FileWriter Subsystem"
            "time": fixed("", "datetime"),  # [1.8] "FileWriter Subsystem"
            "buffer_free": fixed(100_000_000, "uint", "kB"),  # [ade]
            "files": fixed([], "string[]"),  # [1.8] "FileWriter Subsystem"
        },
        ("system", "config"): {},
        ("system", "status"): {},
    }


def _detector_status() -> dict[str, Key]:
    return {
        "state": fixed("na"),  # [rec]; the only key before `initialize`: [1.8] p. 8
        "error": fixed([], "string[]", listed=False),  # [rec]; fastcs-eiger `MISSING_KEYS`
        "time": fixed("", "datetime"),  # [rec]
        "board_000/th0_temp": fixed(23.4, "float", "degC"),  # [rec]; deprecated in 1.8, and there: p. 28
        "board_000/th0_humidity": fixed(4.2, "float", "percent"),  # [rec]; as above
        "builder/dcu_buffer_free": fixed(100.0, "float", "percent"),  # [rec]
        "link_0": fixed("up"),  # [rec]
        "link_1": fixed("up"),  # [rec]
    }


def _sensors_1_8() -> dict[str, Key]:
    return {
        "temperature": fixed(23.4, "float", "degC"),  # [1.8] p. 28
        "humidity": fixed(4.2, "float", "percent"),  # [1.8] p. 28
        "high_voltage/state": fixed("READY"),  # [ade]
        "high_voltage/measured": fixed(120.0, "float", "V"),  # [1.8] p. 28
        "series_unique_id": fixed(""),  # [fcs]
    }


def _links_1_6() -> dict[str, Key]:
    return {"link_2": fixed("up"), "link_3": fixed("up")}  # [ade]


def _stream_config(api: str, stream: str | None) -> dict[str, Key]:
    keys = {
        "mode": switch("enabled" if stream else "disabled"),  # disabled: [v2]
        "header_detail": text("basic", "all", "basic", "none"),  # [v2]
        "header_appendix": text(),  # [v2]
        "image_appendix": text(),  # [v2]
    }
    if api == NEW:
        keys["format"] = text(stream or "legacy", "legacy", "cbor")  # legacy: [v2]
    return keys


def _monitor_status() -> dict[str, Key]:
    return {
        "state": fixed("normal"),  # [ade]
        "error": fixed([], "string[]"),  # [fcs]
        "buffer_fill_level": fixed([0, 100], "uint[]"),  # [alba]
        "buffer_free": fixed(100, "uint"),  # [fcs]
        "dropped": fixed(0, "uint"),  # [fcs]
    }


def _monitor_1_6() -> dict[str, Key]:
    return {
        "next_image_number": fixed([0, 0], "uint[]", listed=False),  # [1.6] "Monitor Subsystem", [alba]
        "monitor_image_number": fixed([0, 0], "uint[]", listed=False),  # [alba]
    }


def _filewriter_config(new: bool) -> dict[str, Key]:
    keys = {
        "mode": switch(),  # [ade]
        "compression_enabled": flag(True),  # [ade]
        "image_nr_start": whole(1, 0),  # [ade]
        "name_pattern": text("series_$id"),  # [ade]
        "nimages_per_file": whole(1000, 0),  # [ade]; 1000: [um] 7.3.1
    }
    if new:
        return keys | {"format": text(FORMATS[0], *FORMATS)}  # [1.8] "FileWriter Subsystem", [ade]
    return keys | {"transfer_mode": text("HTTP", "HTTP")}  # [1.6] "FileWriter Subsystem", [alba]
