"""What else changes when a key of the simulated control unit is set, and what the PUT answers; no sockets."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.streamer.simulated.simplon import couplings
from penstock.streamer.simulated.simplon.key import NEW, OLD
from tests.streamer.simulated.simplon.test_keys import BOTH, COLS, ROWS, settings

FRAMES = {"bit_depth_image", "countrate_correction_count_cutoff", "frame_count_time", "frame_period"}


@BOTH
def test_the_translation_is_beam_centre_and_distance_in_metres_and_the_reverse(api: str) -> None:
    """SIMPLON API 1.8, section 4.2."""
    made = settings(api)
    assert made["detector_translation"] == pytest.approx([COLS / 2 * 75e-6, ROWS / 2 * 75e-6, 0.1])
    assert made.put("detector", "beam_center_x", 10.0) == ["beam_center_x", "detector_translation"]
    made.put("detector", "beam_center_y", 20.0)
    made.put("detector", "detector_distance", 0.25)
    assert made["detector_translation"] == pytest.approx([750e-6, 1500e-6, 0.25])

    answer = made.put("detector", "detector_translation", [0.0015, 0.003, 0.5])

    assert set(answer) == {"beam_center_x", "beam_center_y", "detector_distance", "detector_translation"}
    assert [made[f"beam_center_{axis}"] for axis in "xy"] == pytest.approx([20.0, 40.0])
    assert made["detector_distance"] == 0.5


def test_the_second_threshold_follows_the_energy_at_1_4_of_it() -> None:
    """UM 7.4.1."""
    made = settings()
    made.put("detector", "photon_energy", 10_000.0)
    assert made["threshold/1/energy"] == made["threshold_energy"] == 5000.0
    assert made["threshold/2/energy"] == pytest.approx(14_000.0)
    made.put("detector", "photon_energy", 40_000.0)
    assert made["threshold/2/energy"] == 40_000.0, "the greatest threshold"


def test_the_difference_needs_all_thresholds_and_leaves_them_on() -> None:
    """SIMPLON API 1.8, p. 24; UM 7.3.2 says that they are switched off."""
    made = settings()
    with pytest.raises(ValueError, match="enable threshold/2/mode first"):
        made.put("detector", "threshold/difference/mode", "enabled")
    assert made["threshold/difference/mode"] == "disabled"
    made.put("detector", "threshold/2/mode", "enabled")
    made.put("detector", "threshold/difference/mode", "enabled")
    assert made.channels == ("threshold_1", "threshold_2", "difference")
    assert "threshold/difference/mode" in made.put("detector", "threshold/1/mode", "disabled")
    assert made.channels == ("threshold_2",)


@BOTH
@pytest.mark.parametrize(
    ("name", "value", "may"),
    [
        ("count_time", 0.01, FRAMES),
        ("frame_time", 0.02, {"count_time", *FRAMES}),
        ("auto_summation", True, FRAMES),
        ("photon_energy", 8047.78, {"element", "wavelength", "threshold_energy", "flatfield"}),
        ("threshold_energy", 4023.89, {"flatfield"}),
        ("nimages", 1, set()),
    ],
)
def test_a_put_names_what_may_have_changed_also_if_nothing_has(
    api: str, name: str, value: float, may: set[str]
) -> None:
    """SIMPLON API 1.8, p. 4: "count_time" and what follows it."""
    made = settings(api)
    made.put("detector", name, value)
    assert {name, *may} <= set(made.put("detector", name, value))
    if not may:
        assert made.put("detector", name, value) == [name]


def test_answers_in_1_6_name_no_threshold_by_number() -> None:
    assert not [name for name in settings(OLD).put("detector", "photon_energy", 9000.0) if "/" in name]
    assert "threshold/2/flatfield" in settings(NEW).put("detector", "photon_energy", 9000.0)


@pytest.mark.parametrize(
    ("count_time", "summed", "bits", "cutoff"),
    [(0.001, True, 16, 2943), (0.01, True, 16, 29_432), (1.0, True, 32, 2_943_293), (1.0, False, 16, 65_534)],
)
def test_the_cutoff_follows_count_time_and_fits_the_pixel_type(
    count_time: float, summed: bool, bits: int, cutoff: int
) -> None:
    made = settings()
    made.put("detector", "auto_summation", summed)
    made.put("detector", "count_time", count_time)
    assert made["bit_depth_image"] == bits
    assert made["countrate_correction_count_cutoff"] == cutoff


def test_frame_times_are_those_of_the_sub_frames_if_they_are_summed() -> None:
    """As in the recording of an EIGER 1M: frame_period times sub-frames is count_time and one dead time."""
    made = settings()
    made.put("detector", "count_time", 1.0)
    parts = 1.0 / made["frame_period"]
    assert parts == pytest.approx(51, abs=1e-3)
    readout = made["detector_readout_time"]
    assert made["frame_count_time"] == pytest.approx(made["frame_period"] - readout)
    made.put("detector", "auto_summation", False)
    assert made["frame_count_time"] == 1.0
    assert made["frame_period"] == pytest.approx(1.0 + readout)


@pytest.mark.parametrize("mode", ["inte", "exte"])
def test_a_gate_exposes_one_image(mode: str) -> None:
    """Release notes 2020.2.2."""
    made = settings()
    made.put("detector", "nimages", 2)
    with pytest.raises(ValueError, match=f"nimages is 2; it can only be 1 in trigger mode {mode}"):
        made.put("detector", "trigger_mode", mode)
    assert made["trigger_mode"] == "ints"
    made.put("detector", "nimages", 1)
    made.put("detector", "trigger_mode", mode)
    with pytest.raises(ValueError, match="it can only be 1"):
        made.put("detector", "nimages", 2)
    old = settings(OLD)
    old.put("detector", "nimages", 2)
    old.put("detector", "trigger_mode", mode)


def test_a_series_has_at_most_two_to_the_48_images() -> None:
    """Release notes 2022.1.2; 1.6 as recorded."""
    made = settings()
    made.put("detector", "nimages", 2**40)
    made.put("detector", "ntrigger", 2**8)
    assert made.frames == 2**48
    couplings.refuse_series(made.of["detector", "config"], api=NEW)
    made.put("detector", "ntrigger", 2**8 + 1)  # the other number may follow
    with pytest.raises(ValueError, match=f"above {2**48}"):
        couplings.refuse_series(made.of["detector", "config"], api=NEW)
    with pytest.raises(ValueError, match="above the maximum"):
        settings().put("detector", "nimages", 2**48 + 1)
    with pytest.raises(ValueError, match="above the maximum"):
        settings(OLD).put("detector", "nimages", 2_000_000_001)


def test_eies_takes_one_edge_more_than_images() -> None:
    """UM 9.6: 11 edges, 10 images."""
    made = settings()
    made.put("detector", "trigger_mode", "eies")
    made.put("detector", "ntrigger", 11)
    assert made.frames == 10
    made.put("detector", "ntriggers_skipped", 1)
    assert made.frames == 5


@BOTH
@pytest.mark.parametrize(("name", "default"), [("pixel_mask", 0), ("flatfield", 1)])
def test_a_table_that_is_deleted_has_its_default_again(api: str, name: str, default: int) -> None:
    """SIMPLON API 1.8, p. 16 and 19."""
    made = settings(api)
    answer = made.put("detector", name, np.full((ROWS, COLS), 7))
    assert (made.table(name) == 7).all()
    made.delete(name)
    assert (made.table(name) == default).all()
    if api == NEW:
        assert answer == [name, f"threshold/1/{name}"]
        made.put("detector", f"threshold/1/{name}", np.full((ROWS, COLS), 3))
        assert (made.table(name) == 3).all() and (made.table(f"threshold/2/{name}") == default).all()
    with pytest.raises(PermissionError, match="cannot be deleted"):
        made.delete("count_time")
    with pytest.raises(KeyError):
        made.delete("nothing")
    with pytest.raises(ValueError, match=rf"shape \({COLS}, {ROWS}\)"):
        made.put("detector", name, np.zeros((COLS, ROWS)))
