"""Run a Tango device server: one per camera, named as the camera, and PenstockReceiver.

Examples:
  penstock device Simulator sim
      run the server Simulator/sim with the devices that are registered for it
  penstock device Simulator sim --register sim/det/1 --property ReceiverUrl=http://127.0.0.1:5000
      register a device (or change its properties), then start it with the line above
  penstock device Simulator sim --register sim/receiver/1 --class PenstockReceiver \\
      --property ReceiverUrl=http://127.0.0.1:5000
      the receiver's own device, in the same server
  penstock device Simulator sim -- -v3
      options behind -- go to Tango

TANGO_HOST says which database, or else ~/.tangorc or /etc/tangorc; `penstock database` runs one. Every server
is also a command of its own (Simulator sim), as Tango's Starter expects.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tango

    from penstock.devices._base.tango_host import TangoHost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock device`."""
    parser.add_argument("server", metavar="SERVER", help="name of the camera, or PenstockReceiver")
    parser.add_argument("instance", metavar="INSTANCE", help="which of the servers of that name")
    parser.add_argument("--register", metavar="DEVICE", help="register this device (a/b/c), and end")
    parser.add_argument(
        "--class", dest="kind", metavar="CLASS", help="Tango class to register (default: SERVER)"
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="device property to register; give it again for another",
    )
    parser.add_argument(  # without a default argparse says that it is required
        "options", nargs="*", default=[], metavar="-- OPTIONS", help="options for Tango itself"
    )


def run(args: argparse.Namespace) -> int:
    """Register a device, or run the server."""
    from penstock.cli.main import UserError
    from penstock.devices._base.registration import registered
    from penstock.devices._base.registry import UnknownCamera
    from penstock.devices._base.server import RECEIVER, run_server, server_classes
    from penstock.streamer.loading import CameraFileError

    try:
        classes = server_classes(args.server)
    except UnknownCamera as error:
        raise UserError(f"{error}, and {RECEIVER}") from error
    except CameraFileError as error:
        raise UserError(str(error)) from error
    server = classes[0].__name__
    host, database = _database()
    name = f"{server}/{args.instance}"
    if args.register:
        print(f"Tango database {host}", file=sys.stderr)
        _register(args, database, name, classes)
        return 0
    if args.property or args.kind:
        raise UserError("--property and --class belong to --register DEVICE")
    if not registered(database, name):
        raise UserError(
            f"no device is registered for {name} in the Tango database {host}; "
            f"register one with: penstock device {server} {args.instance} --register sim/det/1 "
            "--property ReceiverUrl=http://127.0.0.1:5000"
        )
    if where := _runs_at(database, f"dserver/{name}"):
        raise UserError(
            f"{name} runs already, {where}; end that one first, or register and start another instance"
        )
    return run_server(server, [args.instance, *args.options])


def _database() -> tuple[TangoHost, tango.Database]:
    """The Tango database that this machine is configured for, and who says so."""
    import tango

    from penstock.cli.main import UserError
    from penstock.devices._base.tango_host import VARIABLE, files, tango_host

    host = tango_host()
    remedy = "start one with `penstock database`, then: export TANGO_HOST=127.0.0.1:10000"
    if host is None:
        places = ", ".join(map(str, files()))
        raise UserError(
            f"{VARIABLE} is not set, nor in {places}, so there is no Tango database to ask; {remedy}"
        )
    try:
        return host, tango.Database()
    except tango.DevFailed as error:
        raise UserError(f"no Tango database answers at {host}; {remedy}") from error


def _runs_at(database: tango.Database, admin: str) -> str:
    """Host and process of a server that answers by its administrative device; "" if none does."""
    import tango

    try:
        host = tango.DeviceProxy(admin).info().server_host
        return f"on {host} as process {database.get_device_info(admin).pid}"
    except tango.DevFailed:
        return ""


def _register(
    args: argparse.Namespace, database: tango.Database, server: str, classes: tuple[type, ...]
) -> None:
    from penstock.cli.main import UserError
    from penstock.devices._base.registration import register

    kinds = {kind.__name__.lower(): kind for kind in classes}
    kind = kinds.get((args.kind or classes[0].__name__).lower())
    if kind is None:
        raise UserError(
            f'{server} has no class "{args.kind}"; it has {", ".join(k.__name__ for k in classes)}'
        )
    if args.register.count("/") != 2 or not all(args.register.split("/")):
        raise UserError(f'--register "{args.register}": a device name has three parts, such as sim/det/1')
    known = _properties(kind)
    properties = {}
    for text in args.property:
        name, sign, value = text.partition("=")
        if not sign:
            raise UserError(f'--property "{text}": write NAME=VALUE')
        if name.lower() not in known:
            raise UserError(
                f"{kind.__name__} has no property {name}; it has {', '.join(sorted(known.values()))}"
            )
        properties[known[name.lower()]] = value
        _check_value(kind, known[name.lower()], value)
    register(database, server, kind.__name__, args.register, properties)
    given = ", ".join(f"{name}={value}" for name, value in properties.items()) or "no properties"
    print(f"registered {args.register}, class {kind.__name__}, in {server}: {given}")
    print(f"start it with: penstock device {server.replace('/', ' ')}")


def _check_value(kind: type, name: str, value: str) -> None:
    """Tango takes any text into its database, and then ends the server that cannot read it."""
    from tango.utils import seqStr_2_obj

    from penstock.cli.main import UserError

    wanted = kind.TangoClassClass.device_property_list[name][0]  # type: ignore[attr-defined]
    try:
        seqStr_2_obj([value], wanted)
    except ValueError as error:
        raise UserError(f'--property {name}={value}: "{value}" is no {wanted}') from error


def _properties(kind: type) -> dict[str, str]:
    """Device properties of a Tango class: the name by the name in lower case."""
    return {name.lower(): name for name in kind.TangoClassClass.device_property_list}  # type: ignore[attr-defined]
