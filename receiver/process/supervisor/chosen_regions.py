"""The regions of interest of the next series, which can be kept across restarts.

Kept regions lie in a small JSON file next to the journal, and have precedence over the configuration.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from penstock.receiver.config import ReceiverConfig
from penstock.receiver.config.rectangles import BadRegionError, Rectangle, parse
from penstock.receiver.files.recovery.journal import state_folder
from penstock.service.models import Refused

log = logging.getLogger(__name__)


class KeptRegions:
    """The regions of interest of one receiver.

    Args:
        name: name of the receiver.
        config: configuration, which has the folder of the file, and the regions if none are kept.
    """

    def __init__(self, name: str, config: ReceiverConfig) -> None:
        self.path = state_folder(config) / f"{quote(name, safe='')}.rois.json"
        self._name = name
        found = self._read()
        self.now: Mapping[str, Rectangle] = config.rois if found is None else found
        """Regions of the next series."""
        self.kept = found is not None
        """True if they are in the file."""

    def use(self, rois: Mapping[str, Rectangle]) -> None:
        """Use these regions until the receiver ends."""
        self.now, self.kept = dict(rois), self.kept and dict(rois) == dict(self.now)

    def keep(self, rois: Mapping[str, Rectangle]) -> None:
        """Use these regions, after a restart as well.

        Raises:
            Refused: the file cannot be written; nothing is changed.
        """
        draft = self.path.with_suffix(".draft")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with draft.open("wb") as file:
                file.write(msgspec.json.encode(rois) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.path)
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise Refused(
                "not_kept",
                f"receiver {self._name} cannot keep regions of interest in {self.path}: {error.strerror}; "
                "fix that, or set them without keep, until the receiver is restarted",
            ) from error
        self.now, self.kept = dict(rois), True

    def _read(self) -> dict[str, Rectangle] | None:
        try:
            return parse(msgspec.json.decode(self.path.read_bytes(), type=dict))
        except FileNotFoundError:
            return None
        except OSError as error:
            why = error.strerror or str(error)
        except (msgspec.MsgspecError, UnicodeDecodeError, BadRegionError) as error:
            why = str(error)
        log.error(
            "%s: the kept regions of interest cannot be read from %s (%s); those of the "
            "configuration are used: set them again",
            self._name, self.path, why,
        )  # fmt: skip
        return None
