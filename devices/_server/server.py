"""The start of Tango device servers: one per camera, with the name of the camera, `PenstockReceiver` and
`PenstockPipeline`.

The console scripts of all servers are this module's `main`: the name under which it is called selects the
server, as Tango's Starter expects. `python -m penstock.devices._server.server NAME
INSTANCE` does the same.
"""

from __future__ import annotations

import faulthandler
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import tango.server

from penstock.devices._detector.detector_class import detector_class
from penstock.devices._server.interface import announce
from penstock.devices._server.registry import PIPELINE, RECEIVER, UnknownCamera, camera_class, camera_names
from penstock.devices._services.pipeline import pipeline_class
from penstock.devices._services.receiver import receiver_class
from penstock.hosts.tango_host import tango_host
from penstock.streamer.camera.loading import CameraFileError

log = logging.getLogger(__name__)

SERVICES = {RECEIVER: receiver_class, PIPELINE: pipeline_class}
"""Servers of the devices of services, with what makes their class."""


def server_classes(name: str) -> tuple[type[tango.server.Device], ...]:
    """Return the Tango classes of a server; the first has the name of the server.

    A detector server can also run the device of its receiver.

    Raises:
        UnknownCamera: the name is neither a camera's nor one of `SERVICES`.
        CameraFileError: the file of the camera cannot be imported.
    """
    for service, kind in SERVICES.items():
        if name.lower() == service.lower():
            return (kind(),)
    return (detector_class(camera_class(name)), receiver_class())


def server_names() -> list[str]:
    """Return the names of all servers."""
    return [*camera_names(), *SERVICES]


def run_server(name: str, arguments: Sequence[str]) -> int:
    """Run a server until it is ended; return its exit status, 1 if it could not start.

    Args:
        name: name of the server.
        arguments: its instance, followed by the options of any Tango server.

    Raises:
        UnknownCamera: there is no such server.
        CameraFileError: the file of the camera cannot be imported.
    """
    classes = server_classes(name)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    asks = not arguments or arguments[0].startswith("-")  # -?, which Tango answers with its usage
    without = asks or any(argument.startswith(("-nodb", "-file")) for argument in arguments)
    if not without and (host := tango_host()):
        log.info("Tango database %s", host)
        _announce(classes)
    # "Ready to accept request" must not be buffered, even in a pipe: the starting process waits for it.
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        tango.server.run(classes, args=[classes[0].__name__, *arguments], raises=True)
    except tango.DevFailed as error:
        print(f"{classes[0].__name__} did not start: {error.args[0].desc.strip()}", file=sys.stderr)
        return 1
    except RuntimeError as error:  # PyTango's form of an omniORB exception, which has been printed
        print(f"{classes[0].__name__} did not start: {error}; see the lines above", file=sys.stderr)
        return 1
    return 0


def _announce(classes: Sequence[type[tango.server.Device]]) -> None:
    """Mark the classes in the database; without that the devices work, but panels do not list them."""
    try:
        announce(classes, tango.Database())
    except tango.DevFailed as error:
        log.warning(
            "the fleet page will not list the devices of class %s: %s",
            ", ".join(kind.__name__ for kind in classes), error.args[0].desc.strip(),
        )  # fmt: skip


def main() -> int:
    """Entry point of every server's console script."""
    if sys.__stderr__ is not None:  # if Tango or an SDK crashes, the log has where each thread was
        faulthandler.enable(sys.__stderr__)
    name, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    if name == Path(__file__).name:
        if not arguments:
            print(f"usage: server.py NAME INSTANCE; names: {', '.join(server_names())}", file=sys.stderr)
            return 2
        name, *arguments = arguments
    try:
        return run_server(name, arguments)
    except (CameraFileError, UnknownCamera) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
