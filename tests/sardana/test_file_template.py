"""Names of detector files."""

from __future__ import annotations

import pytest

from penstock.sardana.channel.file_template import DEFAULT, PATTERN, TemplateError, check, render

CONTEXT = {"scan_dir": "/data/visit", "scan_file": "si", "scan_id": 7}


@pytest.mark.parametrize(
    ("template", "path"),
    [
        (DEFAULT, "/data/visit/si_00007_sim_0002.h5"),
        ("h5file://{ScanDir}/{detector}/{ScanID}-{number}.h5", "/data/visit/sim/7-2.h5"),
        ("/scratch/{number:02d}.h5", "/scratch/02.h5"),
        ("h5file:///data/{index}", "/data/2.h5"),
        ("h5file:///data/img_{index:03d}.h5", "/data/img_002.h5"),
        ("h5file:///data/img_{index}.nxs::entry/data/data", "/data/img_2.nxs"),
        ("{ScanDir}/{index:04d}.hdf5", "/data/visit/0002.hdf5"),
        ("{ScanDir}/{{raw}}_{number}.h5", "/data/visit/{raw}_2.h5"),
    ],
)
def test_a_template_names_a_file(template: str, path: str) -> None:
    assert render(template, CONTEXT, "sim", 2) == path


def test_outside_a_scan_the_file_is_called_ct() -> None:
    assert render(DEFAULT, {"scan_dir": "/data/"}, "sim", 1) == "/data/ct_00000_sim_0001.h5"


@pytest.mark.parametrize(
    ("scan_file", "cleaned"),
    [
        ("a/b", "a_b"),
        ("../up", "_up"),
        ("x\ny :: z", "x_y_z"),
        ("Ångström-2+", "Ångström-2+"),
        ("{n}", "_n_"),
    ],
)
def test_values_make_no_folders_and_no_fields(scan_file: str, cleaned: str) -> None:
    path = render("{ScanDir}/{ScanFile}_{number}.h5", {**CONTEXT, "scan_file": scan_file}, "sim", 1)
    assert path == f"/data/visit/{cleaned}_1.h5"


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("{ScanDir}/{Scan}_{number}.h5", r"unknown field \{Scan\}; there are \{ScanDir\}, .*\{number\}"),
        ("{ScanDir}/{}_{number}.h5", "unknown field"),
        ("{ScanDir.x}/{number}.h5", "unknown field"),
        ("{ScanDir!r}/{number}.h5", "write {ScanDir} or {ScanDir:FORMAT}"),
        ("{ScanDir}/{ScanFile}.h5", r"without \{number\} .* add \{number:04d\}"),
        ("{ScanFile}_{number}.h5", "not an absolute path; begin it with {ScanDir}/ or /"),
        ("file:///data/{number}.h5", "not an absolute path"),
        ("file:///tmp/img_{index}.tiff", "not an absolute path"),
        ("h5file:///tmp/img_{index}.tiff", "let the name end in .h5"),
        ("h5file://data/{index}", "not an absolute path"),
        ("h5file:///data/all.h5", r"without \{number\}"),
        ("{ScanDir}/{ScanFile:05d}_{number}.h5", "Unknown format code"),
        ("{ScanDir}/{number.h5", "expected '}'"),
        ("{ScanDir}/a\n{number}.h5", "is not allowed; remove it"),
        ("{ScanDir}/a::{number}.h5", "'::' is not allowed"),
        ("{ScanDir}/../{number}.h5", "without '..'"),
        ("{ScanDir}/{number}.tiff", "let the name end in .h5, .hdf5, .nxs"),
        ("{ScanDir}/{number}/.h5", "let the name end in .h5, .hdf5, .nxs"),
        ("", r"without \{number\}"),
    ],
)
def test_an_unfit_template_is_refused_with_the_remedy(template: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        check(template)


@pytest.mark.parametrize(
    ("scan_dir", "sentence"),
    [
        ("", "ScanDir is not set; choose the folder with `senv ScanDir"),
        ("data", "is 'data', not an absolute"),
    ],
)
def test_a_scan_needs_its_folder(scan_dir: str, sentence: str) -> None:
    with pytest.raises(TemplateError, match=sentence):
        render(DEFAULT, {**CONTEXT, "scan_dir": scan_dir}, "sim", 1)


def test_a_refusal_names_the_setting_that_has_the_template() -> None:
    with pytest.raises(TemplateError, match="^FileTemplate /data/a.h5: without"):
        check("/data/a.h5")
    with pytest.raises(TemplateError, match="^ValueRefPattern h5file:///data/a.h5: without"):
        render("h5file:///data/a.h5", CONTEXT, "sim", 1, PATTERN)
