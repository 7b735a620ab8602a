"""Build the limits, and the sender: C programs that need a compiler and the libzmq that comes with pyzmq."""

from __future__ import annotations

import shutil
import subprocess
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path


def build(folder: Path, name: str = "limit") -> Path | None:
    """Compile the program NAME.c into this folder and return it; `None` without a C compiler.

    Raises:
        RuntimeError: the compiler failed, with its messages.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    # The same library for all contenders: the one in the wheel, or the system's.
    package = find_spec("zmq")
    assert package is not None and package.origin is not None, "pyzmq is a dependency"
    bundled = sorted(Path(package.origin).parent.parent.glob("pyzmq.libs/libzmq*.so*"))
    library = [str(bundled[0]), f"-Wl,-rpath,{bundled[0].parent}"] if bundled else ["-lzmq"]
    program = folder / name
    source = str(files("penstock.bench") / f"{name}.c")
    done = subprocess.run(
        [compiler, "-O2", "-pthread", source, "-o", str(program), *library],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{compiler} cannot build {name}.c: {done.stderr.strip()}")
    return program
