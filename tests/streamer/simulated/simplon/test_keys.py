"""The keys of the simulated control unit as DECTRIS' documents have them, per version; no sockets."""

from __future__ import annotations

import pytest

from penstock.streamer.simulated.simplon.key import NEW, OLD, Key
from penstock.streamer.simulated.simplon.settings import Settings

ROWS, COLS = 20, 30
BOTH = pytest.mark.parametrize("api", [NEW, OLD])


def settings(api: str = NEW, stream: str | None = None) -> Settings:
    """Those of a box that was initialised."""
    made = Settings(api, stream, ROWS, COLS, "Dectris EIGER2 Si 1M")
    made.state = "idle"
    return made


def key(name: str, api: str = NEW) -> Key:
    subsystem, section, rest = name.split("/", 2)
    return settings(api).key(subsystem, section, rest)


@BOTH
def test_before_initialize_there_is_the_state_and_nothing_else(api: str) -> None:
    """SIMPLON API 1.8, p. 8 and 35."""
    off = Settings(api, "legacy", ROWS, COLS, "Dectris EIGER2 Si 1M")
    assert off.key("detector", "status", "state").value == "na"
    for subsystem, section in off.of:
        listed = off.keys(subsystem, section)
        assert listed == (["state"] if (subsystem, section) == ("detector", "status") else [])
    for subsystem, name in (("detector", "count_time"), ("stream", "mode")):
        with pytest.raises(KeyError):
            off.key(subsystem, "config", name)
        with pytest.raises(KeyError):
            off.put(subsystem, name, 0.1)
    for use in (off.table, off.delete):
        with pytest.raises(KeyError):
            use("pixel_mask")


@pytest.mark.parametrize(
    ("given", "mode", "form"),
    [(None, "disabled", "legacy"), ("legacy", "enabled", "legacy"), ("cbor", "enabled", "cbor")],
)
def test_the_stream_is_off_and_legacy_unless_said_otherwise(given: str | None, mode: str, form: str) -> None:
    """DECTRIS documentation, "Stream V2"."""
    made = settings(stream=given)
    assert (made.get("stream", "config", "mode"), made.get("stream", "config", "format")) == (mode, form)
    with pytest.raises(KeyError):
        settings(OLD).key("stream", "config", "format")


@pytest.mark.parametrize(
    "name",
    [
        "auto_sum_strict", "chi_axis", "detector_orientation", "detector_orientation_angle",
        "detector_orientation_axis", "flux_type", "flux_value", "kappa_axis", "ntriggers_skipped",
        "omega_axis", "phi_axis", "roi_bit_depth", "roi_y_size", "test_image_mode", "test_image_value",
        "transformation_order", "two_theta_axis",
    ],
)  # fmt: skip
def test_keys_that_1_8_documents_and_1_6_lacks(name: str) -> None:
    """SIMPLON API 1.8, "Detector Subsystem"; UM 9.6."""
    assert key(f"detector/config/{name}").value is not None
    with pytest.raises(KeyError):
        key(f"detector/config/{name}", OLD)


def test_the_table_of_the_count_rate_correction_is_read_only() -> None:
    made = settings()
    assert made.table("countrate_correction_table").shape == (4000, 2)
    assert "countrate_correction_table" in made.keys("detector", "config")
    with pytest.raises(KeyError):
        made.put("detector", "countrate_correction_table", [])
    with pytest.raises(KeyError):
        settings(OLD).table("countrate_correction_table")


@pytest.mark.parametrize("value", [[1.0, 0.0], [1.0, 0.0, "x"], [1.0, 0.0, True], 1.0])
def test_an_axis_has_three_numbers(value: object) -> None:
    with pytest.raises(ValueError, match=r"not of the type float\[\] of 3"):
        settings().put("detector", "omega_axis", value)


@BOTH
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("detector/config/bit_depth_readout", None),
        ("detector/config/description", None),
        ("detector/config/frame_count_time", None),
    ],
)
def test_keys_that_can_only_be_read(api: str, name: str, values: None) -> None:
    assert key(name, api).access == "r"
    with pytest.raises(PermissionError, match="read-only"):
        settings(api).put("detector", name.rpartition("/")[2], 16)


