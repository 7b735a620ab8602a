"""The systemd units start what they say, with options that our commands take, and systemd accepts them."""

from __future__ import annotations

import configparser
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import build_parser

UNITS = Path(__file__).parents[2] / "resources" / "systemd"
NAMES = sorted(path.name for path in UNITS.iterdir())
INSTANCES = {"%i": "lab-1", "%I": "Simulator/one"}


def unit(name: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(
        interpolation=None, comment_prefixes=("#",), inline_comment_prefixes=None
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(UNITS / name)
    return parser


def test_these_units_are_there() -> None:
    assert NAMES == [
        "penstock-database.service", "penstock-device@.service", "penstock-epics@.service",
        "penstock-receiver@.service",
    ]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_what_a_unit_starts_is_a_command_of_ours_with_options_that_it_takes(name: str) -> None:
    start = unit(name)["Service"]["ExecStart"]
    for specifier, stands_for in INSTANCES.items():
        start = start.replace(specifier, stands_for)
    program, *arguments = shlex.split(start)
    assert shutil.which(Path(program).name), f"{program} is no console script of ours"
    args = build_parser(arguments[:1]).parse_args(arguments)
    assert args.run


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_is_restarted_for_ever_starts_at_boot_and_may_not_gain_rights(name: str) -> None:
    parsed = unit(name)
    assert parsed["Service"]["Restart"] == "on-failure"
    assert parsed["Unit"]["StartLimitIntervalSec"] == "0"
    assert parsed["Service"]["NoNewPrivileges"] == "yes"
    assert parsed["Service"]["User"] == "penstock"
    assert parsed["Install"]["WantedBy"] == "multi-user.target"


def test_the_unit_of_a_device_names_its_server_as_tango_does() -> None:
    """systemd unescapes `Simulator-one` to `Simulator/one`, which `penstock device` takes."""
    escape = shutil.which("systemd-escape")
    if escape is None:
        pytest.skip("systemd-escape is not installed: it is in Debian's package systemd")
    done = subprocess.run([escape, "--unescape", "Simulator-one"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == INSTANCES["%I"]


def test_a_receiver_whose_parent_was_killed_may_flush_its_file() -> None:
    """With KillMode=mixed systemd kills the data process as soon as its parent has ended."""
    service = unit("penstock-receiver@.service")["Service"]
    assert "KillMode" not in service
    assert service["OOMPolicy"] == "continue"


@pytest.mark.parametrize("name", NAMES)
def test_systemd_finds_nothing_wrong_with_a_unit(name: str, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed: it is in Debian's package systemd")
    scripts = Path(sys.executable).parent
    for other in NAMES:
        text = (UNITS / other).read_text()
        (tmp_path / other).write_text(re.sub(r"/opt/penstock/bin/", f"{scripts}/", text))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(tmp_path / name)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0 and "penstock" not in done.stderr, done.stderr
