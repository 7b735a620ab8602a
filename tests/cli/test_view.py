"""What `penstock view` takes an argument for: an address, a receiver's name, or a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli._arguments.targets import is_file
from penstock.cli.main import main
from penstock.stins.errors import UserError


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with a receiver `lab-7`, in a folder with files of that name and another."""
    monkeypatch.chdir(tmp_path)
    for name in ("lab-7", "scan.h5", "a:5.h5"):
        (tmp_path / name).touch()
    path = tmp_path / "beamline.yaml"
    path.write_text("receivers: {lab-7: {source: {endpoints: ['tcp://127.0.0.1:9999']}, data_root: /tmp}}\n")
    return path


@pytest.mark.parametrize(
    ("what", "file"),
    [
        ("http://lab-7:5000", False), ("scan.h5", True), ("lab-7", False), ("./lab-7", True),
        ("a:5.h5", True),
        ("./gone.h5", True), ("/gone.h5", True), ("~/gone.h5", True), ("host:5000", False),
    ],
)  # fmt: skip
def test_an_address_comes_before_a_name_and_a_name_before_a_file(what: str, file: bool, config: Path) -> None:
    assert is_file(what, config) is file


def test_what_is_neither_is_refused_with_the_names_that_there_are(config: Path) -> None:
    with pytest.raises(UserError, match=r"gone\.h5 is neither a file here nor .*, which has lab-7"):
        is_file("gone.h5", config)


def test_a_file_that_is_not_there_ends_with_2(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["view", "./gone.h5", "--config", str(config)]) == 2
    assert capsys.readouterr().err == f"penstock view: {config.parent}/gone.h5 does not exist\n"


def test_a_pipelines_file_stands_for_its_address(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["view", "gone.yaml", "--config", str(config)]) == 2
    assert "gone.yaml" in capsys.readouterr().err
    Path("azim.yaml").write_text("processor: azim.py:Azim\nhttp: 127.0.0.1:5177\n")
    Path("azim.py").write_text("")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert main(["view", "azim.yaml", "--config", str(config)]) == 2
    assert "gone" not in capsys.readouterr().err, "it is no file of frames: only the screen is missing"
