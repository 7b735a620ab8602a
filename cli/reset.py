"""Clear the Error state of a receiver, once the cause that it names has been removed.

Examples:
  penstock reset                              the receiver on this machine
  penstock reset http://writer-1:5000         the receiver at this address
  penstock reset eiger-1                      the receiver of this name in the configuration
"""

from __future__ import annotations

import argparse

from penstock.cli._arguments.targets import add_receiver, receiver_client


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add_receiver(parser)


def run(args: argparse.Namespace) -> int:
    """Reset the receiver and print its state; return the exit status."""
    client = receiver_client(args)
    client.reset()
    status = client.status()
    print(f"{status.detector}: {status.state}")
    return 1 if status.error else 0
