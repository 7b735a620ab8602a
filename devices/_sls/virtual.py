"""PSI's own virtual detector and slsReceiver, built from their source distribution by `make judges`.

Started by demonstrations and tests: python -m penstock.devices._sls.virtual FOLDER MODULE_PORT RECEIVER_PORT
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from penstock.devices._sls.connection import memory_name

PROGRAMS = ("jungfrauDetectorServer_virtual", "slsReceiver")
BUILT = Path(__file__).resolve().parents[2] / ".venv-judges/slsdet/bin"
"""Where `make judges` puts them, in a clone."""
START = 60.0
"""Seconds until both listen: the detector takes 7."""
SHARED = Path("/dev/shm")
"""Where slsdet keeps what it knows (`SharedMemory.h`)."""


def found() -> Path | None:
    """Return the folder with the programs; `None` if they are not built."""
    return BUILT if all((BUILT / name).is_file() for name in PROGRAMS) else None


def main(folder: str, module: int, receiver: int) -> None:
    """Run both until SIGTERM; print a line of JSON once they can be used.

    Args:
        folder: folder with the programs.
        module: port of the module; it takes the next one, too.
        receiver: port of slsReceiver.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    commands = (
        [f"{folder}/{PROGRAMS[0]}", "-p", str(module)], [f"{folder}/{PROGRAMS[1]}", "-p", str(receiver)]
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="virtual-jungfrau-") as scratch, contextlib.ExitStack() as stack:
        stack.callback(_forget, module)
        for command in commands:
            log = stack.enter_context(open(Path(scratch) / Path(command[0]).name, "wb"))
            # A session of its own: the detector's server starts a second process, which outlives it.
            process = subprocess.Popen(
                command, cwd=scratch, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(_kill, process.pid)
        for port in (module, module + 1, receiver):
            _await(port)
        print(json.dumps({"module": f"127.0.0.1:{module}", "receiver": f"127.0.0.1:{receiver}"}), flush=True)
        signal.pause()


def _await(port: int) -> None:
    end = time.monotonic() + START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            if time.monotonic() > end:
                sys.exit(f"nobody listens on port {port} after {START:g} s")
            time.sleep(0.1)
        else:
            return


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _forget(module: int) -> None:
    """Remove what slsdet has kept of the module: the next one has another port."""
    for file in SHARED.glob(f"slsDetectorPackage_*_{memory_name([('127.0.0.1', module)])}"):
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
