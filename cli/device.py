"""Run a Tango device server: one per detector class, of the same name, PenstockReceiver, or PenstockPipeline.

Examples:
  penstock device Simulator sim
      run the server Simulator/sim with the devices that are registered for it
  penstock device Simulator sim --register sim/det/1 --property ReceiverUrl=http://127.0.0.1:5000
      register a device (or change its properties: Init, or a restart, reads them), then start it as above
  penstock device Simulator sim --register sim/receiver/1 --class PenstockReceiver \\
      --property ReceiverUrl=http://127.0.0.1:5000
      the receiver's own device, in the same server
  penstock device PenstockPipeline lab --register lab/pipeline/rings --property PipelineUrl=http://127.0.0.1:5100
      the device of a pipeline of live processing
  penstock device Simulator sim -- -v3
      options after -- are passed to Tango

Simulator/sim, as Tango writes it, is accepted, too. The server runs as the command of its name (Simulator
sim), which Tango's Starter looks for, if there is one; a class of your own has none. The database is that of
TANGO_HOST, else of ~/.tangorc or /etc/tangorc; `penstock database` runs one. `penstock register` registers
all devices of a file.
"""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
from importlib.metadata import distribution
from typing import TYPE_CHECKING

from penstock.cli._arguments.targets import open_database
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    import tango


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock device`."""
    parser.add_argument(
        "server",
        metavar="SERVER",
        help="class of the detector, such as Eiger, or PenstockReceiver, or PenstockPipeline",
    )
    parser.add_argument("instance", nargs="?", metavar="INSTANCE", help="instance name of the server")
    parser.add_argument("--register", metavar="DEVICE", help="register this device (a/b/c), and exit")
    parser.add_argument(
        "--move", action="store_true", help="register a device that another server or class has until now"
    )
    parser.add_argument(
        "--class", dest="kind", metavar="CLASS", help="Tango class to register (default: SERVER)"
    )
    parser.add_argument(
        "--property",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="device property to register; may be repeated",
    )
    parser.add_argument(  # without a default argparse says that it is required
        "options", nargs="*", default=[], metavar="-- OPTIONS", help="options for Tango itself"
    )


def run(args: argparse.Namespace) -> int:
    """Register a device, or run the server."""
    from penstock.beamline.registration import is_known, registered
    from penstock.devices._server.registry import SERVICES, UnknownCamera
    from penstock.devices._server.server import run_server, server_classes

    given, instance, options = _names(args)
    try:
        classes = server_classes(given)
    except UnknownCamera as error:
        raise UserError(f"{error}, {' and '.join(SERVICES)}") from error
    server = classes[0].__name__
    host, database = open_database()
    name = f"{server}/{instance}"
    if args.register:
        print(f"Tango database {host}", file=sys.stderr)
        _register(args, database, name, classes)
        return 0
    if args.property or args.kind or args.move:
        raise UserError("--property, --class and --move need --register DEVICE")
    if not (registered(database, name) or is_known(database, name)):
        raise UserError(
            f"no device is registered for {name} in the Tango database {host}; "
            f"register one with: penstock device {server} {instance} --register {_example(classes[0])}"
        )
    if where := _runs_at(database, f"dserver/{name}"):
        raise UserError(
            f"{name} is already running {where}; stop it first, or register and start another instance"
        )
    if script := own_script(server):
        sys.stdout.flush()
        os.execv(script, [script, instance, *options])
    return run_server(server, [instance, *options])


def own_script(server: str) -> str:
    """Return the path of the console script of a server in this environment; "" if it has none.

    Starter and Astor know a server by the name of its process: a Python script, and its first argument.
    """
    scripts = distribution("penstock").entry_points.select(group="console_scripts", name=server)
    path = os.path.join(sysconfig.get_path("scripts"), server)
    return path if scripts and os.access(path, os.X_OK) else ""


def _example(kind: type[tango.server.Device]) -> str:
    """Return what registers a first device of a class, as options."""
    from penstock.beamline.checks import needed_address

    name = needed_address(kind)
    device, port = ("lab/pipeline/1", 5100) if name == "PipelineUrl" else ("sim/det/1", 5000)
    return f"{device} --property {name}=http://127.0.0.1:{port}"


def _names(args: argparse.Namespace) -> tuple[str, str, list[str]]:
    """Return server, instance, and the options for Tango."""

    server, slash, instance = args.server.partition("/")
    if slash and args.instance:  # the first of the options stands where the instance would
        return server, instance, [args.instance, *args.options]
    if not slash:
        instance = args.instance or ""
    if not instance:
        raise UserError(f"which instance of {server}? Write: penstock device {server} INSTANCE")
    return server, instance, args.options


def _runs_at(database: tango.Database, admin: str) -> str:
    """Return host and process of a server whose administrative device answers; "" if none does."""
    import tango

    try:
        host = tango.DeviceProxy(admin).info().server_host
        return f"on {host} as process {database.get_device_info(admin).pid}"
    except tango.DevFailed:
        return ""


def _register(
    args: argparse.Namespace,
    database: tango.Database,
    server: str,
    classes: tuple[type[tango.server.Device], ...],
) -> None:
    from penstock.beamline.checks import known_properties, missing, value_problem
    from penstock.beamline.plan import registered_as, same
    from penstock.beamline.registration import register
    from penstock.devices._server.interface import announce

    kinds = {kind.__name__.lower(): kind for kind in classes}
    kind = kinds.get((args.kind or classes[0].__name__).lower())
    if kind is None:
        raise UserError(
            f'{server} has no class "{args.kind}"; it has {", ".join(k.__name__ for k in classes)}'
        )
    if args.register.count("/") != 2 or not all(args.register.split("/")):
        raise UserError(f'--register "{args.register}": a device name has three parts, such as sim/det/1')
    known = known_properties(kind)
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
        if problem := value_problem(kind, known[name.lower()], (value,)):
            raise UserError(problem)
    has_now = registered_as(database, args.register)
    if has_now is not None and not args.move and not same(has_now, (server, kind.__name__)):
        raise UserError(
            f"{args.register} is registered in {has_now[0]}, class {has_now[1]}; nothing was changed. Choose "
            "another name, or take it from there with --move"
        )
    register(database, server, kind.__name__, args.register, properties)
    announce(classes, database)
    given = ", ".join(f"{name}={value}" for name, value in properties.items()) or "no properties"
    print(f"registered {args.register}, class {kind.__name__}, in {server}: {given}")
    there = database.get_device_property_list(args.register, "*").value_string
    for sentence in missing(kind, there):
        print(f"it will be in FAULT: {sentence}")
    if where := _runs_at(database, f"dserver/{server}"):
        print(
            f"{server} is running {where}: changed properties are read by the device's command Init; a new "
            "device needs a restart of the server"
        )
    else:
        print(f"start it with: penstock device {server.replace('/', ' ')}")
