"""PSI's own virtual detectors and slsReceiver, built from their source distribution by `make judges`.

Started by demonstrations and tests:
python -m penstock.devices._sls.virtual FOLDER SERVER MODULES MODULE_PORT RECEIVER_PORT
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
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.devices._sls.connection import memory_name

RECEIVER = "slsReceiver"
BUILT = Path(__file__).resolve().parents[2] / ".venv-judges/slsdet/bin"
"""Folder in which `make judges` puts them, in a clone."""
START = 45.0
"""Seconds until both listen: the detector takes 7. `stage` waits for longer, and would know no cause."""
LAST_LINES = 5
"""Lines of the log of a program that has ended, for the message."""
SHARED = Path("/dev/shm")
"""Folder in which slsdet keeps what it knows (`SharedMemory.h`)."""


def server_of(model: str) -> str:
    """Return the program that is a virtual module of this model, such as "Jungfrau"."""
    return f"{model.lower()}DetectorServer_virtual"


def found(model: str) -> Path | None:
    """Return the folder with the programs for a model; `None` if they are not built."""
    return BUILT if all((BUILT / name).is_file() for name in (server_of(model), RECEIVER)) else None


def main(folder: str, server: str, modules: int, module: int, receiver: int) -> None:
    """Run both for each module until SIGTERM; print a line of JSON once they can be used.

    Args:
        folder: folder with the programs.
        server: name of that of the detector.
        modules: number of modules.
        module: port of the first module; each takes two.
        receiver: port of the first slsReceiver; the others are counted up.
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    detector, software = f"{folder}/{server}", f"{folder}/{RECEIVER}"
    control = [module + 2 * number for number in range(modules)]
    receivers = [receiver + number for number in range(modules)]
    commands = [
        *([detector, "-p", str(port)] for port in control),
        *([software, "-p", str(port)] for port in receivers),
    ]
    with tempfile.TemporaryDirectory(prefix="virtual-jungfrau-") as scratch, contextlib.ExitStack() as stack:
        _forget(control)  # of earlier ones on these ports, which were killed with SIGKILL
        stack.callback(_forget, control)
        running = []
        for command in commands:
            log = stack.enter_context(open(_log(scratch, command), "wb"))
            # A session of its own: the detector's server starts a second process, which outlives it.
            process = subprocess.Popen(
                command, cwd=scratch, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
            stack.callback(process.wait)
            stack.callback(_kill, process.pid)
            running.append(process)
        for port in (*control, *(each + 1 for each in control), *receivers):
            _await(port, running, scratch)
        print(json.dumps({"modules": control, "receivers": receivers}), flush=True)
        signal.pause()


def _await(port: int, running: Sequence[subprocess.Popen[bytes]], scratch: str) -> None:
    """Wait until somebody listens; end at once if one of the programs has ended."""
    end = time.monotonic() + START
    while True:
        for process in running:
            if (status := process.poll()) is not None:
                sys.exit(_ended(process.args, status, scratch))
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            if time.monotonic() > end:
                sys.exit(f"nobody listens on port {port} after {START:g} s")
            time.sleep(0.1)
        else:
            return


def _log(scratch: str, command: Sequence[str]) -> Path:
    return Path(scratch) / f"{command[2]}.log"


def _ended(command: Any, status: int, scratch: str) -> str:
    """Return how a program has ended before it listened, with the last lines of its log."""
    how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
    lines = _log(scratch, command).read_text(errors="replace").split("\n")
    said = "\n".join([line for line in lines if line.strip()][-LAST_LINES:])
    return (
        f"{command[0]} {how} before it listened; if it cannot run here, build it again: make judges\n{said}"
    )


def _kill(group: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _forget(control: list[int]) -> None:
    """Remove what slsdet has kept of the modules at these ports: they remember nothing of it."""
    for file in SHARED.glob(f"slsDetectorPackage_*_{memory_name([('127.0.0.1', port) for port in control])}"):
        file.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6]))