@pytest.mark.parametrize(
    ("name", "new", "old"),
    [
        ("compression", {"lz4", "bslz4", "none"}, {"lz4", "bslz4"}),
        ("trigger_mode", {"ints", "inte", "exts", "exte", "extg", "eies"}, {"ints", "inte", "exts", "exte"}),
        ("extg_mode", {"single", "double"}, None),
        ("counting_mode", {"normal", "retrigger"}, None),
    ],
)
def test_allowed_values(name: str, new: set[str], old: set[str] | None) -> None:
    """Release notes 2020.2 (compression) and 2022.1 (eies); the recording of an EIGER 500K (1.6)."""
    assert set(key(f"detector/config/{name}").allowed or ()) == new
    if old is not None:
        assert set(key(f"detector/config/{name}", OLD).allowed or ()) == old


@BOTH
def test_sensors_by_board_are_in_both_versions(api: str) -> None:
    """Deprecated in 1.8, and there (p. 28): ADEiger reads them."""
    for name in ("th0_temp", "th0_humidity"):
        assert key(f"detector/status/board_000/{name}", api).value > 0


@BOTH
def test_the_monitor_keeps_100_images_and_discards_new_ones(api: str) -> None:
    """SIMPLON API, "Monitor Subsystem"."""
    assert key("monitor/config/buffer_size", api).value == 100
    assert key("monitor/config/discard_new", api).value is True
    assert key("monitor/status/buffer_free", api).value == 100
    if api == OLD:
        assert key("monitor/status/next_image_number", api).value == [0, 0]


def test_the_file_writer_has_formats_in_1_8_and_a_transfer_mode_in_1_6() -> None:
    formats = ("hdf5 nexus legacy nxmx", "hdf5 nexus v2024.2 nxmx")
    assert key("filewriter/config/format").allowed == formats
    assert key("filewriter/config/transfer_mode", OLD).value == "HTTP"
    for name, api in (("format", OLD), ("transfer_mode", NEW)):
        with pytest.raises(KeyError):
            key(f"filewriter/config/{name}", api)


OF_ADEIGER = {
    "detector/config": (
        "description wavelength photon_energy threshold_energy ntrigger compression roi_mode auto_summation "
        "count_time frame_time nimages trigger_mode software_version eiger_fw_version detector_number "
        "x_pixels_in_detector y_pixels_in_detector sensor_thickness sensor_material "
        "countrate_correction_count_cutoff x_pixel_size y_pixel_size flatfield_correction_applied "
        "countrate_correction_applied pixel_mask_applied bit_depth_image detector_readout_time "
        "detector_distance beam_center_x beam_center_y chi_start chi_increment kappa_start kappa_increment "
        "omega_start omega_increment phi_start phi_increment two_theta_start two_theta_increment"
    ),
    "detector/status": "state error board_000/th0_temp board_000/th0_humidity",
    "filewriter/config": "mode compression_enabled name_pattern nimages_per_file image_nr_start",
    "filewriter/status": "state buffer_free",
    "monitor/config": "mode buffer_size",
    "monitor/status": "state",
    "stream/config": "mode header_detail header_appendix image_appendix",
    "stream/status": "state dropped",
}
"""What ADEiger reads of either version: `eigerDetector.cpp`, `eigerBase.template`."""
OF_ADEIGER_BY_VERSION = {
    OLD: {"detector/status": "link_0 link_1 link_2 link_3 builder/dcu_buffer_free"},
    NEW: {
        "detector/config": (
            "threshold/1/mode threshold/2/energy threshold/2/mode threshold/difference/mode "
            "trigger_start_delay counting_mode extg_mode nexpi"
        ),
        "detector/status": "high_voltage/state",
        "filewriter/config": "format",
        "stream/config": "format",
    },
}
"""The same, `eiger1.template` and `eiger2.template`."""


@BOTH
def test_all_that_adeiger_reads_is_there_with_a_type_that_it_knows(api: str) -> None:
    for wanted in (OF_ADEIGER, OF_ADEIGER_BY_VERSION[api]):
        for section, names in wanted.items():
            for name in names.split():
                answer = key(f"{section}/{name}", api).answer()
                kind = "enum" if "allowed_values" in answer else answer["value_type"]
                assert kind[0] in "sfbuie", name  # as `EigerParam::parseType` tells types apart
