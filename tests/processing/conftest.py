"""A streamer and receivers, as for the receiver's own tests."""

from __future__ import annotations

from tests.receiver.conftest import start_receiver, streamer

__all__ = ["start_receiver", "streamer"]
