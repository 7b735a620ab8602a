"""The same ten-line script through PyTango and through itango."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.system.accounts import check_account
from tests.system.beamline import Station

SCRIPT = """\
det.TriggerMode = "SOFTWARE"
det.ExposureTime = 0.001
det.nTriggers = 3
det.DestinationFilename = FILE
det.Arm()
for point in range(3):
    while not det.ReadyForSwTrigger: pass
    det.SoftwareTrigger()
while det.State() == RUNNING: pass
print("written", det.nFramesWritten, "missing", det.nFramesMissing, det.State())
"""

PREAMBLE = {
    "pytango": "from tango import DeviceProxy, DevState\n"
    "RUNNING = DevState.RUNNING\n"
    "det = DeviceProxy({device!r})\n",
    # itango has `Device` and the class names at hand, as a user types them.
    "itango": "from tango import DevState\nRUNNING = DevState.RUNNING\ndet = Device({device!r})\n",
}


def command(how: str, script: Path) -> list[str]:
    if how == "pytango":
        return [sys.executable, "-P", str(script)]
    itango = Path(sys.executable).with_name("itango3")
    return [str(itango), "--no-banner", "--no-confirm-exit", "--colors=NoColor", str(script)]


@pytest.mark.parametrize("how", ["pytango", "itango"])
def test_ten_lines_take_a_series(station: Station, how: str, tmp_path: Path) -> None:
    file = station.new_file()
    assert len(SCRIPT.splitlines()) == 10
    suffix = {"pytango": ".py", "itango": ".ipy"}[how]
    script = tmp_path / f"script{suffix}"
    script.write_text(PREAMBLE[how].format(device="sim/det/1") + f"FILE = {str(file)!r}\n" + SCRIPT)
    environment = {
        **os.environ,
        "TANGO_HOST": station.beamline.tango_host,
        "IPYTHONDIR": str(tmp_path / "ipython"),
    }
    done = subprocess.run(
        command(how, script), env=environment, capture_output=True, text=True, timeout=60, cwd=tmp_path,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert "written 3 missing 0 ON" in done.stdout, done.stdout + done.stderr
    check_account(station, file, 3, stored=3)
