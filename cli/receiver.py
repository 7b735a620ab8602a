"""Run one receiver: its data process and its HTTP API, until Ctrl-C.

Examples:
  penstock receiver sim-1                             the entry sim-1 of the shipped detectors.yaml
  penstock receiver eiger-1 --config beamline.yaml    an entry of your own file
  penstock receiver eiger-1 --config beamline.yaml --http 127.0.0.1:0 --json
  penstock receiver --check --config beamline.yaml    every error of the file
  penstock receiver --schema                          JSON schema of the configuration file

Then look at it: http://127.0.0.1:5000/ in a browser, penstock status, or penstock view
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.cli import _service as service
from penstock.cli._arguments.targets import listen, shipped
from penstock.cli._output import Answer
from penstock.service.garbage import no_search
from penstock.stins.errors import UserError

if TYPE_CHECKING:
    from penstock.receiver.config import ReceiverConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock receiver`."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="entry of the configuration file")
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="YAML file (default: the shipped detectors.yaml)"
    )
    service.add_arguments(parser, "or of the entry NAME, and exit: 2 if there is one")


def run(args: argparse.Namespace) -> Answer | int:
    """Run it."""
    import msgspec

    with no_search():  # it imports nearly all of what follows
        from penstock.receiver.http.server import serve
    from penstock.receiver import config as configuration
    from penstock.receiver.config import cores
    from penstock.receiver.files import limit
    from penstock.receiver.forward.forwarder import check
    from penstock.receiver.live import last_frame
    from penstock.service import logs

    if args.schema:
        return service.print_schema(configuration.schema())
    path = args.config or shipped()
    if args.check:
        return _check(args, path)
    try:
        file = configuration.load(path)
        if args.name is None:
            raise UserError(f"which receiver? {path} has: {', '.join(file.receivers)}")
        config = configuration.receiver(file, args.name, str(path))
        if args.http:
            config = msgspec.structs.replace(config, http=args.http)
            config.__post_init__()
        limit.check_start(last_frame.memory_bytes())
    except ValueError as error:
        raise UserError(str(error)) from error
    for why in _here(args.name, config):
        raise UserError(why)

    if args.config is None:
        print(f"{args.name} is an entry of {path}, for trials; --config takes your file", file=sys.stderr)
    logs.begin()
    if too_few := cores.too_few(args.name, config.files):
        logging.getLogger(__name__).warning("%s", too_few)
    listener, url = listen(config.http, "receiver")
    try:
        check(config.forward, args.name)  # one sentence here; in the data process it would be a traceback
    except UserError:
        listener.close()
        raise

    def ready() -> None:
        service.say_ready(args, {"name": args.name, "http": url}, f"receiver {args.name} is ready: {url}/")

    return serve(args.name, config, listener, ready)


def _check(args: argparse.Namespace, path: Path) -> Answer:
    """Return every error of the file."""
    from penstock.receiver import config as configuration

    found = configuration.errors(path, args.name)
    if not found:
        file = configuration.load(path)
        names = file.receivers if args.name is None else [args.name]
        found = [f"{path}: {why}" for name in names for why in _here(name, file.receivers[name])]
    return service.checked(path, found)


def _here(name: str, config: ReceiverConfig) -> Iterator[str]:
    """Yield what is wrong with an entry on this host."""
    from penstock.receiver.process import memory, transform_files
    from penstock.receiver.transforms.steps.chain import Chain

    try:
        memory.check(name, config)
    except ValueError as error:
        yield str(error)
    try:
        Chain(config.transforms, read=transform_files.read)  # reads its tables, as the data process will
    except ValueError as error:
        yield str(error)
    if not Path(config.data_root).is_dir():
        yield f"the data root {config.data_root} of {name} is not a folder; create it first"
