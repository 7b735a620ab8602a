"""Run a worker of a pipeline, on any machine: its code and its parameters come with the connection.

Examples:
  penstock worker tcp://10.1.2.3:5101 --key spots.key        until Ctrl-C
  ssh node1 penstock worker tcp://10.1.2.3:5101 --key spots.key
  srun -n 64 penstock worker tcp://10.1.2.3:5101 --key spots.key --once
  penstock worker tcp://10.1.2.3:5101 --key spots.key --threads 4

The address is what `penstock process` prints for workers on other machines: `listen` in the pipeline's file.
The worker waits while the pipeline is not there, and for the next one when it has ended; with --once it ends
then. Asked to end, it ends its frames and hands over what it has.

Exit status: 0 it was stopped, 1 it could not take part: a sentence says why, 2 address or key is wrong.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from penstock.cli._arguments.numbers import whole
from penstock.stins.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of `penstock worker`."""
    parser.add_argument("address", metavar="ADDRESS", help="of the pipeline, such as tcp://10.1.2.3:5101")
    parser.add_argument("--key", type=Path, metavar="FILE", help="file with the key of the pipeline")
    parser.add_argument(
        "--name", default="", metavar="TEXT",
        help="its name in status and result file (default: the host's, with the process number)",
    )  # fmt: skip
    parser.add_argument(
        "--threads", type=whole(1, 1024), default=1, metavar="N",
        help="threads of the numerical libraries (default: %(default)s)",
    )  # fmt: skip

    parser.add_argument(
        "--once", action="store_true", help="end with the pipeline, and wait for no other one"
    )


def run(args: argparse.Namespace) -> int:
    """Run it."""
    from penstock.processing.worker.thread_counts import limit

    os.environ.update(limit(args.threads))  # before NumPy is imported

    from penstock.processing.worker import worker
    from penstock.service import logs

    if not args.address.startswith(("tcp://", "ipc://")):
        raise UserError(
            f'"{args.address}" is no address of a pipeline; give tcp://HOST:PORT, as `penstock process` says'
        )
    logs.begin()
    try:
        return worker.run(args.address, name=args.name, key=args.key, once=args.once)
    except ValueError as error:
        raise UserError(str(error)) from error
